"""The numpy types of PTX's types."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

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
