"""What one instruction accesses in one array, and how that is told."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mmcore_emulator.isa.table import effect
from mmcore_emulator.machine.accesses import Access, LaneViolation
from mmcore_emulator.machine.memory.arrays import Array
from mmcore_emulator.numerics.floats import Values
from mmcore_emulator.ptx.instructions import Instruction
from mmcore_emulator.ptx.types import TYPE_BYTES
from mmcore_emulator.sanitizer.shadow import Accesses, Flags, Indices, Shadow


@dataclass(frozen=True)
class Hit:
    """What one instruction accesses in one array, piece by piece."""

    access: Access  # the access
    array: Array  # the array
    name: str  # what the source calls it
    shadow: Shadow  # its shadow
    address: Values  # of all lanes
    index: Indices  # each piece
    lane: Indices  # whose access it belongs to, as a number among all lanes
    who: Accesses  # that thread

    def what(self, entry: int) -> str:
        """What the thread of one entry does, and to which elements."""
        does = "reads" if self.access.kind in ("load", "fetch") else verb(self.access.at)
        offset = int(self.address.reshape(-1)[self.lane[entry]]) - self.array.base
        size = TYPE_BYTES.get(effect(self.access.at).type)
        if size is None:
            return f"{does} {self.access.nbytes} bytes of {self.name} (from byte {offset})"
        first, last = offset // size, (offset + self.access.nbytes) // size - 1
        elements = f"element {first}" if first == last else f"elements {first} to {last}"
        return f"{does} {elements} of {self.name}"

    def violation(
        self, kind: str, found: Flags, text: Callable[[int], str], other: Instruction | None = None
    ) -> LaneViolation:
        """What is wrong with the pieces ``found``; ``text`` tells of one of them, by its number among all."""
        lanes = np.zeros(self.address.size, np.bool_)
        lanes[self.lane[found]] = True

        def of_lane(lane: tuple[int, ...]) -> str:
            flat = np.ravel_multi_index(lane, self.address.shape)
            return text(int(np.flatnonzero(found & (self.lane == flat))[0]))

        return LaneViolation(kind, self.array.label, self.access.at, lanes.reshape(self.address.shape), of_lane, other)


def verb(at: Instruction) -> str:
    """Return what an instruction does to memory."""
    return effect(at).verb or "writes"


def at_line(at: Instruction) -> str:
    """Where an instruction stands, as a sentence goes on; nothing where it has no line."""
    return f" at {at.source}:{at.line}" if at.line else ""
