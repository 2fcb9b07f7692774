"""Atomic operations and reductions in memory.

Reference: PTX ISA, "Parallel Synchronization and Communication Instructions: atom, red".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from mmcore_emulator.isa.arithmetic.float_operations import float_operation
from mmcore_emulator.isa.entries import (
    CACHE_HINT,
    CLUSTER_SPACE,
    IGNORED,
    Effect,
    Entry,
    Execute,
    Family,
    MemoryAccess,
    Opcode,
    OperandSpec,
)
from mmcore_emulator.isa.memory import CACHE_HINTS, LARGEST_ACCESS, POLICY, SPACES, VECTORS
from mmcore_emulator.machine.machine import Execution
from mmcore_emulator.machine.memory.operations import Combine
from mmcore_emulator.numerics.types import NUMPY, Values, swapped


@dataclass(frozen=True)
class Atomic:
    """An atomic operation."""

    combine: Combine  # maps the element in memory and the operands to the new element
    kind: str  # PTX type of the element and the operands
    accumulates: bool = False  # true if it equals :data:`numpy.add`
    vectors: bool = False  # true if it exists for vectors


def _increased(old: Values, limit: Values) -> Values:
    return np.asarray(np.where(old >= limit, 0, old + 1).astype(old.dtype))


def _decreased(old: Values, limit: Values) -> Values:
    return np.asarray(np.where((old == 0) | (old > limit), limit, old - 1).astype(old.dtype))


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
    "exch": (lambda old, new: new, ("b32", "b64", "b128")),
    "cas": (lambda old, expected, new: np.asarray(np.where(old == expected, new, old)), ("b16", "b32", "b64")),
}


def atomic_operation(parts: frozenset[str]) -> Atomic | None:
    """Return the operation of "add", "noftz" and "f16", for ``atom.add.noftz.f16``; None for an unknown one."""
    names, kinds = [part for part in parts if part in _OPERATIONS], [part for part in parts if part in _KINDS]
    if len(names) != 1 or len(kinds) != 1 or len(parts) != 2 + ("noftz" in parts):
        return None
    (name,), (kind,) = names, kinds
    if kind in _HALVES and name in ("add", "min", "max") and "noftz" in parts:
        of_halves = float_operation(name, (kind,))
        assert of_halves is not None
        return Atomic(of_halves.compute, of_halves.result, vectors=True)
    if (name, kind) == ("cas", "b128"):
        return Atomic(swapped, kind)
    combine, known = _OPERATIONS[name]
    if kind not in known or "noftz" in parts:
        return None
    return Atomic(combine, kind, accumulates=name == "add", vectors=(name, kind) == ("add", "f32"))


_KINDS = {*_HALVES, *NUMPY}
_SUMMED = ("f32", "f64", "s32", "u32", *_HALVES)  # types whose sums are polynomials


def _instruction(opcode: Opcode) -> Execute | None:
    """Return the semantics of ``red.op.type [a], b`` or ``atom.op.type d, [a], b{, c}``."""
    parts = [part for part in opcode[1:] if part not in CACHE_HINTS]
    space = SPACES[parts.pop(0)] if parts and parts[0] in SPACES else "generic"
    policy = (IGNORED,) * (POLICY in parts)
    parts = [part for part in parts if part != POLICY]
    count = next((VECTORS[part] for part in parts if part in VECTORS), 1)
    operation = atomic_operation(frozenset(parts) - VECTORS.keys())
    if operation is None:
        return None
    if count > 1 and (not operation.vectors or count * NUMPY[operation.kind].itemsize > LARGEST_ACCESS):
        return None
    sources = (OperandSpec("source", operation.kind, count),) * (2 if "cas" in parts else 1)
    result = (OperandSpec("result", operation.kind, count),) * (opcode[0] == "atom")
    combine = partial(_combine, operation, space, count)
    accumulate = partial(_accumulate, operation, space, count) if operation.accumulates else combine
    operands = (*result, OperandSpec("address"), *sources, *policy)
    kind = next((part for part in parts if part in _SUMMED), "")
    numbers = kind and "add" in parts
    access = MemoryAccess("add" if numbers else "change", space, NUMPY[operation.kind], kind if numbers else "")
    meaning = Execute(combine if result else accumulate, operands, unread=accumulate)
    return replace(meaning, adds=access) if numbers else replace(meaning, changes=access)


def _places(atomic: Atomic, space: str, count: int, execution: Execution, address: list[Values]) -> list[Values]:
    """Return the addresses of the elements of a vector, after a check of its alignment."""
    machine, mask, at = execution
    size = NUMPY[atomic.kind].itemsize
    if count > 1:
        machine.memory.check_alignment(space, address[0], count * size, mask, at)
    return [address[0] + np.uint64(number * size) if number else address[0] for number in range(count)]


def _combine(
    atomic: Atomic, space: str, count: int, execution: Execution, address: list[Values], *sources: list[Values]
) -> Sequence[Values]:
    """Return the previous elements, one for each register of a vector."""
    machine, mask, at = execution
    dtype, combine = NUMPY[atomic.kind], atomic.combine
    return [
        machine.memory.atomic(space, place, values, dtype, combine, mask, at)
        for place, *values in zip(_places(atomic, space, count, execution, address), *sources, strict=True)
    ]


def _accumulate(
    atomic: Atomic, space: str, count: int, execution: Execution, address: list[Values], values: list[Values]
) -> None:
    """Add without returning the previous elements."""
    machine, mask, at = execution
    for place, value in zip(_places(atomic, space, count, execution, address), values, strict=True):
        machine.memory.accumulate(space, place, value, NUMPY[atomic.kind], mask, at)


FAMILY = Family(
    "Atomic operations",
    (
        Entry("atom", _instruction, r".*\.add\..*", Effect("atomic", "adds to", writes=True, polls="if read")),
        Entry("atom", _instruction, effect=Effect("atomic", "changes", writes=True, polls="if read")),
        Entry("red", _instruction, r"red\.(?!async)(.*\.)?add\..*", Effect("atomic", "adds to", True, step="reduce")),
        Entry("red", _instruction, r"red\.(?!async).*", Effect("atomic", "changes", True, step="reduce")),
    ),
    since=(((9, 0), r"(atom|red)\..*(bf16(x2)?|\.v[248].*|b128|(min|max)\.noftz.*)"), CLUSTER_SPACE, CACHE_HINT),
    proof="adds: `add` of 32 bits and `f64` without a result; others opaque",
)
