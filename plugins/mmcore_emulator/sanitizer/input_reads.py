"""The bytes of A and B that launches read: a product that needs all elements is wrong without one of them."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from mmcore_emulator.machine.lanes import Batch
from mmcore_emulator.machine.memory.arrays import Array
from mmcore_emulator.machine.observer import MEMORIES, Access, BulkTransfer, Observer
from mmcore_emulator.numerics.types import Flags


class InputReads(Observer):
    """An observer of launches.

    Attributes:
        read: the bytes of each array that were read, by the array's label. A bulk copy counts as reading all arrays.
    """

    ignores = MEMORIES - {"global", "generic"}

    def __init__(self, arrays: Iterable[Array]) -> None:
        self._arrays = {each.base: each for each in arrays}
        self.read: dict[str, Flags] = {
            each.label: np.zeros(len(each.content), np.bool_) for each in self._arrays.values()
        }

    def begin(self, batch: Batch) -> Observer:
        return _BatchReads(batch, self._arrays, self.read)


class _BatchReads(Observer):
    """An observer of a batch of blocks."""

    ignores = InputReads.ignores

    def __init__(self, batch: Batch, arrays: dict[int, Array], read: dict[str, Flags]) -> None:
        self._batch, self._arrays, self._read = batch, arrays, read

    def access(self, access: Access) -> None:
        if access.space != "global" or access.kind == "store":
            return
        addresses = np.broadcast_to(access.address, self._batch.shape)[self._batch.spread(access.mask)]
        for base, array in self._arrays.items():
            read = self._read[array.label]
            begins = np.unique(addresses[(addresses >= base) & (addresses < base + len(read))]).astype(np.int64) - base
            for byte in range(access.nbytes):
                read[np.minimum(begins + byte, len(read) - 1)] = True

    def bulk_copy(self, transfer: BulkTransfer) -> None:
        if transfer.action == "load":
            for read in self._read.values():
                read[:] = True
