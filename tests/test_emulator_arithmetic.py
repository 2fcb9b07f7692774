"""The emulator's arithmetic against exact arithmetic."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from mmcore_emulator.isa.table import operation
from mmcore_emulator.numerics import floats
from mmcore_emulator.numerics.types import NUMPY

many = settings(max_examples=120, deadline=None)


def lane(value: Any, dtype: Any) -> NDArray[Any]:
    return np.array([value], dtype)


def rounded(exact: Fraction, dtype: Any) -> float:
    """``exact`` rounded once to nearest, ties to even, into a binary type of numpy's."""
    info = np.finfo(dtype)
    precision, least = info.nmant + 1, int(info.minexp)
    if exact == 0:
        return 0.0
    exponent = max(math.floor(math.log2(abs(exact.numerator)) - math.log2(exact.denominator)) - 1, least)
    while abs(exact) >= Fraction(2) ** (exponent + 1):
        exponent += 1
    unit = Fraction(2) ** (exponent - precision + 1)
    nearest = round(exact / unit) * unit
    return math.copysign(math.inf, exact) if abs(nearest) > Fraction(float(info.max)) else float(nearest)


def numbers(dtype: Any, bits: int) -> st.SearchStrategy[float]:
    """Finite numbers of a type, all bit patterns alike, with runs of zeros and ones for ties."""
    mantissa = np.finfo(dtype).nmant
    patterns = st.integers(0, 2**bits - 1)
    few_bits = st.builds(lambda x, kept: x >> kept << kept, patterns, st.integers(mantissa // 2, mantissa + 3))
    return (
        (patterns | few_bits)
        .map(lambda pattern: float(np.array([pattern], f"u{bits // 8}").view(dtype)[0]))
        .filter(math.isfinite)
    )


def near(dtype: Any) -> st.SearchStrategy[float]:
    """Numbers close to one another in magnitude, so that sums cancel and tie."""
    mantissa = np.finfo(dtype).nmant
    return st.builds(
        lambda whole, exponent, sign: float(dtype(sign * whole * 2.0**exponent)),
        st.integers(1, 2 ** (mantissa + 1) - 1) | st.sampled_from([1, 3, 2**mantissa + 1, 2 ** (mantissa + 1) - 1]),
        st.integers(-mantissa, 2),
        st.sampled_from([-1, 1]),
    )


@many
@given(*[numbers(np.float32, 32) | near(np.float32)] * 3)
def test_fma32_rounds_once(a: float, b: float, c: float) -> None:
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    with np.errstate(over="ignore"):
        got = floats.fma32(*(lane(value, np.float32) for value in (a, b, c)))[0]
    assert got == rounded(exact, np.float32)


@pytest.mark.parametrize(("tiny", "expected"), [(2.0**-80, 1 + 2.0**-11 + 2.0**-23), (-(2.0**-80), 1 + 2.0**-11)])
def test_fma32_does_not_round_twice(tiny: float, expected: float) -> None:
    """The product lies exactly between two float32, and float64 loses what tells which is nearer."""
    factor = lane(1 + 2.0**-12, np.float32)
    assert floats.fma32(factor, factor, lane(tiny, np.float32))[0] == expected


@many
@given(*[near(np.float64)] * 3)
def test_fma64_rounds_once(a: float, b: float, c: float) -> None:
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    assert floats.fma64(*(lane(value, np.float64) for value in (a, b, c)))[0] == rounded(exact, np.float64)


def test_fma64_keeps_what_a_product_and_a_sum_would_lose() -> None:
    a = 1 + 2.0**-52
    got = floats.fma64(lane(a, float), lane(a, float), lane(-(1 + 2.0**-51), float))
    assert got[0] == 2.0**-104


@many
@given(*[numbers(np.float16, 16)] * 3)
def test_fma16_rounds_once(a: float, b: float, c: float) -> None:
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    with np.errstate(over="ignore"):
        got = floats.fma16(*(lane(value, np.float16) for value in (a, b, c)))[0]
    assert got == rounded(exact, np.float16)


@many
@given(numbers(np.float32, 32))
def test_to_bfloat16_rounds_to_nearest_even(value: float) -> None:
    got = floats.from_bfloat16(floats.to_bfloat16(lane(value, np.float32)))[0]
    unit = Fraction(2) ** (max(math.frexp(value)[1] - 1, -126) - 7)
    nearest = round(Fraction(value) / unit) * unit
    assert got == (float(nearest) if abs(nearest) < 2**128 else math.copysign(math.inf, value))


def test_bfloat16_keeps_nan_and_infinity() -> None:
    values = np.array([np.nan, np.inf, -np.inf], np.float32)
    np.testing.assert_array_equal(floats.from_bfloat16(floats.to_bfloat16(values)), values)


@pytest.mark.parametrize("fma", [floats.fma32, floats.fma64])
def test_infinities_and_nan_follow_the_plain_rules(fma: Any) -> None:
    dtype = np.float32 if fma is floats.fma32 else np.float64
    with np.errstate(all="ignore"):
        for a, b, c in ((np.inf, 1, 1), (np.inf, 0, 1), (1, 1, -np.inf), (np.nan, 1, 1), (np.inf, 1, -np.inf)):
            got = fma(lane(a, dtype), lane(b, dtype), lane(c, dtype))[0]
            np.testing.assert_equal(got, dtype(dtype(a) * dtype(b) + dtype(c)))


@pytest.mark.parametrize("fma", [floats.fma32, floats.fma64, floats.fma16])
@pytest.mark.parametrize("a", [-1.0, -0.0, 0.0, 2.0])
@pytest.mark.parametrize("b", [-0.0, 0.0, 3.0])
@pytest.mark.parametrize("c", [-0.0, 0.0, -6.0, 3.0])
def test_a_zero_has_the_sign_that_the_plain_sum_gives_it(fma: Any, a: float, b: float, c: float) -> None:
    dtype = {floats.fma32: np.float32, floats.fma64: np.float64, floats.fma16: np.float16}[fma]
    got = fma(lane(a, dtype), lane(b, dtype), lane(c, dtype))[0]
    assert (got, math.copysign(1, got)) == (a * b + c, math.copysign(1, a * b + c))


def signed(value: int, bits: int) -> int:
    value &= 2**bits - 1
    return value - 2**bits if value >> (bits - 1) else value


def integers(kind: str) -> st.SearchStrategy[int]:
    bits = int(kind[1:])
    low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if kind[0] == "s" else (0, 2**bits - 1)
    return st.integers(low, high) | st.sampled_from([low, high, 0, 1, high - 1])


def exact(name: str, a: int, b: int, bits: int) -> int:
    """What PTX makes of two integers, before it wraps."""
    if name == "div":
        return int(Fraction(a, b))
    if name == "rem":
        return a - b * int(Fraction(a, b))
    if name in ("shl", "shr"):
        return a << min(b, 64) if name == "shl" else a >> min(b, 64)
    return {
        "add": a + b,
        "sub": a - b,
        "mul.lo": a * b,
        "mul.hi": a * b >> bits,
        "mul.wide": a * b,
        "min": min(a, b),
        "max": max(a, b),
    }[name]


INTEGER_OPCODES = [
    f"{name}.{kind}{bits}"
    for name in ("add", "sub", "mul.lo", "mul.hi", "mul.wide", "min", "max", "div", "rem", "shr")
    for kind in "us"
    for bits in (16, 32, 64)
    if (name, bits) != ("mul.wide", 64)
] + ["shl.b16", "shl.b32", "shl.b64"]


@pytest.mark.parametrize("opcode", INTEGER_OPCODES)
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_integer_arithmetic_wraps_and_truncates_as_ptx_says(opcode: str, data: st.DataObject) -> None:
    found = operation(tuple(opcode.split(".")))
    assert found is not None
    name, _, kind = opcode.rpartition(".")
    kind = kind.replace("b", "u")
    bits = int(kind[1:])
    a = data.draw(integers(kind))
    b = data.draw(st.integers(0, 100) if name in ("shl", "shr") else integers(kind))
    if name in ("div", "rem") and (b == 0 or (a == -(2 ** (bits - 1)) and b == -1)):
        return
    sources = [lane(value & (2**64 - 1), np.uint64).astype(f"u{NUMPY[source].itemsize}").view(NUMPY[source])
               for value, source in zip((a, b), found.sources, strict=True)]  # fmt: skip
    with np.errstate(all="ignore"):
        got = int(found.compute(*sources)[0])
    width = 2 * bits if name == "mul.wide" else bits
    assert signed(got, width) == signed(exact(name, a, b, bits), width)


@pytest.mark.parametrize(
    ("opcode", "value", "expected"),
    [
        ("cvt.rzi.s32.f32", -2.9, -2),
        ("cvt.rzi.s32.f32", 3e9, 2**31 - 1),
        ("cvt.rzi.s32.f32", -3e9, -(2**31)),
        ("cvt.rzi.u32.f32", -1.5, 0),
        ("cvt.rzi.u32.f64", 4e9, 4_000_000_000),
        ("cvt.rzi.s64.f64", 1e300, 2**63 - 1),
        ("cvt.rzi.s32.f32", math.nan, 0),
        ("cvt.u16.u32", 0x12345, 0x2345),
        ("cvt.s64.s32", -5, -5),
        ("cvt.u64.u32", 2**32 - 1, 2**32 - 1),
        ("cvt.s8.s32", 200, -56),
        ("cvt.rn.f32.s32", 2**24 + 1, 2**24),
        ("cvt.rn.f32.f64", 1 + 2.0**-24, 1.0),
        ("cvt.f64.f32", 0.5, 0.5),
        ("cvt.rn.f16.f32", 65520.0, math.inf),
    ],
)
def test_conversions(opcode: str, value: float, expected: float) -> None:
    found = operation(tuple(opcode.split(".")))
    assert found is not None
    with np.errstate(all="ignore"):
        assert found.compute(lane(value, NUMPY[found.sources[0]]))[0] == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        *((name, False) for name in ("eq", "ne", "lt", "le", "gt", "ge", "num")),
        *((name, True) for name in ("equ", "neu", "ltu", "leu", "gtu", "geu", "nan")),
    ],
)
def test_comparisons_with_nan_are_false_or_unordered(name: str, expected: bool) -> None:
    found = operation(("setp", name, "f32"))
    assert found is not None
    assert bool(found.compute(lane(math.nan, np.float32), lane(1, np.float32))[0]) is expected


