"""Numbers rounded into the storage of an element type."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mmcore.kernel.problem import dtype_named


def narrow(values: ArrayLike, dtype: str) -> NDArray[Any]:
    """``values`` rounded once, to nearest and ties to even, into the storage of ``dtype``; NaN stays NaN."""
    named = dtype_named(dtype)
    wide = np.asarray(values, dtype=np.float64)
    with np.errstate(over="ignore"):
        return _to_bfloat16(wide) if named.name == "bfloat16" else wide.astype(named.storage)


def _to_bfloat16(values: NDArray[np.float64]) -> NDArray[np.uint16]:
    """Round by way of a float32 that was rounded to odd, which a second rounding cannot mistake for a tie."""
    nearest = values.astype(np.float32)
    bits = nearest.view(np.uint32)
    towards_zero = bits - (np.abs(nearest) > np.abs(values))
    odd = towards_zero | (nearest != values)
    rounded = (odd + 0x7FFF + ((odd >> 16) & 1)) >> 16
    quiet_nan = (bits >> 16) | 0x40
    return np.where(np.isnan(values), quiet_nan, rounded).astype(np.uint16)
