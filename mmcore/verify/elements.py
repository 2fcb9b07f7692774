"""Matrix elements as stored, as float64 values, and as poison before they are written."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mmcore.errors import InvalidProblem
from mmcore.kernel.problem import dtype_named

POISON_HALFWORD = 0xFFFD
"""Repeated, these 16 bits are a quiet NaN in float16, bfloat16, float32 and float64, and none that arithmetic makes.

One of the two bytes is NaN in 8-bit floats. In whole numbers it is one like any other."""


def _float8(name: str) -> NDArray[np.float64]:
    """Return the values of all 8-bit floats of a type, by their bits."""
    dtype = dtype_named(name)
    digits = round(-math.log2(dtype.unit_roundoff)) - 1
    bits = np.arange(128)
    exponent, fraction = bits >> digits, bits & (2**digits - 1)
    significand = fraction / 2**digits + (exponent > 0)
    values = np.ldexp(significand, np.maximum(exponent, 1) - 1 + dtype.exponents[0])
    if name == "float8_e4m3fn":
        values[127] = np.nan  # the only one: there are no infinities
    else:
        values[exponent == exponent.max()] = np.nan
        values[(exponent == exponent.max()) & (fraction == 0)] = np.inf
    return np.concatenate([values, -values])


_FLOAT8 = {name: _float8(name) for name in ("float8_e4m3fn", "float8_e5m2")}


def narrow(numbers: NDArray[Any], dtype: str) -> NDArray[Any]:
    """Return numbers, which ``dtype`` holds exactly, in its storage."""
    name = dtype_named(dtype).name
    if name == "bfloat16":
        return (numbers.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    if name in _FLOAT8:
        # Magnitudes are in the order of their bits, infinity after the largest, and NaN last.
        magnitude = np.searchsorted(_FLOAT8[name][: 127 if name == "float8_e4m3fn" else 125], np.abs(numbers))
        return np.asarray(magnitude | (np.signbit(numbers).astype(np.int64) << 7), np.uint8)
    return numbers.astype(dtype_named(dtype).storage)


def stored(array: NDArray[Any], dtype: str) -> NDArray[Any]:
    """Return ``array`` in numpy's storage of ``dtype`` (ml_dtypes' bfloat16 as uint16). Raises InvalidProblem."""
    named = dtype_named(dtype)
    if array.dtype == np.dtype(named.storage):
        return array
    if array.dtype.name == named.name:
        return array.view(named.storage)  # ml_dtypes'
    raise InvalidProblem(f"a {named.name} matrix is stored as {named.storage}, but the array holds {array.dtype}")


def widen(array: NDArray[Any], dtype: str) -> NDArray[np.float64]:
    """Return the exact values of an array of ``dtype`` elements as a new float64 array of the same shape."""
    elements, name = stored(array, dtype), dtype_named(dtype).name
    if name == "bfloat16":
        elements = np.left_shift(elements, 16, dtype=np.uint32).view(np.float32)
    elif name in _FLOAT8:
        return np.asarray(_FLOAT8[name][elements])
    with np.errstate(invalid="ignore"):  # a signalling NaN becomes a quiet one, silently
        return elements.astype(np.float64)


def poison(shape: tuple[int, ...], dtype: str) -> NDArray[Any]:
    """Return a contiguous array of that shape, in the storage of ``dtype``, with every element poisoned."""
    elements = np.empty(shape, dtype_named(dtype).storage)
    for first, byte in enumerate(POISON_HALFWORD.to_bytes(2, "little")):
        elements.reshape(-1).view(np.uint8)[first::2] = byte
    return elements


def is_poison(array: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which elements are the poison bit for bit; any strides, elements of 1, 2, 4 or 8 bytes."""
    size = array.dtype.itemsize
    if size == 1:
        return np.isin(array.view(np.uint8), list(POISON_HALFWORD.to_bytes(2, "little")))
    pattern = int.from_bytes(POISON_HALFWORD.to_bytes(2, "little") * (size // 2), "little")
    return np.asarray(array.view(f"u{size}") == pattern)
