"""Rounding at the ends of each type's range, zeros, NaN: against exact fractions over all bit patterns."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from mmcore_emulator.isa.table import operation
from mmcore_emulator.numerics import floats
from mmcore_emulator.numerics.types import NUMPY

many = settings(max_examples=80, deadline=None)

#: Bits of the significand, exponent of the least normal number, width.
FORMATS = {"f16": (11, -14, 16), "bf16": (8, -126, 16), "f32": (24, -126, 32), "f64": (53, -1022, 64)}
EVERY_FORMAT = pytest.mark.parametrize("kind", FORMATS)


def number(kind: str, bits: int) -> float:
    """The number that a bit pattern stands for."""
    if kind == "bf16":
        return float(floats.from_bfloat16(np.array([bits], np.uint16))[0])
    return float(np.array([bits], f"u{FORMATS[kind][2] // 8}").view(NUMPY[kind])[0])


def rounded(exact: Fraction, kind: str) -> float:
    """``exact`` rounded once to nearest, ties to even; nothing overflows but to infinity."""
    precision, least, _ = FORMATS[kind]
    exponent = max(least, abs(exact.numerator).bit_length() - exact.denominator.bit_length() - 1)
    while abs(exact) >= Fraction(2) ** (exponent + 1):
        exponent += 1
    unit = Fraction(2) ** (exponent - precision + 1)
    nearest = round(exact / unit) * unit
    if abs(nearest) >= Fraction(2) ** (2 - least):
        return math.inf if exact > 0 else -math.inf
    return math.copysign(float(nearest), -1 if exact < 0 else 1)


def patterns(kind: str) -> st.SearchStrategy[int]:
    """Bit patterns of finite numbers: any; with a short significand; near one; and at the ends of the range."""
    precision, least, width = FORMATS[kind]
    fraction, bias = precision - 1, 1 - least
    exponents = st.integers(0, 2 * bias) | st.integers(bias - precision, bias + 2) | st.sampled_from([0, 1, 2 * bias])
    significands = st.builds(
        lambda bits, kept: bits >> kept << kept, st.integers(0, 2**fraction - 1), st.integers(0, fraction)
    )
    return st.builds(
        lambda sign, exponent, bits: sign << (width - 1) | exponent << fraction | bits,
        st.integers(0, 1),
        exponents,
        significands,
    )


def compute(opcode: str, *patterns: int) -> float:
    """What an instruction makes of bit patterns."""
    found = operation(tuple(opcode.split(".")))
    assert found is not None
    sources = [
        np.array([bits], f"u{NUMPY[kind].itemsize}").view(NUMPY[kind])
        for bits, kind in zip(patterns, found.sources, strict=True)
    ]
    with np.errstate(all="ignore"):
        result = found.compute(*sources)
    return number(found.result, int(result.view(f"u{result.itemsize}")[0]))


def same(a: float, b: float) -> bool:
    return a == b and math.copysign(1, a) == math.copysign(1, b)


@EVERY_FORMAT
@many
@given(data=st.data())
def test_a_fused_multiply_add_rounds_once_everywhere(kind: str, data: st.DataObject) -> None:
    bits = [data.draw(patterns(kind)) for _ in range(3)]
    a, b, c = (Fraction(number(kind, each)) for each in bits)
    got = compute(f"fma.rn.{kind}", *bits)
    if a * b + c:
        assert same(got, rounded(a * b + c, kind))
    else:
        assert got == 0


@pytest.mark.parametrize(
    ("kind", "a", "b", "c", "expected"),
    [
        ("f64", 2.0**512 * 1.5, 2.0**512, -1.7e308, float(Fraction(3, 2) * 2**1024 - Fraction(1.7e308))),
        ("f64", 2.0**1000, 1.5, 2.0**948, 2.0**1000 * 1.5 + 2.0**948),
        ("f64", (1 + 2.0**-52) * 2.0**-500, (1 + 2.0**-52) * 2.0**-500, -(2.0**-1000), 2.0**-1051),
        ("f64", 5e-324, 0.5, 5e-324, 1e-323),
        ("f64", 5e-324, 0.5, 0.0, 0.0),
        ("f64", -5e-324, 0.5, 0.0, -0.0),
        ("f64", 1e308, 10.0, 1.0, math.inf),
        ("f64", 3.0, -0.0, -0.0, -0.0),
        ("bf16", 2.0**-67, 2.0**-67 * 1.0078125, 0.0, 2.0**-133),
        ("bf16", 2.0**-67, 2.0**-67, 0.0, 0.0),
    ],
)
def test_a_fused_multiply_add_at_the_ends_of_the_range(
    kind: str, a: float, b: float, c: float, expected: float
) -> None:
    def pattern(value: float) -> int:
        if kind == "bf16":
            return int(np.float32(value).view(np.uint32)) >> 16
        return int(np.float64(value).view(np.uint64))

    assert same(compute(f"fma.rn.{kind}", pattern(a), pattern(b), pattern(c)), expected)


@pytest.mark.parametrize("kind", ["f16", "f32", "f64"])
@many
@given(data=st.data())
def test_sums_products_and_quotients_round_once_everywhere(kind: str, data: st.DataObject) -> None:
    first, second = data.draw(patterns(kind)), data.draw(patterns(kind))
    a, b = Fraction(number(kind, first)), Fraction(number(kind, second))
    exact = {"add": a + b, "sub": a - b, "mul": a * b}
    if kind != "f16" and b:
        exact["div.rn"] = a / b
    for name, value in exact.items():
        got = compute(f"{name}.{kind}", first, second)
        assert same(got, rounded(value, kind)) if value else got == 0


@pytest.mark.parametrize(
    ("to", "origin"), [("f16", "f32"), ("f16", "f64"), ("bf16", "f32"), ("f32", "f64"), ("f64", "f16"), ("f32", "bf16")]
)
@many
@given(data=st.data())
def test_a_conversion_between_floats_rounds_once_everywhere(to: str, origin: str, data: st.DataObject) -> None:
    bits = data.draw(patterns(origin))
    rounding = "rn." if FORMATS[to][2] < FORMATS[origin][2] else ""
    value = Fraction(number(origin, bits))
    got = compute(f"cvt.{rounding}{to}.{origin}", bits)
    assert same(got, rounded(value, to)) if value else got == 0


@pytest.mark.parametrize("to", ["f16", "f32", "f64"])
@pytest.mark.parametrize("origin", ["s8", "u8", "s16", "u16", "s32", "u32", "s64", "u64"])
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_a_conversion_from_an_integer_rounds_once(to: str, origin: str, data: st.DataObject) -> None:
    info = np.iinfo(NUMPY[origin])
    whole = data.draw(st.integers(int(info.min), int(info.max))) >> data.draw(st.integers(0, info.bits - 1))
    got = compute(f"cvt.rn.{to}.{origin}", whole & (2**info.bits - 1))
    assert got == (rounded(Fraction(whole), to) if whole else 0)


# Subnormal numbers as zeros.


def to_zero(kind: str, bits: int) -> Fraction:
    """The number that an operand stands for where subnormal float32 numbers are zeros."""
    value = number(kind, bits)
    return Fraction(0 if kind == "f32" and abs(value) < 2.0**-126 else value)


def flushed(exact: Fraction) -> float:
    """``exact`` rounded to 24 bits of whatever exponent; then zero if it is below the least normal number."""
    exponent = abs(exact.numerator).bit_length() - exact.denominator.bit_length() - 1
    while abs(exact) >= Fraction(2) ** (exponent + 1):
        exponent += 1
    unit = Fraction(2) ** (exponent - 23)
    if abs(round(exact / unit) * unit) < Fraction(2) ** -126:
        return math.copysign(0.0, exact)
    return rounded(exact, "f32")


@many
@given(data=st.data())
def test_subnormal_numbers_are_zeros_with_ftz(data: st.DataObject) -> None:
    bits = [data.draw(patterns("f32")) for _ in range(3)]
    a, b, c = (to_zero("f32", each) for each in bits)
    exact = {"add.ftz": a + b, "sub.ftz": a - b, "add.rn.ftz": a + b, "mul.ftz": a * b, "fma.rn.ftz": a * b + c}
    if b:
        exact["div.rn.ftz"] = a / b
    if a:
        exact["rcp.rn.ftz"] = 1 / a
    for name, value in exact.items():
        opcode = f"{name}.f32"
        found = operation(tuple(opcode.split(".")))
        assert found is not None
        got = compute(opcode, *bits[: len(found.sources)])
        assert same(got, flushed(value)) if value else got == 0


@many
@given(first=st.integers(0, 2**23 - 1), near=st.integers(-2, 2), sign=st.sampled_from([0, 1 << 31]))
def test_products_about_the_least_normal_number(first: int, near: int, sign: int) -> None:
    a = 0x20000000 | first
    b = int(np.float32(2.0**-126 / number("f32", a)).view(np.uint32)) + near | sign
    exact = Fraction(number("f32", a)) * Fraction(number("f32", b))
    assert same(compute("mul.ftz.f32", a, b), flushed(exact))
    assert same(compute("fma.rn.ftz.f32", a, b, sign), flushed(exact))


@many
@given(st.integers(-(2**31), 2**31), st.sampled_from([0, 1 << 63]))
def test_a_conversion_to_about_the_least_normal_number(near: int, sign: int) -> None:
    bits = (0x3810000000000000 + near) | sign
    assert same(compute("cvt.rn.ftz.f32.f64", bits), flushed(Fraction(number("f64", bits))))


@pytest.mark.parametrize(
    ("opcode", "operands", "expected"),
    [
        # As ptxas works them out.
        ("mul.ftz.f32", (0x3F7FFFFF, 0x00800000), 0x00000000),  # rounds up to 2^-126 only among subnormal numbers
        ("mul.f32", (0x3F7FFFFF, 0x00800000), 0x00800000),
        ("mul.ftz.f32", (0x20000400, 0x1FFFF800), 0x00800000),  # rounds up to 2^-126 in any case
        ("mul.ftz.f32", (0x80800000, 0x3F000000), 0x80000000),
        ("mul.ftz.f32", (0x3F7FFFFF, 0x00800001), 0x00800000),
        ("add.ftz.f32", (0x00800001, 0x80000001), 0x00800001),
        ("add.ftz.f32", (0x00800001, 0x80800000), 0x00000000),
        ("add.ftz.f32", (0x80000001, 0x80000000), 0x80000000),
        ("sub.ftz.f32", (0x00800001, 0x00800000), 0x00000000),
        ("min.ftz.f32", (0x00000001, 0x80000000), 0x80000000),
        ("min.ftz.f32", (0x80000001, 0x00000000), 0x80000000),
        ("max.ftz.f32", (0x80000001, 0x00000000), 0x00000000),
        ("abs.ftz.f32", (0x80000001,), 0x00000000),
        ("neg.ftz.f32", (0x00000001,), 0x80000000),
        ("sqrt.rn.ftz.f32", (0x00000001,), 0x00000000),
        ("cvt.rn.ftz.f32.f64", (0x380FFFFFE0000000,), 0x00000000),
        ("cvt.rn.f32.f64", (0x380FFFFFE0000000,), 0x00800000),
        ("cvt.rn.ftz.f32.f64", (0xB80FFFFFF0000000,), 0x80800000),
        # As the PTX manual says.
        ("rcp.rn.ftz.f32", (0x80000001,), 0xFF800000),
        ("div.rn.ftz.f32", (0x3F800000, 0x80000001), 0xFF800000),
        ("fma.rn.ftz.f32", (0x3F7FFFFF, 0x80800000, 0x80000001), 0x80000000),
        ("fma.rn.ftz.f32", (0x7F7FFFFF, 0x00000001, 0x3F800000), 0x3F800000),
        ("mad.rn.ftz.f32", (0x7F7FFFFF, 0x00000001, 0x3F800000), 0x3F800000),
        ("cvt.ftz.f64.f32", (0x80000001,), 0x8000000000000000),
        ("cvt.ftz.f32.f16", (0x0001,), 0x33800000),  # no subnormal float32
        ("cvt.rpi.ftz.s32.f32", (0x00000001,), 0),
        ("cvt.rpi.s32.f32", (0x00000001,), 1),
    ],
)
def test_instructions_with_ftz_at_the_ends_of_the_range(opcode: str, operands: tuple[int, ...], expected: int) -> None:
    found = operation(tuple(opcode.split(".")))
    assert found is not None
    sources = [
        np.array([bits], f"u{NUMPY[kind].itemsize}").view(NUMPY[kind])
        for bits, kind in zip(operands, found.sources, strict=True)
    ]
    with np.errstate(all="ignore"):
        assert bits_of(found.compute(*sources)) == [hex(expected)]


@pytest.mark.parametrize(
    ("opcode", "a", "b", "expected"),
    [
        ("setp.lt.ftz.f32", 0, 1, False),
        ("setp.lt.f32", 0, 1, True),
        ("setp.eq.ftz.f32", 0x80000001, 0x00000001, True),
        ("setp.ne.ftz.f32", 1, 2, False),
        ("setp.geu.ftz.f32", 1, 2, True),
        ("setp.lt.ftz.f32", 1, 0x00800000, True),
    ],
)
def test_comparisons_with_ftz_take_subnormal_numbers_for_zeros(opcode: str, a: int, b: int, expected: bool) -> None:
    found = operation(tuple(opcode.split(".")))
    assert found is not None
    first, second = (np.array([bits], np.uint32).view(np.float32) for bits in (a, b))
    assert found.compute(first, second).tolist() == [expected]


# Whole numbers.


@pytest.mark.parametrize("kind", ["f32", "f64"])
@pytest.mark.parametrize(
    ("rounding", "expected"),
    [
        ("rni", [0.0, 2.0, 2.0, -0.0, -2.0, 8388609.0, -0.0, math.inf]),
        ("rzi", [0.0, 1.0, 2.0, -0.0, -2.0, 8388609.0, -0.0, math.inf]),
        ("rmi", [0.0, 1.0, 2.0, -1.0, -3.0, 8388609.0, -0.0, math.inf]),
        ("rpi", [1.0, 2.0, 3.0, -0.0, -2.0, 8388609.0, -0.0, math.inf]),
    ],
)
def test_rounding_to_a_whole_number(kind: str, rounding: str, expected: list[float]) -> None:
    values = np.array([0.25, 1.5, 2.5, -0.5, -2.5, 8388609.0, -0.0, math.inf], NUMPY[kind])
    found = operation(("cvt", rounding, kind, kind))
    assert found is not None
    got = found.compute(values).tolist()
    assert [same(*pair) for pair in zip(got, expected, strict=True)] == [True] * len(expected)
    to_integer = operation(("cvt", rounding, "s32", kind))
    assert to_integer is not None
    assert to_integer.compute(values[:-1]).tolist() == [int(each) for each in expected[:-1]]


def bits_of(values: NDArray[np.floating]) -> list[str]:
    return [hex(int(each)) for each in values.view(f"u{values.itemsize}")]


INFINITY, NAN = np.inf, np.nan


@pytest.mark.parametrize(
    ("opcode", "sources"),
    [
        ("add.f32", (INFINITY, -INFINITY)),
        ("sub.f32", (NAN, 1)),
        ("mul.f32", (0, INFINITY)),
        ("fma.rn.f32", (0, INFINITY, 1)),
        ("fma.rn.f32", (1, 1, NAN)),
        ("div.rn.f32", (0, 0)),
        ("sqrt.rn.f32", (-1,)),
        ("rcp.rn.f32", (NAN,)),
        ("min.f32", (NAN, NAN)),
        ("neg.f32", (NAN,)),
        ("abs.f32", (-NAN,)),
        ("cvt.f32.f16", (NAN,)),
        ("add.f16", (INFINITY, -INFINITY)),
        ("fma.rn.f16", (NAN, 1, 1)),
        ("cvt.rn.f16.f32", (-NAN,)),
    ],
)
def test_arithmetic_makes_one_nan_only(opcode: str, sources: tuple[float, ...]) -> None:
    found = operation(tuple(opcode.split(".")))
    assert found is not None
    with np.errstate(all="ignore"):
        result = found.compute(*(np.array([x], NUMPY[k]) for x, k in zip(sources, found.sources, strict=True)))
    assert bits_of(result) == [hex(0x7FFF if found.result == "f16" else 0x7FFFFFFF)]


@pytest.mark.parametrize(
    ("opcode", "nan", "expected"),
    [
        ("cvt.rn.f32.f64", 0x7FF8000000000000, 0x7FC00000),
        ("cvt.rn.f32.f64", 0xFFFFFFFFFFFFFFFF, 0xFFFFFFFF),
        ("cvt.rn.f16.f64", 0x7FF8000000000000, 0x7E00),
        ("cvt.rn.f16.f64", 0xFFFFFFFFFFFFFFFF, 0xFFFF),
    ],
)
def test_a_nan_of_64_bits_keeps_what_fits(opcode: str, nan: int, expected: int) -> None:
    found = operation(tuple(opcode.split(".")))
    assert found is not None
    assert bits_of(found.compute(np.array([nan], np.uint64).view(np.float64))) == [hex(expected)]


def test_bfloat16_has_one_nan_too() -> None:
    nan = np.array([0x7FC1], np.uint16)
    assert floats.fma_bfloat16(nan, nan, nan).tolist() == [0x7FFF]
    assert floats.to_bfloat16(np.array([-np.nan], np.float32)).tolist() == [0x7FFF]


@pytest.mark.parametrize("kind", ["f32", "f64"])
@pytest.mark.parametrize(
    ("a", "b", "least", "most"),
    [
        (0.0, -0.0, -0.0, 0.0),
        (-0.0, 0.0, -0.0, 0.0),
        (NAN, 2.0, 2.0, 2.0),
        (2.0, NAN, 2.0, 2.0),
        (-1.0, 3.0, -1.0, 3.0),
    ],
)
def test_of_two_zeros_the_negative_one_is_less_and_nan_is_passed_over(
    kind: str, a: float, b: float, least: float, most: float
) -> None:
    for opcode, expected in (("min", least), ("max", most)):
        found = operation((opcode, kind))
        assert found is not None
        assert same(float(found.compute(np.array([a], NUMPY[kind]), np.array([b], NUMPY[kind]))[0]), expected)


@pytest.mark.parametrize(
    ("opcode", "expected"),
    [
        ("cvt.rzi.s32.f32", 0),
        ("cvt.rzi.u32.f32", 0),
        ("cvt.rzi.s16.f32", 0),
        ("cvt.rzi.s64.f32", -(2**63)),
        ("cvt.rzi.u64.f32", 2**63),
        ("cvt.rzi.s32.f64", -(2**31)),
        ("cvt.rzi.u32.f64", 2**31),
        ("cvt.rzi.s64.f64", -(2**63)),
    ],
)
def test_nan_becomes_the_integer_that_the_ptx_manual_says(opcode: str, expected: int) -> None:
    found = operation(tuple(opcode.split(".")))
    assert found is not None
    assert found.compute(np.array([NAN], NUMPY[found.sources[0]])).tolist() == [expected]


@pytest.mark.parametrize("bits", [16, 32, 64])
@pytest.mark.parametrize("value", [0, 7, -7])
def test_an_integer_divided_by_zero_gives_all_ones(bits: int, value: int) -> None:
    for opcode in ("div", "rem"):
        for kind, ones in ((f"s{bits}", -1), (f"u{bits}", 2**bits - 1)):
            found = operation((opcode, kind))
            assert found is not None
            a = np.array([value], f"i{bits // 8}").view(NUMPY[kind])
            with np.errstate(all="ignore"):
                assert found.compute(a, np.zeros_like(a)).tolist() == [ones]


def test_the_least_integer_divided_by_minus_one_wraps() -> None:
    for bits in (16, 32, 64):
        least, minus_one = np.array([-(2 ** (bits - 1))], f"i{bits // 8}"), np.array([-1], f"i{bits // 8}")
        for opcode, expected in (("div", -(2 ** (bits - 1))), ("rem", 0)):
            found = operation((opcode, f"s{bits}"))
            assert found is not None
            with np.errstate(all="ignore"):
                assert found.compute(least, minus_one).tolist() == [expected]
