"""Floating-point arithmetic that numpy has no correctly rounded operation for: fused multiply-add, and bfloat16.

Everything rounds to nearest, ties to even, as the GPU's ``.rn`` instructions do, so a kernel's result on the
emulator equals the GPU's bit for bit. (One exception: the 64-bit product's error is taken to be representable, which
fails for products below 2^-969, far outside what a matrix product of ordinary numbers meets.)
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Values: TypeAlias = NDArray[Any]

_LOW_28_BITS = np.int64(0x0FFFFFFF)
_SPLIT = np.float64(2**27 + 1)


def fma32(a: Values, b: Values, c: Values) -> Values:
    """a·b + c of float32, rounded once.

    The product of two float32 is exact in float64, so only the addition rounds, and the result again to float32.
    Rounding twice differs from rounding once only where the float64 sum lies on the midpoint of two float32, whose
    last 28 bits are then zero; those few are nudged off it by the addition's own error first.
    """
    product = np.multiply(a.astype(np.float64), b.astype(np.float64))
    total = np.add(product, c)
    if not np.bitwise_and(total.view(np.int64), _LOW_28_BITS).all():
        total = _towards_exact(product, np.asarray(c, np.float64), total)
    return total.astype(np.float32)


def _towards_exact(a: Values, b: Values, total: Values) -> Values:
    """``total`` = a + b, a unit in the last place nearer to the exact sum where it ends on 28 zero bits, inexactly."""
    virtual = total - a
    error = (a - (total - virtual)) + (b - virtual)
    suspect = (np.bitwise_and(total.view(np.int64), _LOW_28_BITS) == 0) & (error != 0) & np.isfinite(total)
    return np.where(suspect, np.nextafter(total, np.where(error > 0, np.inf, -np.inf)), total)


def fma64(a: Values, b: Values, c: Values) -> Values:
    """a·b + c of float64, rounded once (Boldo and Melquiond, Emulation of a FMA, 2008: sum the exact parts to odd)."""
    high, low = _two_product(a, b)
    carry, rest = _two_sum(c, low)
    total, error = _two_sum(high, carry)
    result = total + _add_to_odd(rest, error)
    # Splitting overflows near the largest numbers; infinities and NaN follow the plain rules.
    finite = np.isfinite(result)
    return result if finite.all() else np.where(finite, result, a * b + c)


def _two_product(a: Values, b: Values) -> tuple[Values, Values]:
    """a·b as the sum of two float64, exactly (Dekker)."""
    high_a, low_a = _halves(a)
    high_b, low_b = _halves(b)
    product = a * b
    error = high_a * high_b
    error -= product
    error += high_a * low_b
    error += low_a * high_b
    error += low_a * low_b
    return product, error


def _halves(a: Values) -> tuple[Values, Values]:
    scaled = a * _SPLIT
    high = scaled - (scaled - a)
    return high, a - high


def _two_sum(a: Values, b: Values) -> tuple[Values, Values]:
    """a + b as the sum of two float64, exactly (Knuth)."""
    total = a + b
    virtual = total - a
    return total, (a - (total - virtual)) + (b - virtual)


def _add_to_odd(a: Values, b: Values) -> Values:
    """a + b rounded to odd: where inexact, the neighbour whose last bit is one."""
    total, error = _two_sum(a, b)
    even = (total.view(np.int64) & 1) == 0
    suspect = even & (error != 0)
    if suspect.any():
        total = np.where(suspect, np.nextafter(total, np.where(error > 0, np.inf, -np.inf)), total)
    return total


def fma16(a: Values, b: Values, c: Values) -> Values:
    """a·b + c of float16: exact in float64 but for sums spanning more than 53 bits, then rounded to odd."""
    product = np.multiply(a, b, dtype=np.float64)
    return _add_to_odd(product, c.astype(np.float64)).astype(np.float16)


def from_bfloat16(bits: Values) -> Values:
    """float32 values of bfloat16 bit patterns (uint16)."""
    return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32)


def to_bfloat16(values: Values) -> Values:
    """Bit patterns (uint16) of float32 values rounded to bfloat16."""
    bits = values.view(np.uint32)
    rounded = (bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) >> np.uint32(16)
    return np.where(np.isnan(values), np.uint32(0x7FFF), rounded).astype(np.uint16)


def fma_bfloat16(a: Values, b: Values, c: Values) -> Values:
    """a·b + c of bfloat16 bit patterns, rounded once."""
    product = from_bfloat16(a).astype(np.float64) * from_bfloat16(b)
    odd = _add_to_odd(product, from_bfloat16(c).astype(np.float64))
    return to_bfloat16(_to_odd32(odd))


def _to_odd32(values: Values) -> Values:
    """float64 rounded to odd in float32, which a later rounding to 8 bits cannot tell from the exact value."""
    truncated = values.view(np.int64) & ~np.int64(0x1FFFFFFF)
    inexact = (values.view(np.int64) & np.int64(0x1FFFFFFF)) != 0
    return np.where(inexact, truncated | np.int64(0x20000000), truncated).view(np.float64).astype(np.float32)
