"""Rounding of numbers to the storage of an element type and back, independent of mmcore's own tables."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

# Of 8-bit floats: bits of the fraction, the exponent of the least normal number, and the largest number.
_FLOAT8 = {"float8_e4m3fn": (3, -6, 448.0), "float8_e5m2": (2, -14, 57344.0)}


def narrow(values: ArrayLike, dtype: str) -> NDArray[Any]:
    """Return ``values`` rounded once, to nearest and ties to even, in the storage of ``dtype``; NaN stays NaN.

    Whole numbers wrap around. Numbers that are too large become NaN in float8_e4m3fn and infinite in other floats.
    """
    wide = np.asarray(values, dtype=np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        if dtype == "bfloat16":
            return _to_bfloat16(wide)
        if dtype in _FLOAT8:
            return _to_float8(wide, dtype)
        if dtype.startswith(("int", "uint")):
            return wide.astype(np.int64).astype(dtype)
        return significant(wide, 11).astype(np.float32) if dtype == "tf32" else wide.astype(dtype)


def significant(values: NDArray[np.float64], bits: int, least: int = -1022) -> NDArray[np.float64]:
    """Round numbers to a number of bits, to nearest and ties to even; below 2^least, round to the spacing there."""
    exponent = np.maximum(np.frexp(values)[1] - 1, least) - (bits - 1)
    return np.asarray(np.ldexp(np.rint(np.ldexp(values, -exponent)), exponent))


def _to_bfloat16(values: NDArray[np.float64]) -> NDArray[np.uint16]:
    """Round by way of a float32 that was rounded to odd, which a second rounding cannot mistake for a tie."""
    nearest = values.astype(np.float32)
    bits = nearest.view(np.uint32)
    towards_zero = bits - (np.abs(nearest) > np.abs(values))
    odd = towards_zero | (nearest != values)
    rounded = (odd + 0x7FFF + ((odd >> 16) & 1)) >> 16
    quiet_nan = (bits >> 16) | 0x40
    return np.where(np.isnan(values), quiet_nan, rounded).astype(np.uint16)


def _to_float8(values: NDArray[np.float64], dtype: str) -> NDArray[np.uint8]:
    digits, least, largest = _FLOAT8[dtype]
    magnitude = significant(np.abs(np.nan_to_num(values)), digits + 1, least)
    exponent = np.where(magnitude > 0, np.maximum(np.frexp(magnitude)[1] - 1, least), least)
    # A normal number's leading 1 adds one to the exponent of a subnormal one, which is 0.
    bits = (exponent - least) * 2**digits + np.ldexp(magnitude, digits - exponent).astype(np.int64)
    infinite = 0x7F if dtype == "float8_e4m3fn" else 0x7C
    bits = np.where((magnitude > largest) | np.isinf(values), infinite, bits)
    bits = np.where(np.isnan(values), 0x7F, bits)
    return np.asarray(bits | np.signbit(values) * 0x80, np.uint8)


def wide(stored: NDArray[Any], dtype: str) -> NDArray[np.float64]:
    """Return elements of ``dtype`` as float64, decoded bit by bit."""
    if dtype == "bfloat16":
        return np.asarray(np.left_shift(stored, 16, dtype=np.uint32).view(np.float32), np.float64)
    if dtype not in _FLOAT8:
        with np.errstate(invalid="ignore"):
            return np.asarray(stored, np.float64)
    digits, least, largest = _FLOAT8[dtype]
    bits = stored.astype(np.int64)
    exponent, fraction = (bits & 0x7F) >> digits, bits & (2**digits - 1)
    magnitude = np.ldexp(fraction + 2.0**digits * (exponent > 0), np.maximum(exponent, 1) - 1 + least - digits)
    magnitude = np.where(magnitude > largest, np.where((bits & 0x7F) == 0x7C, np.inf, np.nan), magnitude)
    return np.where(bits & 0x80, -magnitude, magnitude)


def rounded(values: ArrayLike, dtype: str) -> NDArray[np.float64]:
    """Return ``values`` as numbers of ``dtype``; "float22" truncates them to 13 bits after the first."""
    if dtype == "float22":
        return cut_off(np.asarray(values, np.float64), 13)
    return wide(narrow(values, dtype), dtype)


def cut_off(values: NDArray[np.float64], behind: int) -> NDArray[np.float64]:
    """Truncate numbers to a number of bits after the first."""
    exponent = np.frexp(values)[1] - 1 - behind
    return np.asarray(np.ldexp(np.trunc(np.ldexp(values, -exponent)), exponent))
