"""The numpy types of PTX's types, and values of 128 bits, which are stored in the bits of complex numbers."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Values: TypeAlias = NDArray[Any]
Flags: TypeAlias = NDArray[np.bool_]
Integers: TypeAlias = NDArray[np.int64]
DType: TypeAlias = np.dtype[np.generic]

NUMPY = {
    "pred": np.dtype(np.bool_),
    "f16": np.dtype(np.float16),
    "bf16": np.dtype(np.uint16),
    "b128": np.dtype(np.complex128),
    "f32": np.dtype(np.float32),
    "f64": np.dtype(np.float64),
    **{f"{kind}{bits}": np.dtype(f"uint{bits}") for kind in "ub" for bits in (8, 16, 32, 64)},
    **{f"s{bits}": np.dtype(f"int{bits}") for bits in (8, 16, 32, 64)},
}
"""The numpy type of each PTX type; bfloat16 as its bits, 128 bits as a pair of float64."""


_WIDE = NUMPY["b128"]


def joined(*parts: Values) -> Values:
    """Return parts side by side, the first in the lowest bits."""
    return np.stack(np.broadcast_arrays(*parts), axis=-1).view(_WIDE)[..., 0]


def parts_of(value: Values, count: int) -> tuple[Values, ...]:
    """Return the unsigned parts that :func:`joined` combined."""
    parts = np.ascontiguousarray(value)[..., np.newaxis].view(f"u{16 // count}")
    return tuple(parts[..., number] for number in range(count))


def swapped(old: Values, expected: Values, new: Values) -> Values:
    """Return ``new`` where ``old`` has the bits of ``expected``, ``old`` elsewhere."""
    same = [one == other for one, other in zip(parts_of(old, 2), parts_of(expected, 2), strict=True)]
    return np.where(same[0] & same[1], new, old)
