"""Accesses of one instruction to one array."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from mmcore_emulator.isa.table import effect
from mmcore_emulator.machine.memory.arrays import Array
from mmcore_emulator.machine.observer import Access, LaneViolation
from mmcore_emulator.numerics.types import Flags, Integers, Values
from mmcore_emulator.ptx.instructions import Function, Instruction
from mmcore_emulator.ptx.types import TYPE_BYTES, Constant
from mmcore_emulator.sanitizer.accesses import Accesses
from mmcore_emulator.sanitizer.shadow import Shadow

Text: TypeAlias = str | Callable[[int], str]
"""A text on an entry, perhaps made from its number."""
_ACCESSES = ("load", "store", "atomic", "remote store", "fragment move", "bulk copy", "mbarrier")


@dataclass(frozen=True)
class ArrayAccess:
    """An instruction's accesses to one array, one entry for each piece of each lane."""

    access: Access  # the instruction's access, perhaps to several arrays
    array: Array  # the array
    name: str  # the array as the source calls it
    shadow: Shadow  # the array's shadow
    address: Values  # address of each lane of the batch
    index: Integers  # number of each entry's piece
    threads: Accesses  # lane of each entry

    @property
    def at(self) -> Instruction:
        """The instruction."""
        return self.access.at

    def violation(
        self, kind: str, wrong: Flags, text: Text, other: Instruction | None = None, hint: Text = ""
    ) -> LaneViolation:
        """Return the violation of wrong entries; ``text`` follows the description of the first."""
        lanes = np.zeros(self.address.size, np.bool_)
        lanes[self.threads.lane[wrong]] = True

        def entry_of(index: tuple[int, ...]) -> int:
            lane = np.ravel_multi_index(index, self.address.shape)
            return int(np.flatnonzero(wrong & (self.threads.lane == lane))[0])

        def of_lane(index: tuple[int, ...]) -> str:
            entry = entry_of(index)
            return self._describe(entry) + (text if isinstance(text, str) else text(entry))

        def hint_of_lane(index: tuple[int, ...]) -> str:
            return hint if isinstance(hint, str) else hint(entry_of(index))

        marked = lanes.reshape(self.address.shape)
        return LaneViolation(kind, self.array.label, self.at, marked, of_lane, other, hint_of_lane)

    def stored(self) -> NDArray[np.uint8]:
        """Return the bytes that a store writes, and the present ones, [2, entries, bytes]; none if unknown."""
        piece = self.shadow.piece
        if not self.access.values:
            return np.zeros((0, len(self.index), piece), np.uint8)
        elements = [np.broadcast_to(value, self.address.shape).reshape(-1) for value in self.access.values]
        content = np.ascontiguousarray(np.stack(elements, axis=1)).view(np.uint8).reshape(self.address.size, -1, piece)
        lanes = np.unique(self.threads.lane)
        there = self.array.content[: len(self.array.content) // piece * piece].reshape(-1, piece)[self.index]
        return np.stack([content[lanes].reshape(-1, piece), there])

    def _describe(self, entry: int) -> str:
        """Return a clause on the access of an entry's thread and the accessed elements."""
        does = "reads" if self.access.kind in ("load", "fetch") else verb(self.at)
        offset = int(self.address.reshape(-1)[self.threads.lane[entry]]) - self.array.base
        size = TYPE_BYTES.get(effect(self.at).type)
        if size is None:
            return f"{does} {self.access.nbytes} bytes of {self.name} (from byte {offset})"
        first, last = offset // size, (offset + self.access.nbytes) // size - 1
        elements = f"element {first}" if first == last else f"elements {first} to {last}"
        return f"{does} {elements} of {self.name}"


def verb(at: Instruction) -> str:
    """Return the verb for an instruction's effect on memory."""
    return effect(at).verb or "writes"


def least_access_bytes(function: Function) -> int:
    """Return the bytes of the smallest element that a function loads, stores or adds to; 1 if it has no access."""
    return min((size for instruction in function.body for size in _sizes(instruction)), default=1)


def _sizes(instruction: Instruction) -> Iterator[int]:
    does = effect(instruction)
    if does.kind in _ACCESSES and does.type in TYPE_BYTES:
        yield TYPE_BYTES[does.type]
    elif does.kind == "copy" and len(instruction.operands) > 2:  # cp.async [to], [from], bytes
        size = instruction.operands[2]
        yield size.bits if isinstance(size, Constant) and size.bits else 1