@pytest.mark.parametrize(
    "opcode",
    ["add.sat.u32", "add.cc.u32", "add.ftz.rz.f32", "add.rna.f32", "fma.ftz.rn.f32", "fma.f32", "div.approx.f64",
     "add.ftz.f64", "add.ftz.s32", "add.ftz.bf16", "fma.rn.ftz.ftz.f32", "div.ftz.approx.f32", "selp.ftz.f32",
     "cvt.ftz.rzi.s32.f32", "cvt.rzi.ftz.s32.f64", "cvt.rpi.f32.f64", "cvt.rni.f32.s32", "cvt.rpi.f16.f32", "ftz.f32",
     "div.full.f64", "rcp.approx.f64", "sqrt.approx.f16", "ex2.approx.bf16", "cvt.rna.tf32.f64", "cvt.rpp.f32.f64",
     "cvt.sat.u32.u8", "cvt.rna.f16x2.f32", "setp.lt.f16x2", "min.NaN.f64", "shf.l.b32", "lop3.or.b32", "prmt.b32.f5e",
     "mul.wide.u64", "mad.hi.cc.u32", "fma.rn.f32x2", "fma.rn.oob.f16", "popc.b16", "add", "add.", ""],
)  # fmt: skip
def test_an_opcode_with_an_unknown_modifier_is_an_unknown_opcode(opcode: str) -> None:
    assert operation(tuple(opcode.split("."))) is None


