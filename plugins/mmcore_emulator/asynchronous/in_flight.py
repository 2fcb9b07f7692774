"""What is on its way to mbarrier objects: it arrives when somebody asks whether a phase is over, as late as it may."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mmcore_emulator.floats import Values
from mmcore_emulator.lanes import Mask
from mmcore_emulator.step import Ports


@dataclass(frozen=True, eq=False)
class _Under:
    """Something on its way."""

    keys: NDArray[np.uint64]  # the objects that it goes to, by block and address
    land: Callable[[], None]


class InFlight:
    """What is on its way in a batch of blocks."""

    def __init__(self, ports: Ports) -> None:
        self._ports = ports
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
        numbers = (self._ports.block_index if block is None else block).astype(np.uint64)
        keys = (numbers << np.uint64(32)) | (address & np.uint64(0xFFFFFFFF))
        if mask is not None:
            keys = np.broadcast_to(keys, np.broadcast_shapes(keys.shape, mask.lanes.shape))
            keys = keys[np.broadcast_to(mask.lanes, keys.shape)]
        return np.unique(keys)


class BulkGroups:
    """Bulk copies to global memory under way, in groups that each thread commits."""

    def __init__(self, ports: Ports) -> None:
        self._ports = ports
        # Of each lane the copies that are in no group yet, and its groups, the oldest first.
        self._open: dict[tuple[int, ...], list[Callable[[], None]]] = {}
        self._groups: dict[tuple[int, ...], list[list[Callable[[], None]]]] = {}

    def send(self, lane: tuple[int, ...], land: Callable[[], None]) -> None:
        """A lane's copy is under way."""
        self._open.setdefault(lane, []).append(land)

    def commit(self, mask: Mask | None) -> None:
        """What these lanes have sent is a group."""
        for lane in self._of(mask, {**self._open, **self._groups}):
            self._groups.setdefault(lane, []).append(self._open.pop(lane, []))

    def land(self, most: int, mask: Mask | None) -> None:
        """All but so many of the latest groups of these lanes land."""
        for lane in self._of(mask, self._groups):
            groups = self._groups[lane]
            going = groups[: max(0, len(groups) - most)]
            self._groups[lane] = groups[len(going) :]
            for each in [land for group in going for land in group]:
                each()

    def land_all(self) -> None:
        """Everything lands, as the kernel ends."""
        self.commit(None)
        self.land(0, None)

    def _of(self, mask: Mask | None, lanes: Iterable[tuple[int, ...]]) -> list[tuple[int, ...]]:
        spread = self._ports.spread(mask)
        return [lane for lane in lanes if spread[lane]]
