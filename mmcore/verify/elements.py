"""Matrix elements as they are stored, as float64 values, and as they are before anybody has written them: poison."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mmcore.errors import InvalidProblem
from mmcore.kernel.problem import dtype_named

POISON_HALFWORD = 0xFFFD
"""Repeated, these 16 bits are a quiet NaN in float16, bfloat16, float32 and float64, and none that arithmetic makes."""


def stored(array: NDArray[Any], dtype: str) -> NDArray[Any]:
    """``array`` in numpy's storage of ``dtype`` (ml_dtypes' bfloat16 as uint16); InvalidProblem for another type."""
    named = dtype_named(dtype)
    if array.dtype == np.dtype(named.storage):
        return array
    if array.dtype.name == named.name == "bfloat16":
        return array.view(np.uint16)
    raise InvalidProblem(f"a {named.name} matrix is stored as {named.storage}, but the array holds {array.dtype}")


def widen(array: NDArray[Any], dtype: str) -> NDArray[np.float64]:
    """The values of an array of ``dtype`` elements, exactly, as a new float64 array of the same shape."""
    elements = stored(array, dtype)
    if dtype_named(dtype).name == "bfloat16":
        elements = np.left_shift(elements, 16, dtype=np.uint32).view(np.float32)
    with np.errstate(invalid="ignore"):  # a signalling NaN becomes a quiet one, silently
        return elements.astype(np.float64)


def poison(shape: tuple[int, ...], dtype: str) -> NDArray[Any]:
    """A contiguous array of that shape, in the storage of ``dtype``, in which every element is the poison."""
    elements = np.empty(shape, dtype_named(dtype).storage)
    elements.reshape(-1).view(np.uint16)[:] = POISON_HALFWORD
    return elements


def is_poison(array: NDArray[Any]) -> NDArray[np.bool_]:
    """Which elements are the poison bit for bit; any strides, elements of 2, 4 or 8 bytes."""
    size = array.dtype.itemsize
    pattern = int.from_bytes(POISON_HALFWORD.to_bytes(2, "little") * (size // 2), "little")
    return np.asarray(array.view(f"u{size}") == pattern)
