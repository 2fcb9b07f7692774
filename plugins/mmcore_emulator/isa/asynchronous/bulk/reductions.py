"""Reductions by bulk copies: what they make of the elements that they meet.

Reference: PTX ISA, "cp.reduce.async.bulk" and "cp.reduce.async.bulk.tensor".
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeAlias

import numpy as np

from mmcore_emulator.isa.atomics import atomic_operation
from mmcore_emulator.machine.memory.operations import Combine
from mmcore_emulator.numerics.floats import Values, flushed
from mmcore_emulator.numerics.types import NUMPY

Merge: TypeAlias = Callable[[Values, Values], Values]
"""From what is there and what comes, in elements of any size, to what is there then."""

_OF_GLOBAL = {
    "add": ("u32", "s32", "u64", "f16", "bf16", "f32", "f64"),
    **dict.fromkeys(("min", "max"), ("u32", "s32", "u64", "s64", "f16", "bf16")),
    **dict.fromkeys(("inc", "dec"), ("u32",)),
    **dict.fromkeys(("and", "or", "xor"), ("b32", "b64")),
}
_OF_SHARED = {
    "add": ("u32", "s32", "u64"),
    **dict.fromkeys(("min", "max"), ("u32", "s32")),
    **dict.fromkeys(("inc", "dec"), ("u32",)),
    **dict.fromkeys(("and", "or", "xor"), ("b32",)),
}
_OF_TENSORS = {
    "uint32": "u32",
    "int32": "s32",
    "uint64": "u64",
    "int64": "s64",
    "float16": "f16",
    "bfloat16": "bf16",
    "float32": "f32",
    "float64": "f64",
}


def merge_of(reduction: str, kind: str, target: str = "global") -> Merge | None:
    """What a reduction of elements of a PTX type does to "global" or other memory; None where there is none such."""
    if kind not in (_OF_GLOBAL if target == "global" else _OF_SHARED)[reduction]:
        return None
    found = atomic_operation(frozenset((reduction, kind, *(("noftz",) if kind in ("f16", "bf16") else ()))))
    assert found is not None
    return partial(_merged, found.combine, found.kind)


def merge_of_tensor(reduction: str, kind: str) -> Merge | None:
    """The same of a tensor's elements, whose type is named as in its map."""
    element = _OF_TENSORS.get(kind, "")
    bits = f"b{element[1:]}" if element and element[0] in "us" else element
    return merge_of(reduction, bits if reduction in ("and", "or", "xor") else element)


def _merged(combine: Combine, kind: str, there: Values, coming: Values) -> Values:
    """Both as elements of the type; float32 flushes subnormal numbers, as atomic additions do."""
    one, other = (np.ascontiguousarray(each).view(NUMPY[kind]) for each in (there, coming))
    if kind == "f32":
        one, other = flushed(one), flushed(other)
    result = np.asarray(combine(one, other))
    return np.ascontiguousarray(flushed(result) if kind == "f32" else result).view(there.dtype)
