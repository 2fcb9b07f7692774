"""Floating-point arithmetic that numpy cannot round correctly: fused multiply-add, and bfloat16.

Every operation rounds to nearest, ties to even, as the GPU's ``.rn`` instructions do. A kernel's result on the
emulator therefore equals the GPU's bit for bit.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from mmcore_emulator.numerics.types import DType, Values

_LOW_28_BITS = np.int64(0x0FFFFFFF)
LEAST_NORMAL = np.float32(2.0**-126)
_SPLIT = np.float64(2**27 + 1)
# For a float64 product of at least this magnitude, the rounding error is a float64 too.
_LEAST_SPLIT_PRODUCT = 2.0**-967
_LEAST_NORMAL_64 = 2.0**-1022
_SCALE = 2.0**1000
_NAN: dict[DType, np.generic] = {
    np.dtype(np.float16): np.uint16(0x7FFF).view(np.float16),
    np.dtype(np.float32): np.uint32(0x7FFFFFFF).view(np.float32),
}


def with_one_nan(values: Values) -> Values:
    """Return ``values`` with every NaN replaced by the GPU's canonical one in float16 and float32: all ones."""
    nan = np.isnan(values)
    return np.where(nan, _NAN[values.dtype], values) if nan.any() else values


def flushed(values: Values) -> Values:
    """Return float32 numbers with subnormal ones replaced by zeros of the same sign."""
    tiny = np.abs(values) < LEAST_NORMAL
    return np.where(tiny, np.copysign(np.float32(0), values), values) if tiny.any() else values


def fma32(a: Values, b: Values, c: Values) -> Values:
    """Return a·b + c of float32, rounded once.

    The product of two float32 is exact in float64. So only the addition rounds, and the conversion back to float32.
    Rounding twice differs from rounding once only if the float64 sum is the midpoint of two float32: its last 28 bits
    are zero. The error of the addition nudges those few sums off the midpoint first.
    """
    product = np.multiply(a.astype(np.float64), b.astype(np.float64))
    total = np.add(product, c)
    if np.bitwise_and(total.view(np.int64), _LOW_28_BITS).all():
        return total.astype(np.float32)
    # NaN ends on 28 zero bits as well: every float32 does.
    total = _towards_exact(product, np.asarray(c, np.float64), total)
    return with_one_nan(total.astype(np.float32))


def _towards_exact(a: Values, b: Values, total: Values) -> Values:
    """Return ``total`` = a + b, moved one unit in the last place towards the exact sum if it ends on 28 zero bits."""
    virtual = total - a
    error = (a - (total - virtual)) + (b - virtual)
    suspect = (np.bitwise_and(total.view(np.int64), _LOW_28_BITS) == 0) & (error != 0) & np.isfinite(total)
    return np.where(suspect, np.nextafter(total, np.where(error > 0, np.inf, -np.inf)), total)


def fma64(a: Values, b: Values, c: Values) -> Values:
    """Return a·b + c of float64, rounded once.

    Reference: Boldo and Melquiond, "Emulation of a FMA", 2008: the exact parts are added with rounding to odd.
    """
    high, total, rest = _fma_parts(a, b, c)
    result = np.asarray(total + rest)
    sound = np.isfinite(result) & (np.abs(high) >= _LEAST_SPLIT_PRODUCT)
    if not sound.all():
        lanes = ~sound
        result[lanes] = _fma_of_unsound(*(np.broadcast_to(each, result.shape)[lanes] for each in (a, b, c)))
    return result


def _fma_parts(a: Values, b: Values, c: Values) -> tuple[Values, Values, Values]:
    """Return a·b, and a·b + c as the sum of two numbers; the second is rounded to odd."""
    high, low = _two_product(a, b)
    carry, rest = two_sum(c, low)
    total, error = two_sum(high, carry)
    return high, total, _add_to_odd(rest, error)


def _fma_of_unsound(a: Values, b: Values, c: Values) -> Values:
    """Return a·b + c of numbers whose parts overflow or underflow, or that are not finite."""
    finite = np.isfinite(a) & np.isfinite(b)
    # The product of finite numbers counts as finite. Where a factor is zero, the plain sum is exact.
    result = np.asarray(np.where(np.isinf(c) & finite, c, a * b + c))
    numbers = finite & np.isfinite(c) & (a != 0) & (b != 0)
    small = numbers & (np.abs(a * b) < _LEAST_SPLIT_PRODUCT)
    result[small] = _fma_of_small(a[small], b[small], c[small])
    large = numbers & ~small
    operands = (operand[large].tolist() for operand in (a, b, c))
    result[large] = [_fma_of_numbers(*abc) for abc in zip(*operands, strict=True)]
    return result


