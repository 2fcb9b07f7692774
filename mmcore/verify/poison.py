"""The poison: what memory holds that nobody has written, a NaN in every element type."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mmcore.kernel.problem import dtype_named

POISON_HALFWORD = 0xFFFD
"""Repeated, these 16 bits are a quiet NaN in float16, bfloat16, float32 and float64, and none that arithmetic makes."""


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
