"""Numbers of PTX's types by their bits, and exact rounding."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tests.emulation import dtype_of, from_bfloat16, operand_types, to_bfloat16

WORD = 2**32 - 1
RNG = np.random.default_rng(11)
#: Bits of the significand, exponent of the least normal number.
FORMATS = {
    kind: (precision, least)
    for kind, precision, least in (
        ("f16", 11, -14), ("bf16", 8, -126), ("tf32", 11, -126), ("f32", 24, -126), ("f64", 53, -1022),
        ("e4m3", 4, -6), ("e5m2", 3, -14),
    )
}  # fmt: skip
_LARGEST = {"e4m3": 448.0}


def types_of(opcode: str) -> tuple[tuple[str, ...], str]:
    """Return the types of a known opcode's operands and of its result."""
    types = operand_types(opcode)
    assert types is not None, opcode
    return types


def width(kind: str) -> int:
    return 1 if kind == "pred" else 8 * dtype_of(kind).itemsize


def signed(number: int, bits: int) -> int:
    return number - 2**bits if number >> (bits - 1) else number


def clamp(number: int, low: int, high: int) -> int:
    return max(low, min(high, number))


def value(bits: int, kind: str) -> float:
    """Return the number with these bits."""
    if kind == "bf16":
        return float(from_bfloat16(np.array([bits], np.uint16))[0])
    return float(np.array([bits], f"u{dtype_of(kind).itemsize}").view(dtype_of(kind))[0])


def bits_of(number: float, kind: str) -> int:
    """Return the bits of the number of a float type that is nearest to a number."""
    if math.isnan(number):
        return {16: 0x7FFF, 32: 0x7FFFFFFF, 64: 0x7FF8 << 48}[width(kind)]
    with np.errstate(over="ignore"):
        if kind == "bf16":
            return int(to_bfloat16(np.array([number], np.float32))[0])
        return int(np.array([number], dtype_of(kind)).view(f"u{dtype_of(kind).itemsize}")[0])


def same(a: float, b: float) -> bool:
    return a == b and math.copysign(1, a) == math.copysign(1, b)


def drawn(bits: int, count: int = 400) -> NDArray[np.uint64]:
    """Return whole numbers of a width in bits: arbitrary, small, with few significant bits, and extreme ones."""
    every = RNG.integers(0, 2**64, count, np.uint64) >> np.uint64(64 - bits)
    kept = RNG.integers(0, bits, count).astype(np.uint64)
    numbers = np.where(RNG.random(count) < 0.4, every >> kept, every)
    ends = [0, 1, 2**bits - 1, 2 ** (bits - 1), 2 ** (bits - 1) - 1]
    return RNG.permutation(np.concatenate([numbers, np.array(ends, np.uint64)]))


def finite(kind: str, count: int = 400) -> NDArray[np.uint64]:
    """Return bits of finite numbers: of any exponent, near one, at the ends of the range, with short significands."""
    precision, least = FORMATS[kind]
    bias, fraction = 1 - least, precision - 1
    exponents = np.select(
        [(draw := RNG.random(count)) < 0.4, draw < 0.8],
        [RNG.integers(0, 2 * bias + 1, count), RNG.integers(max(0, bias - precision), bias + 3, count)],
        RNG.choice([0, 1, 2 * bias], count),
    )
    significand = RNG.integers(0, 2**fraction, count) >> (kept := RNG.integers(0, fraction + 1, count)) << kept
    bits = (RNG.integers(0, 2, count) << (width(kind) - 1)) | (exponents << fraction) | significand
    return bits.astype(np.uint64)


def rounded(exact: Fraction, kind: str, way: str = "rn", *, flush: bool = False) -> float:
    """Return a fraction rounded once; with ``flush``, results that are subnormal before rounding are zeros."""
    precision, least = FORMATS[kind]
    exponent = abs(exact.numerator).bit_length() - exact.denominator.bit_length()
    exponent -= abs(exact) < Fraction(2) ** exponent
    unit = Fraction(2) ** ((exponent if flush else max(least, exponent)) - precision + 1)
    scaled, sign = exact / unit, 1 if exact > 0 else -1
    whole = {
        "rn": round(scaled),
        "rna": math.floor(abs(scaled) + Fraction(1, 2)) * sign,
        "rz": math.trunc(scaled),
        "rm": math.floor(scaled),
        "rp": math.ceil(scaled),
    }[way]
    largest = Fraction(_LARGEST.get(kind) or (2 - Fraction(2) ** (1 - precision)) * Fraction(2) ** (1 - least))
    if flush and abs(whole * unit) < Fraction(2) ** least:
        return math.copysign(0.0, sign)
    if abs(whole * unit) > largest:
        to_infinity = {"rz": False, "rm": sign < 0, "rp": sign > 0}.get(way, True)
        return math.copysign(math.inf if to_infinity else float(largest), sign)
    return math.copysign(float(whole * unit), sign)