def _fma_of_small(a: Values, b: Values, c: Values) -> Values:
    """Return a·b + c where a·b is less than 2⁻⁹⁶⁷ but not zero.

    The smaller factor and C are multiplied by a power of two. A subnormal result has fewer bits, so it is rounded to
    odd before it is divided by that power. Its leading bit is added last, as rounding to odd needs two spare bits.
    """
    swap = np.abs(a) > np.abs(b)
    smaller, larger = np.where(swap, b, a) * _SCALE, np.where(swap, a, b)
    too_small = np.abs(smaller * larger) < 2.0**-1074 * _SCALE / 2
    only_c = (np.abs(c) >= _LEAST_SPLIT_PRODUCT * 2.0**100) | (too_small & (c != 0))
    _, total, rest = _fma_parts(smaller, larger, np.where(only_c, 0, c) * _SCALE)
    rounded = (total + rest) / _SCALE
    bit = _LEAST_NORMAL_64 / 2
    offset = np.where(np.abs(rounded) < bit, -0.0, np.copysign(bit, total))  # -0 keeps the sign of a zero
    subnormal = _add_to_odd(total - offset * _SCALE, rest) / _SCALE + offset
    result = np.where(np.abs(rounded) <= _LEAST_NORMAL_64, subnormal, rounded)
    return np.where(only_c, c, np.where(too_small, a * b, result))


def _fma_of_numbers(a: float, b: float, c: float) -> float:
    """Return a·b + c of finite numbers by exact integers, whose quotient Python rounds correctly."""
    (a_top, a_low), (b_top, b_low), (c_top, c_low) = (each.as_integer_ratio() for each in (a, b, c))
    top = a_top * b_top * c_low + c_top * a_low * b_low
    try:
        # A sum of zero takes its sign from the plain arithmetic.
        return top / (a_low * b_low * c_low) if top else a * b + c
    except OverflowError:
        return math.inf if top > 0 else -math.inf


def _two_product(a: Values, b: Values) -> tuple[Values, Values]:
    """Return a·b as the exact sum of two float64 (Dekker)."""
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


def two_sum(a: Values, b: Values) -> tuple[Values, Values]:
    """Return a + b as the exact sum of two float64 (Knuth)."""
    total = a + b
    virtual = total - a
    return total, (a - (total - virtual)) + (b - virtual)


def _add_to_odd(a: Values, b: Values) -> Values:
    """Return a + b rounded to odd: an inexact sum becomes the neighbour whose last bit is one."""
    total, error = two_sum(a, b)
    bits, error_bits = total.view(np.int64), error.view(np.int64)
    suspect = np.abs(error) > 0
    suspect &= (bits & 1) == 0
    # The neighbour towards the exact sum: 1 more if the error has the sign of the sum, and else 1 less.
    steps = ((bits ^ error_bits) >> 63) | 1
    return np.asarray(bits + steps * suspect).view(np.float64)


def fma16(a: Values, b: Values, c: Values) -> Values:
    """Return a·b + c of float16, rounded once: the product is exact, and rounding its sum to odd first is harmless."""
    product = np.multiply(a, b, dtype=np.float64)
    return with_one_nan(_add_to_odd(product, c.astype(np.float64)).astype(np.float16))


def from_bfloat16(bits: Values) -> Values:
    """Return the float32 values of bfloat16 bit patterns (uint16)."""
    return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32)


def to_bfloat16(values: Values) -> Values:
    """Return the bit patterns (uint16) of float32 values rounded to bfloat16."""
    bits = values.view(np.uint32)
    rounded = (bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) >> np.uint32(16)
    return np.where(np.isnan(values), np.uint32(0x7FFF), rounded).astype(np.uint16)


def fma_bfloat16(a: Values, b: Values, c: Values) -> Values:
    """Return a·b + c of bfloat16 bit patterns, rounded once."""
    product = from_bfloat16(a).astype(np.float64) * from_bfloat16(b)
    odd = _add_to_odd(product, from_bfloat16(c).astype(np.float64))
    return to_bfloat16(_nearest(odd, 8, -126).astype(np.float32))


def _nearest(values: Values, precision: int, least_exponent: int) -> Values:
    """Return float64 numbers rounded to ``precision`` bits, or fewer below 2^``least_exponent`` (subnormal numbers)."""
    unit = np.maximum(np.frexp(values)[1] - 1, least_exponent) - (precision - 1)
    return np.asarray(np.ldexp(np.rint(np.ldexp(values, -unit)), unit))


def float8_values(exponent_bits: int) -> NDArray[np.float64]:
    """Return the 256 values of an 8-bit float type: E4M3 (no infinities, one NaN a sign) or E5M2 (as IEEE 754)."""
    mantissa_bits = 7 - exponent_bits
    code = np.arange(128)
    exponent, mantissa = code >> mantissa_bits, code & ((1 << mantissa_bits) - 1)
    bias, normal = (1 << (exponent_bits - 1)) - 1, exponent > 0
    significand = mantissa / (1 << mantissa_bits) + normal
    values = np.ldexp(significand, np.where(normal, exponent, 1) - bias)
    if exponent_bits == 5:
        values = np.where(exponent == 31, np.where(mantissa == 0, np.inf, np.nan), values)
    else:
        values[-1] = np.nan
    return np.concatenate([values, -values])
