"""The costs of a launch's accesses, each pattern of masks and addresses computed once.

The same few patterns recur in a launch, shifted.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from mmcore_emulator.isa.table import effect
from mmcore_emulator.machine.accesses import Access
from mmcore_emulator.machine.lanes import Batch, Mask
from mmcore_emulator.profiler.coalescing import Active, Rows, by_warp, requests

# A shift of all addresses by this many bytes leaves the cost of an access as it is: whole segments of global memory,
# and whole words of shared memory, whose banks are only permuted.
PERIODS = {"global": 128, "shared": 4}
_LARGEST = np.uint64(2**64 - 1)
_Cost = TypeVar("_Cost")


class Extent(NamedTuple):
    """The number of active threads of a batch, and of warps and blocks that contain active threads."""

    threads: int
    warps: int
    blocks: int


class Patterns(Generic[_Cost]):
    """The costs of the accesses of a launch.

    Args:
        cost: returns the cost of an access from :func:`~mmcore_emulator.profiler.coalescing.by_warp`'s results.
    """

    def __init__(self, cost: Callable[[Access, Rows, Active, int], _Cost]) -> None:
        self._cost = cost
        self._costs: dict[tuple[object, ...], _Cost] = {}
        self._extents: dict[tuple[object, ...], Extent] = {}

    def __len__(self) -> int:
        return len(self._costs)

    def cost(self, batch: Batch, access: Access) -> _Cost:
        """Return the cost of a batch's access to global or shared memory."""
        address, lanes, period = access.address, None, PERIODS[access.space]
        first = address.item(0)
        if access.mask is not None:
            # The other lanes hold no addresses, and must not distinguish two equal patterns.
            active, lanes = access.mask.over(address.shape), access.mask.key
            first = int(address.min(where=active, initial=_LARGEST))
            address = np.where(active, address, np.uint64(first))
        # Addresses below the first wrap around, and keep their distances.
        moved = address - np.uint64(first - first % period)
        what = (access.kind, effect(access.at).kind, access.space, access.nbytes)
        key = (*what, batch.shape, lanes, moved.shape, moved.tobytes())
        if key not in self._costs:
            self._costs[key] = self._cost(access, *by_warp(batch, moved, access.mask))
        return self._costs[key]

    def extent(self, batch: Batch, mask: Mask | None) -> Extent:
        """Return how many threads, warps and blocks are in these lanes (None for all)."""
        key = (batch.shape, None if mask is None else mask.key)
        if key not in self._extents:
            _, active, times = by_warp(batch, np.zeros((1,) * 6, np.uint64), mask)
            blocks = active.reshape(batch.extent.size // times, -1).any(axis=1)
            extent = int(active.sum()), requests(active), int(blocks.sum())
            self._extents[key] = Extent(*(count * times for count in extent))
        return self._extents[key]
