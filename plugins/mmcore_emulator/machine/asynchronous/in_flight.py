"""What is on its way to mbarrier objects: it arrives when somebody asks whether a phase is over, as late as it may."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from mmcore_emulator.machine.lanes import Batch, Mask
from mmcore_emulator.numerics.floats import Values

Read: TypeAlias = Callable[[], Callable[[], None]]
"""Reads what is copied; what it returns writes that."""


@dataclass(frozen=True, eq=False)
class _Under:
    """Something on its way."""

    keys: NDArray[np.uint64]  # the objects that it goes to, by block and address
    land: Callable[[], None]


class InFlight:
    """What is on its way in a batch of blocks."""

    def __init__(self, batch: Batch) -> None:
        self._batch = batch
        self._under_way: list[_Under] = []

    def send(self, address: Values, mask: Mask | None, land: Callable[[], None], block: Values | None = None) -> None:
        """Something is on its way to the objects at the lanes' addresses.

        Args:
            address: of an mbarrier object in shared memory, as lanes.
            mask: the lanes that have sent it.
            land: what happens when it arrives.
            block: number of the block in the batch whose memory the object is in; the lanes' own by default.
        """
        self._under_way.append(_Under(self._keys(address, mask, block), land))

    def land_at(self, address: Values, asking: Callable[[], Mask | None]) -> None:
        """What goes to the objects at the addresses of lanes that are ``asking`` arrives, until none of them is."""
        asked = None
        for each in list(self._under_way):
            if asked is None:
                asked = self._keys(address, asking(), None)
            if np.isin(each.keys, asked).any():
                self._under_way.remove(each)
                each.land()
                asked = None

    def _keys(self, address: Values, mask: Mask | None, block: Values | None) -> NDArray[np.uint64]:
        """Block and address of the objects of these lanes, as numbers."""
        numbers = (self._batch.block_index() if block is None else block).astype(np.uint64)
        keys = (numbers << np.uint64(32)) | (address & np.uint64(0xFFFFFFFF))
        if mask is not None:
            keys = np.broadcast_to(keys, np.broadcast_shapes(keys.shape, mask.lanes.shape))
            keys = keys[np.broadcast_to(mask.lanes, keys.shape)]
        return np.unique(keys)


class _Store:
    """A bulk copy to global memory: it reads what it copies at the latest when it lands."""

    def __init__(self, read: Read) -> None:
        self._read = read
        self._write: Callable[[], None] | None = None

    def read(self) -> Callable[[], None]:
        """What it reads is read; what writes that."""
        if self._write is None:
            self._write = self._read()
        return self._write

    def land(self) -> None:
        """What it has read is written."""
        self.read()()


class BulkGroups:
    """Bulk copies to global memory under way, in groups that each thread commits."""

    def __init__(self, batch: Batch) -> None:
        self._batch = batch
        # Of each lane the copies that are in no group yet, and its groups, the oldest first.
        self._open: dict[tuple[int, ...], list[_Store]] = {}
        self._groups: dict[tuple[int, ...], list[list[_Store]]] = {}

    def send(self, lane: tuple[int, ...], read: Read) -> None:
        """A lane's copy is under way."""
        self._open.setdefault(lane, []).append(_Store(read))

    def commit(self, mask: Mask | None) -> None:
        """What these lanes have sent is a group."""
        for lane in self._of(mask, {**self._open, **self._groups}):
            self._groups.setdefault(lane, []).append(self._open.pop(lane, []))

    def read(self, most: int, mask: Mask | None) -> None:
        """All but so many of the latest groups of these lanes read what they copy, and may still land later."""
        for lane in self._of(mask, self._groups):
            for each in self._but(most, lane):
                each.read()

    def land(self, most: int, mask: Mask | None) -> None:
        """All but so many of the latest groups of these lanes land."""
        for lane in self._of(mask, self._groups):
            going = self._but(most, lane)
            groups = self._groups[lane]
            self._groups[lane] = groups[max(0, len(groups) - most) :]
            for each in going:
                each.land()

    def land_all(self) -> None:
        """Everything lands, as the kernel ends."""
        self.commit(None)
        self.land(0, None)

    def _but(self, most: int, lane: tuple[int, ...]) -> list[_Store]:
        groups = self._groups[lane]
        return [each for group in groups[: max(0, len(groups) - most)] for each in group]

    def _of(self, mask: Mask | None, lanes: Iterable[tuple[int, ...]]) -> list[tuple[int, ...]]:
        spread = self._batch.spread(mask)
        return [lane for lane in lanes if spread[lane]]