WORDS = st.integers(0, 2**32 - 1)


def compute(opcode: str, *values: int) -> int:
    found = operation(tuple(opcode.split(".")))
    assert found is not None
    sources = (lane(value, NUMPY[source]) for value, source in zip(values, found.sources, strict=True))
    return int(found.compute(*sources)[0])


@many
@given(a=WORDS, b=WORDS, position=st.integers(0, 40), length=st.integers(0, 40))
def test_bit_fields_are_cut_out_and_put_in(a: int, b: int, position: int, length: int) -> None:
    ones = (1 << min(length, 32)) - 1
    assert compute("bfe.u32", a, position, length) == (a >> position) & ones
    mask = (ones << position) & 0xFFFFFFFF
    assert compute("bfi.b32", a, b, position, length) == (b & ~mask) | ((a << position) & mask)


@many
@given(a=WORDS, b=WORDS, c=WORDS)
def test_bytes_are_permuted_and_words_shifted_together(a: int, b: int, c: int) -> None:
    assert compute("popc.b32", a) == a.bit_count()
    octets = [(a | b << 32) >> 8 * place & 0xFF for place in range(8)]
    chosen = [octets[c >> 4 * place & 7] for place in range(4)]
    signs = [c >> 4 * place & 8 for place in range(4)]
    expected = [(0xFF if octet >> 7 else 0) if sign else octet for octet, sign in zip(chosen, signs, strict=True)]
    assert compute("prmt.b32", a, b, c) == sum(octet << 8 * place for place, octet in enumerate(expected))
    both = a | b << 32
    assert compute("shf.l.wrap.b32", a, b, c) == (both << (c & 31)) >> 32 & 0xFFFFFFFF
    assert compute("shf.r.clamp.b32", a, b, c) == both >> min(c, 32) & 0xFFFFFFFF


