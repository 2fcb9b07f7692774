"""Matrix elements as they are stored, and as float64 values."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mmcore.errors import InvalidProblem
from mmcore.kernel.dtypes import dtype_named


def stored(array: NDArray[Any], dtype: str) -> NDArray[Any]:
    """``array`` as numpy holds elements of ``dtype``; a view, of any shape and strides.

    numpy has no bfloat16, so that its storage is uint16; an array of ml_dtypes' bfloat16 is viewed as such.

    Raises:
        InvalidProblem: when the array holds elements of another type.
    """
    named = dtype_named(dtype)
    if array.dtype == np.dtype(named.storage):
        return array
    if array.dtype.name == named.name == "bfloat16":
        return array.view(np.uint16)
    raise InvalidProblem(f"a {named.name} matrix is stored as {named.storage}, but the array holds {array.dtype}")


def widen(array: NDArray[Any], dtype: str) -> NDArray[np.float64]:
    """The values of an array of ``dtype`` elements, exactly, as a new float64 array of the same shape.

    Raises:
        InvalidProblem: when the array holds elements of another type.
    """
    elements = stored(array, dtype)
    if dtype_named(dtype).name == "bfloat16":
        elements = np.left_shift(elements, 16, dtype=np.uint32).view(np.float32)
    with np.errstate(invalid="ignore"):  # a signalling NaN becomes a quiet one, silently
        return elements.astype(np.float64)


def narrow(values: ArrayLike, dtype: str) -> NDArray[Any]:
    """``values`` rounded once, to nearest and ties to even, into the storage of ``dtype``.

    NaN stays NaN, and what lies beyond the largest number becomes an infinity.
    """
    named = dtype_named(dtype)
    wide = np.asarray(values, dtype=np.float64)
    with np.errstate(over="ignore"):
        if named.name == "bfloat16":
            return _to_bfloat16(wide)
        return wide.astype(named.storage)


def _to_bfloat16(values: NDArray[np.float64]) -> NDArray[np.uint16]:
    """Round by way of a float32 that was rounded to odd, which a second rounding cannot mistake for a tie."""
    nearest = values.astype(np.float32)
    bits = nearest.view(np.uint32)
    towards_zero = bits - (np.abs(nearest) > np.abs(values))
    odd = towards_zero | (nearest != values)
    rounded = (odd + 0x7FFF + ((odd >> 16) & 1)) >> 16
    quiet_nan = (bits >> 16) | 0x40
    return np.where(np.isnan(values), quiet_nan, rounded).astype(np.uint16)
