"""Floating-point arithmetic and conversions in every direction of rounding, against exact fractions."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from mmcore_emulator.isa.table import operation
from mmcore_emulator.numerics.types import NUMPY
from tests.computing import RNG, bits_of, clamp, computed, drawn, signed, value

#: Bits of the significand, exponent of the least normal number.
FORMATS = {
    "f16": (11, -14),
    "bf16": (8, -126),
    "tf32": (11, -126),
    "f32": (24, -126),
    "f64": (53, -1022),
    "e4m3": (4, -6),
    "e5m2": (3, -14),
}
LARGEST = {"e4m3": 448.0}


def rounded(exact: Fraction, kind: str, way: str) -> float:
    """A fraction rounded once."""
    precision, least = FORMATS[kind]
    exponent = abs(exact.numerator).bit_length() - exact.denominator.bit_length()
    exponent -= abs(exact) < Fraction(2) ** exponent
    unit = Fraction(2) ** (max(least, exponent) - precision + 1)
    scaled = exact / unit
    whole = {
        "rn": round(scaled),
        "rna": math.floor(abs(scaled) + Fraction(1, 2)) * (1 if exact > 0 else -1),
        "rz": math.trunc(scaled),
        "rm": math.floor(scaled),
        "rp": math.ceil(scaled),
    }[way]
    largest = Fraction(LARGEST.get(kind) or (2 - Fraction(2) ** (1 - precision)) * Fraction(2) ** (1 - least))
    found = whole * unit
    if abs(found) > largest:
        to_infinity = {"rz": False, "rm": exact < 0, "rp": exact > 0}.get(way, True)
        return math.copysign(math.inf if to_infinity else float(largest), -1 if exact < 0 else 1)
    return math.copysign(float(found), -1 if exact < 0 else 1)


def finite(kind: str, count: int = 300) -> NDArray[np.uint64]:
    """Bits of finite numbers of all exponents, of exponents near zero, and with short significands."""
    precision, least = FORMATS[kind]
    bias, fraction = 1 - least, precision - 1
    exponents = np.where(
        RNG.random(count) < 0.5,
        RNG.integers(0, 2 * bias + 1, count),
        RNG.integers(max(0, bias - precision), bias + 3, count),
    )
    significand = RNG.integers(0, 2**fraction, count) >> (kept := RNG.integers(0, fraction, count)) << kept
    found = (RNG.integers(0, 2, count) << (8 * NUMPY[kind].itemsize - 1)) | (exponents << fraction) | significand
    return found.astype(np.uint64)


EXACT: dict[str, Callable[..., Fraction]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "fma": lambda a, b, c: a * b + c,
    "mad": lambda a, b, c: a * b + c,
    "div": lambda a, b: a / b,
    "rcp": lambda a: 1 / a,
}
_COUNT = {"fma": 3, "mad": 3, "rcp": 1}


@pytest.mark.parametrize("way", ["rz", "rm", "rp"])
@pytest.mark.parametrize("kind", ["f32", "f64"])
@pytest.mark.parametrize("name", EXACT)
def test_every_direction_of_rounding(name: str, kind: str, way: str) -> None:
    columns = [finite(kind) for _ in range(_COUNT.get(name, 2))]
    if name in ("fma", "mad"):
        # Sums that nearly cancel, and those whose terms hardly meet.
        columns[2][::3] = [
            bits_of(-value(int(a), kind) * value(int(b), kind), kind)
            for a, b in zip(*(each[::3] for each in columns[:2]), strict=True)
        ]
    found = computed(f"{name}.{way}.{kind}", *columns)
    compared = 0
    for bits, row in zip(found, zip(*columns, strict=True), strict=True):
        numbers = [value(int(each), kind) for each in row]
        if not all(map(math.isfinite, numbers)) or (name in ("div", "rcp") and numbers[-1] == 0):
            continue
        exact = EXACT[name](*map(Fraction, numbers))
        if exact:
            assert value(int(bits), kind) == rounded(exact, kind, way), (numbers, hex(int(bits)))
            compared += 1
    assert compared > 200


@pytest.mark.parametrize("way", ["rz", "rm", "rp"])
@pytest.mark.parametrize("kind", ["f32", "f64"])
def test_every_direction_of_roots(kind: str, way: str) -> None:
    column = finite(kind) & np.uint64(2 ** (8 * NUMPY[kind].itemsize - 1) - 1)
    for bits, given in zip(computed(f"sqrt.{way}.{kind}", column), column, strict=True):
        exact, root = Fraction(value(int(given), kind)), Fraction(value(int(bits), kind))
        other = Fraction(value(int(bits) + (1 if way != "rp" else -1), kind)) if bits or way != "rp" else Fraction(0)
        if way == "rp":
            assert root**2 >= exact
            assert root == 0 or other**2 < exact
        else:
            assert root**2 <= exact < other**2


@pytest.mark.parametrize("opcode", ["add", "sub", "fma", "mad"])
@pytest.mark.parametrize(("way", "sign"), [("rn", 0), ("rz", 0), ("rp", 0), ("rm", 1)])
@pytest.mark.parametrize("kind", ["f32", "f64"])
def test_a_sum_of_nothing_is_negative_only_where_it_is_rounded_down(
    opcode: str, way: str, sign: int, kind: str
) -> None:
    one, minus = bits_of(1.0, kind), bits_of(-1.0, kind)
    operands = {"add": (one, minus), "sub": (one, one), "fma": (one, one, minus), "mad": (minus, one, one)}[opcode]
    assert int(computed(f"{opcode}.{way}.{kind}", *operands)[0]) == sign << (8 * NUMPY[kind].itemsize - 1)


@pytest.mark.parametrize("kind", ["f16", "bf16"])
@pytest.mark.parametrize("name", ["add", "sub", "mul", "fma"])
def test_arithmetic_of_16_bits_rounds_once_and_in_pairs_alike(name: str, kind: str) -> None:
    columns = [finite(kind, 600) for _ in range(3 if name == "fma" else 2)]
    opcode = f"{name}.rn.{kind}"
    found = computed(opcode, *columns)
    for bits, row in zip(found, zip(*columns, strict=True), strict=True):
        exact = EXACT[name](*(Fraction(value(int(each), kind)) for each in row))
        if exact:
            assert value(int(bits), kind) == rounded(exact, kind, "rn")
    pairs = computed(f"{opcode}x2", *(each[::2] | each[1::2] << np.uint64(16) for each in columns))
    assert (pairs == found[::2] | found[1::2] << np.uint64(16)).all()


@pytest.mark.parametrize(
    ("opcode", "operands", "expected"),
    [
        ("add.sat.f32", (0.75, 0.75), 1.0),
        ("add.sat.f32", (-0.75, 0.25), 0.0),
        ("mul.sat.f32", (-1.0, 0.0), 0.0),
        ("add.sat.f32", (math.nan, 0.25), 0.0),
        ("fma.rn.sat.f32", (0.5, 0.5, 0.125), 0.375),
        ("fma.rz.ftz.sat.f32", (2.0**-100, 2.0**-100, 2.0**-130), 0.0),
        ("add.sat.f16", (3.0, 1.0), 1.0),
        ("fma.rn.relu.f16", (1.0, 2.0, -3.0), 0.0),
        ("fma.rn.relu.f16", (1.0, -0.0, -0.0), 0.0),
        ("fma.rn.relu.f16", (1.0, 2.0, 3.0), 5.0),
        ("fma.rn.relu.bf16", (1.0, -2.0, -3.0), 0.0),
        ("fma.rn.relu.bf16", (1.0, math.nan, -3.0), math.nan),
        ("add.ftz.f16", (2.0**-20, 2.0**-20), 0.0),
        ("add.f16", (2.0**-20, 2.0**-20), 2.0**-19),
        ("mul.ftz.f16", (2.0**-10, -(2.0**-10)), -0.0),
        ("neg.bf16", (0.0,), -0.0),
        ("neg.f16", (math.nan,), math.nan),
        ("abs.f16", (-2.5,), 2.5),
        ("abs.ftz.f16", (-(2.0**-20),), 0.0),
        ("min.f16", (math.nan, 2.0), 2.0),
        ("min.NaN.f16", (math.nan, 2.0), math.nan),
        ("max.bf16", (-0.0, 0.0), 0.0),
        ("min.bf16", (0.0, -0.0), -0.0),
        ("max.NaN.f32", (1.0, math.nan), math.nan),
        ("min.xorsign.abs.f32", (-3.0, 2.0), -2.0),
        ("max.xorsign.abs.f32", (-3.0, -2.0), 3.0),
        ("min.xorsign.abs.bf16", (-3.0, math.nan), -3.0),
        ("max.ftz.f16", (2.0**-20, -1.0), 0.0),
        ("copysign.f32", (-0.0, 2.5), -2.5),
        ("cvt.rn.relu.f16.f32", (-3.0,), 0.0),
        ("cvt.rn.satfinite.f16.f32", (1e6,), 65504.0),
        ("cvt.rn.satfinite.f16.f32", (-math.inf,), -65504.0),
        ("cvt.rz.f16.f32", (1e6,), 65504.0),
        ("cvt.rn.bf16.f32", (3.4e38,), math.inf),
        ("cvt.rz.bf16.f32", (3.4e38,), 3.3895313892515355e38),
        ("cvt.sat.f32.f16", (-1.0,), 0.0),
        ("cvt.rpi.f16.f16", (1.25,), 2.0),
        ("cvt.rmi.bf16.bf16", (-1.25,), -2.0),
    ],
)  # fmt: skip
def test_what_follows_the_rounding(opcode: str, operands: tuple[float, ...], expected: float) -> None:
    found = operation(tuple(opcode.split(".")))
    assert found is not None
    given = [bits_of(each, kind) for each, kind in zip(operands, found.sources, strict=True)]
    assert hex(int(computed(opcode, *given)[0])) == hex(bits_of(expected, found.result))


@pytest.mark.parametrize("test", ["finite", "infinite", "number", "notanumber", "normal", "subnormal"])
@pytest.mark.parametrize("kind", ["f32", "f64"])
def test_testp(test: str, kind: str) -> None:
    tiny = 2.0**-130 if kind == "f32" else 2.0**-1030
    numbers = {"zero": 0.0, "one": -1.0, "tiny": tiny, "infinity": -math.inf, "nan": math.nan}
    true = {"finite": "zero one tiny", "infinite": "infinity", "number": "zero one tiny infinity", "notanumber": "nan"}
    true |= {"normal": "zero one", "subnormal": "tiny"}
    found = operation(("testp", test, kind))
    assert found is not None
    told = [name for name, number in numbers.items() if found.compute(np.array([number], NUMPY[kind]))[0]]
    assert told == true[test].split()


# Conversions.


@pytest.mark.parametrize(
    ("opcode", "to"),
    [
        *((f"cvt.{way}.f16.f32", "f16") for way in ("rn", "rz", "rm", "rp")),
        *((f"cvt.{way}.bf16.f32", "bf16") for way in ("rn", "rz", "rm", "rp")),
        *((f"cvt.{way}.f32.f64", "f32") for way in ("rn", "rz", "rm", "rp")),
        *((f"cvt.{way}.bf16.f64", "bf16") for way in ("rn", "rz", "rm", "rp")),
        *((f"cvt.{way}.f16.f64", "f16") for way in ("rn", "rz", "rm", "rp")),
        *((f"cvt.{way}.f16.bf16", "f16") for way in ("rn", "rz", "rm", "rp")),
        *((f"cvt.{way}.bf16.f16", "bf16") for way in ("rn", "rz", "rm", "rp")),
        *((f"cvt.{way}.tf32.f32", "tf32") for way in ("rn", "rz", "rna")),
    ],
)
def test_narrower_numbers_are_rounded_in_every_direction(opcode: str, to: str) -> None:
    _, way, _, of = opcode.split(".")
    column = finite(of, 500)
    held = "f32" if to == "tf32" else to
    for bits, given in zip(computed(opcode, column), column, strict=True):
        number = value(int(given), of)
        expected = rounded(Fraction(number), to, way) if number else number
        assert value(int(bits), held) == expected, number


@pytest.mark.parametrize("way", ["rn", "rz", "rm", "rp"])
@pytest.mark.parametrize("of", ["u16", "s32", "u32", "s64", "u64"])
@pytest.mark.parametrize("to", ["f16", "bf16", "f32", "f64"])
def test_integers_are_rounded_in_every_direction(to: str, of: str, way: str) -> None:
    bits = int(of[1:])
    column = np.array(drawn(bits, 300), np.uint64)
    for result, given in zip(computed(f"cvt.{way}.{to}.{of}", column), column, strict=True):
        number = signed(int(given), bits) if of[0] == "s" else int(given)
        assert value(int(result), to) == (rounded(Fraction(number), to, way) if number else 0), number


@pytest.mark.parametrize(("kind", "infinite"), [("e4m3", 0x7F), ("e5m2", 0x7C)])
def test_every_number_of_8_bits_comes_back(kind: str, infinite: int) -> None:
    every = np.arange(256, dtype=np.uint64)
    halves = computed(f"cvt.rn.f16x2.{kind}x2", every | (every[::-1] << np.uint64(8)))
    precision, least = FORMATS[kind]
    for bits, found in zip(range(256), halves & np.uint64(0xFFFF), strict=True):
        magnitude, field = bits & 0x7F, (bits & 0x7F) >> (precision - 1)
        exact = Fraction(magnitude & (2 ** (precision - 1) - 1) | (field > 0) << (precision - 1)) * Fraction(2) ** (
            max(field, 1) - 1 + least - precision + 1
        )
        number = value(int(found), "f16")
        if magnitude > infinite or magnitude == 0x7F:
            assert math.isnan(number)
        elif kind == "e5m2" and magnitude == infinite:
            assert math.isinf(number)
        else:
            assert number == float(exact) * (-1 if bits & 0x80 else 1)
    assert (halves >> np.uint64(16) == (halves & np.uint64(0xFFFF))[::-1]).all()
    back = computed(f"cvt.rn.satfinite.{kind}x2.f16x2", halves)
    whole = [bits for bits in range(256) if bits & 0x7F < infinite]
    assert [int(back[bits]) & 0xFF for bits in whole] == whole


@pytest.mark.parametrize("kind", ["e4m3", "e5m2"])
def test_numbers_of_8_bits_are_rounded_and_never_infinite(kind: str) -> None:
    largest = 448.0 if kind == "e4m3" else 57344.0
    column = finite("f32", 2000)
    found = computed(f"cvt.rn.satfinite.{kind}x2.f32", column, column[::-1])
    wide = computed(f"cvt.rn.f16x2.{kind}x2", found)
    for bits, given in zip(wide >> np.uint64(16), column, strict=True):
        number = value(int(given), "f32")
        expected = clamp(rounded(Fraction(number), kind, "rn"), -largest, largest) if number else 0  # type: ignore[arg-type]
        assert value(int(bits), "f16") == expected, number
    relu = computed(f"cvt.rn.satfinite.relu.{kind}x2.f32", column, column[::-1])
    sign = found & np.uint64(0x8080)
    assert (relu == (found & ~((sign >> np.uint64(7)) * np.uint64(0xFF)))).all()
    assert hex(
        int(computed(f"cvt.rn.satfinite.{kind}x2.f32", bits_of(math.nan, "f32"), bits_of(-math.inf, "f32"))[0])
    ) == ("0x7ffe" if kind == "e4m3" else "0x7ffb")
