"""Asynchronous operations on their way: each arrives as late as possible, when a thread waits for it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from mmcore_emulator.machine.lanes import Batch, Mask
from mmcore_emulator.machine.memory.address_spaces import AddressSpaces
from mmcore_emulator.numerics.types import Values
from mmcore_emulator.ptx.instructions import Instruction

Read: TypeAlias = Callable[[], Callable[[], None]]
"""A function that reads the copied data and returns a function that writes it."""
_WORD = np.dtype(np.uint32)


@dataclass(frozen=True, eq=False)
class _Operation:
    """An operation on its way."""

    keys: NDArray[np.uint64]  # the objects that it arrives at, by block and address
    land: Callable[[], None]


class InFlight:
    """The operations on their way in a batch of blocks."""

    def __init__(self, batch: Batch) -> None:
        self._batch = batch
        self._under_way: list[_Operation] = []

    def send(self, address: Values, mask: Mask | None, land: Callable[[], None], block: Values | None = None) -> None:
        """Add an operation of lanes to the mbarrier objects at their addresses in shared memory.

        ``land`` performs the arrival. ``block`` is the number in the batch of the object's block, by default the lanes'
        own.
        """
        self._under_way.append(_Operation(self._keys(address, mask, block), land))

    def land_at(self, address: Values, asking: Callable[[], Mask | None]) -> None:
        """Complete operations at the objects of lanes that are ``asking``, until no lane is."""
        keys = None
        for operation in list(self._under_way):
            if keys is None:
                keys = self._keys(address, asking(), None)
            if np.isin(operation.keys, keys).any():
                self._under_way.remove(operation)
                operation.land()
                keys = None

    def _keys(self, address: Values, mask: Mask | None, block: Values | None) -> NDArray[np.uint64]:
        """Return block and address of the objects of these lanes, as numbers."""
        numbers = (self._batch.block_index() if block is None else block).astype(np.uint64)
        keys = (numbers << np.uint64(32)) | (address & np.uint64(0xFFFFFFFF))
        if mask is not None:
            keys = np.broadcast_to(keys, np.broadcast_shapes(keys.shape, mask.lanes.shape))
            keys = keys[np.broadcast_to(mask.lanes, keys.shape)]
        return np.unique(keys)


class _Store:
    """A bulk copy to global memory, which reads its data when it arrives, or earlier."""

    def __init__(self, read: Read) -> None:
        self._read = read
        self._write: Callable[[], None] | None = None

    def read(self) -> Callable[[], None]:
        """Read the data, once; return a function that writes it."""
        if self._write is None:
            self._write = self._read()
        return self._write

    def land(self) -> None:
        """Write the data."""
        self.read()()


class BulkGroups:
    """Bulk copies to global memory under way, in groups that each thread commits."""

    def __init__(self, batch: Batch) -> None:
        self._batch = batch
        # For each lane, the copies outside any group, and the groups, oldest first.
        self._open: dict[tuple[int, ...], list[_Store]] = {}
        self._groups: dict[tuple[int, ...], list[list[_Store]]] = {}

    def send(self, lane: tuple[int, ...], read: Read) -> None:
        """Add a copy of a lane."""
        self._open.setdefault(lane, []).append(_Store(read))

    def commit(self, mask: Mask | None) -> None:
        """Commit the copies of these lanes as a group."""
        for lane in self._of(mask, {**self._open, **self._groups}):
            self._groups.setdefault(lane, []).append(self._open.pop(lane, []))

    def read(self, most: int, mask: Mask | None) -> None:
        """Read the data of all but the ``most`` latest groups of these lanes; they may arrive later."""
        for lane in self._of(mask, self._groups):
            for copy in self._but(most, lane):
                copy.read()

    def land(self, most: int, mask: Mask | None) -> None:
        """Complete all but the ``most`` latest groups of these lanes."""
        for lane in self._of(mask, self._groups):
            going = self._but(most, lane)
            groups = self._groups[lane]
            self._groups[lane] = groups[max(0, len(groups) - most) :]
            for copy in going:
                copy.land()

    def land_all(self) -> None:
        """Complete everything at the end of the kernel."""
        self.commit(None)
        self.land(0, None)

    def _but(self, most: int, lane: tuple[int, ...]) -> list[_Store]:
        groups = self._groups[lane]
        return [copy for group in groups[: max(0, len(groups) - most)] for copy in group]

    def _of(self, mask: Mask | None, lanes: Iterable[tuple[int, ...]]) -> list[tuple[int, ...]]:
        spread = self._batch.spread(mask)
        return [lane for lane in lanes if spread[lane]]


@dataclass(frozen=True)
class _Copy:
    """The copies of one instruction, under way."""

    group: Values  # number of the group of each lane's copy
    address: Values
    words: list[Values]
    mask: Mask | None
    at: Instruction
    memory: AddressSpaces


class ThreadCopies:
    """The copies under way of a batch of blocks."""

    def __init__(self, batch: Batch, memory: AddressSpaces) -> None:
        self._batch = batch
        self._memory = memory
        self._copies: list[_Copy] = []
        #: Groups that each lane has committed.
        self.committed: Values = np.zeros((1,) * 6, np.int64)

    def send(
        self,
        address: Values,
        words: list[Values],
        mask: Mask | None,
        at: Instruction,
        memory: AddressSpaces | None = None,
    ) -> None:
        """Add copies under way, to the batch's own memory by default."""
        self._copies.append(_Copy(self.committed, address, words, mask, at, memory or self._memory))

    def commit(self, mask: Mask | None) -> None:
        """Commit the copies of these lanes as a group."""
        more = self.committed + 1
        self.committed = more if mask is None else mask.merge(more, self.committed)

    def land(self, before: Values, mask: Mask | None) -> None:
        """Complete the copies of these lanes in groups below ``before``."""
        left = []
        for copy in self._copies:
            going = np.asarray(copy.group < before)
            if not going.any():
                left.append(copy)
                continue
            lanes = _both(self._batch, copy.mask, mask, going)
            if lanes is None or lanes.count:
                copy.memory.store("shared", copy.address, copy.words, _WORD, lanes, copy.at)
            if lanes is not None:
                rest = self._batch.spread(copy.mask) & ~self._batch.spread(lanes)
                if rest.any():
                    left.append(replace(copy, mask=self._batch.narrow(None, rest)))
        self._copies = left


def _both(batch: Batch, one: Mask | None, other: Mask | None, going: Values) -> Mask | None:
    """Return the common lanes of two masks that are ``going``."""
    mask = one if other is None else other if one is None else batch.narrow(one, other.lanes)
    return mask if going.all() else batch.narrow(mask, going)
