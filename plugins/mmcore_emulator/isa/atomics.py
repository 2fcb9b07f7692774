"""Atomic operations: what each makes of the value in memory."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mmcore_emulator.isa.arithmetic.float_operations import float_operation
from mmcore_emulator.machine.memory.operations import Combine
from mmcore_emulator.numerics.floats import Values
from mmcore_emulator.numerics.types import NUMPY
from mmcore_emulator.numerics.uint128 import swapped


@dataclass(frozen=True)
class Atomic:
    """An atomic operation.

    Attributes:
        combine: what it makes of the value in memory.
        kind: PTX type of that value and the operands.
        accumulates: whether :data:`numpy.add` does the same.
        vectors: whether it is known of vectors.
    """

    combine: Combine
    kind: str
    accumulates: bool = False
    vectors: bool = False


def _increased(old: Values, limit: Values) -> Values:
    return np.asarray(np.where(old >= limit, 0, old + 1).astype(old.dtype))


def _decreased(old: Values, limit: Values) -> Values:
    return np.asarray(np.where((old == 0) | (old > limit), limit, old - 1).astype(old.dtype))


def _exchanged(old: Values, new: Values) -> Values:
    return new


def _swapped(old: Values, expected: Values, new: Values) -> Values:
    return np.asarray(np.where(old == expected, new, old))


_WHOLE = ("u32", "s32", "u64", "s64")
_HALVES = ("f16", "bf16", "f16x2", "bf16x2")
_OPERATIONS: dict[str, tuple[Combine, tuple[str, ...]]] = {
    "add": (np.add, (*_WHOLE, "f32", "f64")),
    "min": (np.minimum, _WHOLE),
    "max": (np.maximum, _WHOLE),
    "inc": (_increased, ("u32",)),
    "dec": (_decreased, ("u32",)),
    "and": (np.bitwise_and, ("b32", "b64")),
    "or": (np.bitwise_or, ("b32", "b64")),
    "xor": (np.bitwise_xor, ("b32", "b64")),
    "exch": (_exchanged, ("b32", "b64", "b128")),
    "cas": (_swapped, ("b16", "b32", "b64")),
}


def atomic_operation(parts: frozenset[str]) -> Atomic | None:
    """The operation of "add", "noftz" and "f16", of ``atom.add.noftz.f16``; None for one that is not known."""
    names, kinds = [part for part in parts if part in _OPERATIONS], [part for part in parts if part in _KINDS]
    if len(names) != 1 or len(kinds) != 1 or len(parts) != 2 + ("noftz" in parts):
        return None
    (name,), (kind,) = names, kinds
    if kind in _HALVES and name in ("add", "min", "max") and "noftz" in parts:
        found = float_operation(name, (kind,))
        assert found is not None
        return Atomic(found.compute, found.result, vectors=True)
    if (name, kind) == ("cas", "b128"):
        return Atomic(swapped, kind)
    combine, known = _OPERATIONS[name]
    if kind not in known or "noftz" in parts:
        return None
    return Atomic(combine, kind, accumulates=name == "add", vectors=(name, kind) == ("add", "f32"))


_KINDS = {*_HALVES, *NUMPY}
