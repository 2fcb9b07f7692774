"""The limits of each compute capability: the maximum sizes of a block, a grid and a multiprocessor.

Reference: CUDA C++ Programming Guide, "Compute Capabilities". A test compares them with the
table in ``mmcore_cuda.occupancy``.
"""

from __future__ import annotations

from dataclasses import dataclass

from mmcore_emulator.machine.dim3 import Dim3
from mmcore_emulator.machine.lanes import WARP

THREADS_PER_BLOCK = 1024
LARGEST_BLOCK = Dim3(1024, 1024, 64)
LARGEST_GRID = Dim3(2**31 - 1, 65535, 65535)
BLOCKS_PER_CLUSTER = 16


@dataclass(frozen=True)
class Limits:
    """The limits of one compute capability.

    Attributes:
        multiprocessors: multiprocessors of the largest product.
        warps, blocks: maximum number resident on a multiprocessor.
        shared_bytes: shared memory of a multiprocessor.
        shared_bytes_per_block: maximum of a block, static and dynamic together.
        shared_reserved: bytes that the system reserves in each block's shared memory.
    """

    multiprocessors: int
    warps: int
    blocks: int
    shared_bytes: int
    shared_bytes_per_block: int
    shared_reserved: int = 1024

    def resident_blocks(self, threads: int, shared_bytes: int) -> int:
        """Return how many blocks the device holds at once, at least 1. Registers are not considered.

        Args:
            threads: threads of a block.
            shared_bytes: shared memory of a block, static and dynamic.
        """
        by_warps = self.warps // -(-threads // WARP)
        by_shared = self.shared_bytes // max(1, shared_bytes + self.shared_reserved)
        return self.multiprocessors * max(1, min(self.blocks, by_warps, by_shared))


LIMITS = {
    (7, 5): Limits(72, 32, 16, 64 << 10, 64 << 10, 0),
    (8, 0): Limits(108, 64, 32, 164 << 10, 163 << 10),
    (8, 6): Limits(84, 48, 16, 100 << 10, 99 << 10),
    (8, 9): Limits(142, 48, 24, 100 << 10, 99 << 10),
    (9, 0): Limits(132, 64, 32, 228 << 10, 227 << 10),
}
"""The limits by compute capability, (major, minor)."""
