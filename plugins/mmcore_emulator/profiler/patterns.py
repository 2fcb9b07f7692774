"""The patterns of a launch's masks and addresses: the same few come again and again, moved along.

So what each costs is worked out once.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from mmcore_emulator.isa.table import effect
from mmcore_emulator.machine.accesses import Access
from mmcore_emulator.machine.lanes import Batch, Mask
from mmcore_emulator.profiler.coalescing import Active, Rows, by_warp, requests

# What an access costs stays the same when all its addresses move by this many bytes: whole segments of global memory,
# and whole words of shared memory, whose banks only trade places.
PERIODS = {"global": 128, "shared": 4}
_LARGEST = np.uint64(2**64 - 1)
_Cost = TypeVar("_Cost")


class Extent(NamedTuple):
    """How many of a batch's threads, and warps and blocks with such threads in them, take part in something."""

    threads: int
    warps: int
    blocks: int


class Patterns(Generic[_Cost]):
    """What the accesses of a launch cost.

    Args:
        cost: of an access to the addresses of some warps, as :func:`~mmcore_emulator.profiler.coalescing.by_warp` makes
            them.
    """

    def __init__(self, cost: Callable[[Access, Rows, Active, int], _Cost]) -> None:
        self._cost = cost
        self._costs: dict[tuple[object, ...], _Cost] = {}
        self._extents: dict[tuple[object, ...], Extent] = {}
        self._batch: Batch

    def __len__(self) -> int:
        return len(self._costs)

    def of(self, batch: Batch) -> Patterns[_Cost]:
        """The same for the accesses of a batch of blocks; what has been worked out is shared."""
        own = copy(self)
        own._batch = batch
        return own

    def cost(self, access: Access) -> _Cost:
        """What an access to global or shared memory costs."""
        address, lanes, period = access.address, None, PERIODS[access.space]
        first = address.item(0)
        if access.mask is not None:
            # What stands in the other lanes is no address, and must not tell two equal patterns apart.
            taking_part, lanes = access.mask.over(address.shape), access.mask.key
            first = int(address.min(where=taking_part, initial=_LARGEST))
            address = np.where(taking_part, address, np.uint64(first))
        # Addresses below the first wrap around, and keep their distances.
        moved = address - np.uint64(first - first % period)
        what = (access.kind, effect(access.at).kind, access.space, access.nbytes)
        key = (*what, self._batch.shape, lanes, moved.shape, moved.tobytes())
        if key not in self._costs:
            self._costs[key] = self._cost(access, *by_warp(self._batch, moved, access.mask))
        return self._costs[key]

    def extent(self, mask: Mask | None) -> Extent:
        """How many take part in what these lanes (None for all) do."""
        key = (self._batch.shape, None if mask is None else mask.key)
        if key not in self._extents:
            _, active, times = by_warp(self._batch, np.zeros((1,) * 6, np.uint64), mask)
            per_block = active.reshape(self._batch.extent.size // times, -1)
            extent = Extent(int(active.sum()), requests(active), int(per_block.any(axis=1).sum()))
            self._extents[key] = Extent(*(count * times for count in extent))
        return self._extents[key]
