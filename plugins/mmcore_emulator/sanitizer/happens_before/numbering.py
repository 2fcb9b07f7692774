"""Numbers of a batch's threads, warps and blocks, as flat arrays over its lanes; numbers of instructions."""

from __future__ import annotations

import numpy as np

from mmcore_emulator.machine.lanes import Batch, Mask
from mmcore_emulator.machine.limits import WARP
from mmcore_emulator.machine.warps import BIT, Warps
from mmcore_emulator.numerics.types import Integers, Values
from mmcore_emulator.ptx.instructions import Instruction


class LaneNumbers:
    """The numbers of a batch's lanes."""

    def __init__(self, batch: Batch) -> None:
        self.batch, self.warps = batch, Warps(batch)
        self.thread_in_block = self.flat(batch.thread_index())
        # Number of each lane's block in the grid, and in the batch.
        self.block, self.block_in_batch = self.flat(batch.number_in_grid()), self.flat(batch.block_index())
        # Number of each lane's thread in the grid, from 1, and in its block, from 0.
        self.thread = self.block * batch.block.size + self.thread_in_block + 1
        self.slot = self.warps.place.reshape(-1)  # number of each lane when lanes are counted warp by warp
        # Bit of each lane in a mask of its warp, and of its warp in a mask of its block.
        self.lane_bit, self.warp_bit = BIT[self.thread_in_block % WARP], BIT[self.thread_in_block // WARP]
        # rank, grid_number: rank in its cluster, and number in the grid, of each block of the batch.
        # cluster: cluster of each block of the batch: the least number in the grid among the cluster's blocks.
        self.rank, self.cluster, self.grid_number = (np.zeros(batch.extent.size, np.int64) for _ in range(3))
        self.rank[self.block_in_batch] = self.flat(batch.special("%cluster_ctarank"))
        self.cluster[self.block_in_batch] = self.flat(batch.by_cluster(np.min, self.block.reshape(batch.shape)))
        self.grid_number[self.block_in_batch] = self.block

    def flat(self, values: Values) -> Values:
        """Return values of lanes as a flat array."""
        return np.broadcast_to(values, self.batch.shape).reshape(-1)

    def lanes(self, mask: Mask | None) -> Integers:
        """Return the numbers of the lanes of a mask."""
        return np.flatnonzero(self.batch.spread(mask))


class InstructionNumbers:
    """Numbers of instructions for use in arrays, from 0 in the order of first use."""

    def __init__(self) -> None:
        self._instructions: list[Instruction] = []
        self._numbers: dict[int, int] = {}

    def number(self, at: Instruction) -> int:
        """Return the number of an instruction."""
        number = self._numbers.setdefault(id(at), len(self._instructions))
        if number == len(self._instructions):
            self._instructions.append(at)
        return number

    def __getitem__(self, number: int) -> Instruction:
        return self._instructions[number]