@many
@given(a=st.integers(0, 2**32 - 1), b=st.integers(0, 2**32 - 1), c=st.integers(0, 2**32 - 1))
@pytest.mark.parametrize("kinds", [*itertools.product(("s32", "u32"), repeat=2)])
def test_dp4a_adds_the_products_of_four_bytes(kinds: tuple[str, str], a: int, b: int, c: int) -> None:
    found = operation(("dp4a", *kinds))
    assert found is not None
    one, other = (
        [int.from_bytes([byte], "little", signed=kind == "s32") for byte in number.to_bytes(4, "little")]
        for number, kind in zip((a, b), kinds, strict=True)
    )
    lanes = (lane(value, np.uint32).view(NUMPY[kind]) for value, kind in zip((a, b, c), found.sources, strict=True))
    exact = c + sum(x * y for x, y in zip(one, other, strict=True))
    assert int(found.compute(*lanes).view(np.uint32)[0]) == exact % 2**32


def test_a_product_of_numbers_that_is_too_large_meets_infinity_as_a_number() -> None:
    # Where all products are numbers, their sum with infinity is infinity.
    large, infinity = np.array([1e300, -1e300, 1e300]), np.array([np.inf, np.inf, -np.inf])
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(floats.fma64(large, np.full(3, 1e300), infinity), infinity)
        assert np.isnan(floats.fma64(np.array([np.inf]), np.array([1e300]), np.array([-np.inf]))).all()


@pytest.mark.parametrize(
    ("value", "position", "length", "field"),
    [(0b0110_0000, 4, 4, 6), (0b1110_0000, 4, 4, -2), (-8, 2, 30, -2), (-8, 2, 40, -2), (5, 0, 32, 5), (-1, 40, 3, -1),
     (7, 1, 0, 0), (-5, 0, 64, -5), (1 << 30, 30, 1, -1)],
)  # fmt: skip
def test_a_signed_field_has_its_last_bit_for_a_sign(value: int, position: int, length: int, field: int) -> None:
    found = operation(("bfe", "s32"))
    assert found is not None
    operands = lane(value, np.int32), lane(position, np.uint32), lane(length, np.uint32)
    assert found.compute(*operands).tolist() == [field]


def test_bits_are_reversed() -> None:
    found = operation(("brev", "b32"))
    assert found is not None
    assert found.compute(lane(0x12345678, np.uint32)).tolist() == [0x1E6A2C48]


@pytest.mark.parametrize(
    ("value", "rounding", "bits"),
    [(1 + 2.0**-11, "rna", 0x3F802000), (1 + 2.0**-11, "rn", 0x3F800000), (1 + 3 * 2.0**-11, "rn", 0x3F804000),
     (1 + 2.0**-11, "rz", 0x3F800000), (math.inf, "rna", 0x7F800000), (math.nan, "rna", 0x7FFFFFFF)],
)  # fmt: skip
def test_a_float32_becomes_a_tf32(value: float, rounding: str, bits: int) -> None:
    found = operation(("cvt", rounding, "tf32", "f32"))
    assert found is not None
    assert [hex(each) for each in found.compute(lane(value, np.float32)).tolist()] == [hex(bits)]


def test_pairs_of_16_bit_numbers_are_computed_apart() -> None:
    one, two = (np.array(each, np.float16).view(np.uint32) for each in ([1.5, -2], [2, 65504]))
    for name, wanted in (("add", [3.5, 65504 - 2]), ("mul", [3, -math.inf])):
        found = operation((name, "rn", "f16x2"))
        assert found is not None
        with np.errstate(over="ignore"):
            expected = np.array(wanted, np.float16)
            np.testing.assert_array_equal(found.compute(one, two).view(np.float16), expected)
    pair = operation(("cvt", "rn", "f16x2", "f32"))
    assert pair is not None
    np.testing.assert_array_equal(pair.compute(lane(3, np.float32), lane(7, np.float32)).view(np.float16), [7, 3])
