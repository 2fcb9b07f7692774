"""Accesses of a batch's lanes to pieces of an array, and whether they are ordered after earlier ones."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from mmcore_emulator.machine.limits import WARP
from mmcore_emulator.machine.warps import BIT, EVERY_LANE
from mmcore_emulator.numerics.types import Flags, Integers
from mmcore_emulator.sanitizer.happens_before.batch_clocks import BatchClocks, Masks
from mmcore_emulator.sanitizer.happens_before.vector_clocks import Epoch

EPOCH = np.dtype([("block", np.int32), ("warps", np.uint32), ("lanes", np.uint32), ("time", np.int32)])
"""An Epoch as an array's element."""
Epochs = NDArray[np.void]


class Accesses:
    """Accesses of lanes to pieces, one entry for each piece of each lane, with numbers as of LaneNumbers.

    ``unfenced`` clocks count as acquired; see :meth:`FlagClocks.including`.
    """

    def __init__(self, clocks: BatchClocks, lane: Integers, unfenced: str = "") -> None:
        self.clocks, self.lane, self.unfenced, numbers = clocks, lane, unfenced, clocks.numbers
        self.thread, self.block, self.slot = numbers.thread[lane], numbers.block[lane], numbers.slot[lane]
        self.lane_bit, self.warp_bit = numbers.lane_bit[lane], numbers.warp_bit[lane]
        self.horizon = clocks.horizon[lane]

    def __getitem__(self, chosen: Flags | Integers) -> Accesses:
        return Accesses(self.clocks, self.lane[chosen], self.unfenced)

    def with_fences(self, unfenced: str) -> Accesses:
        """Return the same accesses, before which fences acquire ``unfenced`` clocks."""
        return Accesses(self.clocks, self.lane, unfenced)

    def has_acquired(self, thread: int, epoch: Epoch) -> bool:
        """Return True if a thread has acquired clocks that include accesses of others."""
        return self.clocks.order.has_acquired(thread, epoch, self.unfenced)

    def by_rank(self, index: Integers) -> Iterator[tuple[int, Integers, Accesses]]:
        """Yield the ranks in their clusters of the lanes' blocks, each with its pieces and accesses."""
        numbers = self.clocks.numbers
        if numbers.batch.cluster.size == 1:
            yield 0, index, self
            return
        ranks = numbers.rank[numbers.block_in_batch[self.lane]]
        for rank in np.unique(ranks).tolist():
            yield rank, index[ranks == rank], self[ranks == rank]

    def in_block_of(self, thread: Integers) -> Flags:
        """Return which accesses are by the same block as ``thread``, which has a thread for each access."""
        return np.asarray((thread - 1) // self.clocks.numbers.batch.block.size == self.block)

    def in_warp_of(self, thread: Integers) -> Flags:
        """Return which accesses are by the same warp as ``thread``, which has a thread for each access."""
        slot = (thread - 1) % self.clocks.numbers.batch.block.size
        return np.asarray(self.in_block_of(thread) & (BIT[slot // WARP] == self.warp_bit))

    def unordered_lanes(self, earlier: Epochs) -> Masks:
        """Return the lanes of each one's own warp that an epoch has, and that its clock does not include."""
        return self.clocks.unordered_lanes(self.slot, earlier["lanes"] & ~self.lane_bit, earlier["time"])

    def unordered_warps(self, earlier: Epochs) -> Masks:
        """Return the warps of each one's own block that an epoch has, and that its clock does not include."""
        warps = self.clocks.unordered_warps(self.slot, earlier["warps"], earlier["time"])
        return np.asarray(warps & ~np.where(self.unordered_lanes(earlier), np.uint32(0), self.warp_bit))

    def unordered_with(self, earlier: Epochs) -> Flags:
        """Return which accesses are not ordered after earlier ones, an epoch for each."""
        clocks = self.clocks
        same_block = earlier["block"] == self.block
        unordered: Flags = np.asarray(~(same_block & (earlier["time"] < self.horizon)))
        in_block = np.flatnonzero(unordered & same_block)
        if in_block.size:
            warps = self[in_block].unordered_warps(earlier[in_block])
            earlier = earlier.copy()
            unordered[in_block], earlier["warps"][in_block] = warps != 0, warps
        left = np.flatnonzero(unordered)
        unordered[left] = ~clocks.events.ordered(self.lane[left], earlier[left])
        if clocks.order.any_acquired:
            for entry in np.flatnonzero(unordered).tolist():
                epoch = Epoch(*earlier[entry].tolist())
                if epoch.warps & (epoch.warps - 1):
                    epoch = epoch._replace(lanes=int(EVERY_LANE))
                unordered[entry] = not self.has_acquired(int(self.thread[entry]), epoch)
        return unordered
