"""PTX's types as numpy's, and what it takes to say what an instruction computes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from mmcore_emulator.floats import Values

INTEGERS = tuple(f"{kind}{bits}" for kind in "us" for bits in (16, 32, 64))
BITS = ("b16", "b32", "b64")
FLOATS = ("f32", "f64")

NUMPY = {
    "pred": np.dtype(np.bool_),
    "f16": np.dtype(np.float16),
    "bf16": np.dtype(np.uint16),
    "f32": np.dtype(np.float32),
    "f64": np.dtype(np.float64),
    **{f"{kind}{bits}": np.dtype(f"uint{bits}") for kind in "ub" for bits in (8, 16, 32, 64)},
    **{f"s{bits}": np.dtype(f"int{bits}") for bits in (8, 16, 32, 64)},
}


Function: TypeAlias = Callable[..., Values]


@dataclass(frozen=True)
class Operation:
    """What an opcode computes.

    Attributes:
        compute: from source arrays to the result array.
        sources: PTX type that each source operand is read as.
        result: PTX type of the result.
    """

    compute: Function
    sources: tuple[str, ...]
    result: str


Entry: TypeAlias = tuple[str, Function, tuple[str, ...], str]
"""An opcode, and the fields of its :class:`Operation`."""
