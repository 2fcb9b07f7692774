"""A record of the multiply-adds of each thread of a launch, and of the threads that write C."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mmcore_emulator.isa.table import effect
from mmcore_emulator.machine.lanes import Batch, Mask
from mmcore_emulator.machine.observer import Access, BulkTransfer
from mmcore_emulator.profiler.by_line import line_of
from mmcore_emulator.profiler.counters import Line
from mmcore_emulator.ptx.instructions import Block, Instruction

_NONE = -1
_NOWHERE = np.uint64(2**64 - 1)


class ThreadWork:
    """The work of the threads of a launch.

    Attributes:
        block_threads: the threads of a block.
        block_fmas: the multiply-adds of each block of the grid, without those of tensor cores.
        storing: a flag for each block of the grid: true if it writes to global memory.
        writers: the last thread that wrote each byte of C, by its number in the grid; -1 for none.
        shared: a flag for each byte of C: true if several threads wrote it.
        adding_again: the lines with an atomic operation by which a thread adds to one element of C several times.
    """

    def __init__(self, blocks: Sequence[Block]) -> None:
        self._fmas = {
            id(block): sum(effect(at).fmas for at in block.instructions if at.guard is None) for block in blocks
        }
        self.block_threads = 0
        self.block_fmas = np.zeros(0, np.int64)
        self.storing = np.zeros(0, np.bool_)
        self.writers = np.zeros(0, np.int64)
        self.shared = np.zeros(0, np.bool_)
        self.adding_again = set[Line]()
        self._first: dict[int, NDArray[np.uint64]] = {}  # address that each thread adds to, by atomic operation

    def begin(self, batch: Batch) -> BatchWork:
        """Return the recorder of a batch of blocks."""
        if not self.block_threads:
            self.block_threads = batch.block.size
            self.block_fmas, self.storing = np.zeros(batch.grid.size, np.int64), np.zeros(batch.grid.size, np.bool_)
        return BatchWork(self, batch)

    def fmas_of(self, block: Block) -> int:
        """Return the multiply-adds of a basic block, without those under a guard."""
        return self._fmas[id(block)]

    def write(self, offsets: NDArray[np.int64], threads: NDArray[np.int64], nbytes: int) -> None:
        """Note that threads write bytes of C, which has ``nbytes``."""
        if not self.writers.size:
            self.writers, self.shared = np.full(nbytes, _NONE, np.int64), np.zeros(nbytes, np.bool_)
        inside = (offsets >= 0) & (offsets < nbytes)
        offsets, threads = offsets[inside], threads[inside]
        before = self.writers[offsets]
        self.writers[offsets] = threads
        several = ((before != _NONE) & (before != threads)) | (self.writers[offsets] != threads)
        self.shared[offsets[several]] = True

    def add(self, at: Instruction, addresses: NDArray[np.uint64], threads: NDArray[np.int64]) -> None:
        """Note that threads add to elements of C."""
        size = self.block_fmas.size * self.block_threads
        first = self._first.setdefault(id(at), np.full(size, _NOWHERE))
        if (first[threads] == addresses).any():
            self.adding_again.add(line_of(at))
        first[threads] = np.where(first[threads] == _NOWHERE, addresses, first[threads])


class BatchWork:
    """The recorder of one batch of blocks."""

    def __init__(self, totals: ThreadWork, batch: Batch) -> None:
        self._totals, self._batch = totals, batch
        self._blocks = batch.number_in_grid()

    def enter(self, block: Block, mask: Mask | None) -> None:
        """Note that lanes execute a basic block."""
        if fmas := self._totals.fmas_of(block):
            self._multiply(fmas, mask)

    def guarded(self, at: Instruction, mask: Mask | None) -> None:
        """Note that lanes execute an instruction under its guard."""
        if fmas := effect(at).fmas:
            self._multiply(fmas, mask)

    def access(self, access: Access) -> None:
        """Note a store or an atomic operation in global memory."""
        if access.space != "global" or access.kind not in ("store", "atomic"):
            return
        batch = self._batch
        lanes = batch.spread(access.mask)
        blocks = np.broadcast_to(self._blocks, batch.shape)[lanes]
        self._totals.storing[blocks] = True
        address = np.broadcast_to(access.address, batch.shape)[lanes]
        array = access.memory.at(int(address.min(initial=_NOWHERE)))
        if array is None or array.label != "C":
            return
        threads = blocks * batch.block.size + np.broadcast_to(batch.thread_index(), batch.shape)[lanes]
        if access.kind == "atomic":
            self._totals.add(access.at, address, threads)
        else:
            first = (address - np.uint64(array.base)).astype(np.int64)
            offsets = (first[:, None] + np.arange(access.nbytes)).ravel()
            self._totals.write(offsets, threads.repeat(access.nbytes), array.writable)

    def bulk_copy(self, transfer: BulkTransfer) -> None:
        """Note the blocks that issue a bulk copy to global memory."""
        if transfer.action == "store":
            z, _, y, _, x, _ = transfer.lanes.T
            self._totals.storing[self._blocks[z, 0, y, 0, x, 0]] = True

    def _multiply(self, fmas: int, mask: Mask | None) -> None:
        threads = self._batch.spread(mask).sum(axis=(1, 3, 5), keepdims=True)
        self._totals.block_fmas[self._blocks] += fmas * threads
