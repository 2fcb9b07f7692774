"""Matrix elements as they are stored, and as float64 values."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mmcore.errors import InvalidProblem
from mmcore.kernel.problem import dtype_named


def stored(array: NDArray[Any], dtype: str) -> NDArray[Any]:
    """``array`` as a view of ``dtype`` elements in numpy's storage: uint16 for bfloat16, which ml_dtypes' is viewed as.

    Raises:
        InvalidProblem: the array holds elements of another type.
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
        InvalidProblem: the array holds elements of another type.
    """
    elements = stored(array, dtype)
    if dtype_named(dtype).name == "bfloat16":
        elements = np.left_shift(elements, 16, dtype=np.uint32).view(np.float32)
    with np.errstate(invalid="ignore"):  # a signalling NaN becomes a quiet one, silently
        return elements.astype(np.float64)
