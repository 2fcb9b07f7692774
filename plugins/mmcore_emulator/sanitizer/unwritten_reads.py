"""Reads of unwritten shared memory, which are hazards where the output or control flow depends on them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np

from mmcore_emulator.isa.entries import Execute
from mmcore_emulator.isa.table import decode, effect
from mmcore_emulator.machine.memory.arrays import UNWRITTEN_HALFWORD
from mmcore_emulator.machine.observer import LaneViolation
from mmcore_emulator.numerics.types import Flags, Values
from mmcore_emulator.ptx.instructions import Instruction
from mmcore_emulator.sanitizer.array_access import ArrayAccess

KIND = "uninitialized-read"
"""The kind of the violations."""

_OPERANDS = ("source", "both", "address", "tensor")


def are_followed(instructions: Iterable[Instruction]) -> bool:
    """Return whether a function has only instructions whose results keep the undefined bits of their operands."""
    return all(map(_is_followed, instructions))


def _is_followed(instruction: Instruction) -> bool:
    semantics = decode(instruction)
    if not isinstance(semantics, Execute) or semantics.shuffle is not None:
        return True
    if semantics.memory is not None:
        return semantics.memory.kind in ("load", "store")
    reads = any(each.role in _OPERANDS for each in semantics.operands)
    return not reads or effect(instruction).kind in ("copy", "control")


class UnwrittenReads:
    """The reads of unwritten shared memory in a batch of blocks, until something depends on them.

    ``followed`` is true if undefined values are followed through all instructions of the function.
    """

    def __init__(self, *, followed: bool) -> None:
        self._followed = followed
        self._waiting: dict[int, list[LaneViolation]] = {}  # by the identity of the instruction that read
        self._latest: tuple[Instruction | None, Values] = None, np.zeros(0, np.bool_)

    def waits(self, accesses: ArrayAccess, wrong: Flags) -> bool:
        """Return whether unwritten entries that are read are reported only if something depends on their values."""
        semantics = decode(accesses.at)
        memory = semantics.memory if isinstance(semantics, Execute) else None
        if not self._followed or memory is None or accesses.access.space != "shared" or accesses.access.kind != "load":
            return False
        size, piece, content = memory.dtype.itemsize, accesses.shadow.piece, accesses.array.content
        elements = wrong.reshape(-1, size // piece)
        if size == 1 or (elements.any(axis=1) != elements.all(axis=1)).any():
            return False  # an element of one byte, or a part of one, has no mark of unwritten memory
        there = content[: len(content) // piece * piece].reshape(-1, piece)[accesses.index[wrong]]
        return bool((there.reshape(-1).view(np.uint16) == UNWRITTEN_HALFWORD).all())

    def wait(self, read: LaneViolation) -> None:
        """Note a read that is no hazard yet."""
        at, lanes = self._latest
        self._latest = read.at, read.lanes | lanes if at is read.at else read.lanes
        earlier = self._waiting.setdefault(id(read.at), [])
        if not any((read.lanes <= each.lanes).all() for each in earlier):
            earlier.append(read)

    def lanes(self, at: Instruction) -> Values | None:
        """Return the lanes whose reads by an instruction have been noted since the last call; None for none."""
        latest, lanes = self._latest
        self._latest = None, lanes
        return lanes if latest is at else None

    def explained(self, violation: LaneViolation) -> Iterator[LaneViolation]:
        """Yield the reads that a violation follows from, and the violation itself for lanes without one."""
        lanes = violation.lanes
        for read in self._waiting.get(id(violation.at), ()) if violation.kind == KIND else ():
            if (here := read.lanes & lanes).any():
                yield replace(read, lanes=here)
            lanes = lanes & ~read.lanes
        if lanes.any() or lanes is violation.lanes:
            yield replace(violation, lanes=lanes)
