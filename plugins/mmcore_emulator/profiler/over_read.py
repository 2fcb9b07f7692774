"""An observer of reads past the end of arrays."""

from __future__ import annotations

from copy import copy

import numpy as np

from mmcore_emulator.machine.accesses import Access
from mmcore_emulator.machine.lanes import Batch
from mmcore_emulator.machine.observer import Observer


class Reach(Observer):
    """Looks for the furthest read behind each array in device memory.

    Attributes:
        past: bytes from the array's end to the end of that read, by label; arrays that nobody reads past are left out.
    """

    def __init__(self) -> None:
        self.past: dict[str, int] = {}
        self._shape: tuple[int, ...] = ()

    def begin(self, batch: Batch) -> Observer:
        own = copy(self)
        own._shape = batch.shape
        return own

    def access(self, access: Access) -> None:
        if access.space != "global" or access.kind != "load":
            return
        address = access.address
        if access.mask is not None:
            lanes = np.broadcast_to(access.mask.lanes, self._shape)
            address = np.broadcast_to(address, self._shape)[lanes]
        for number in np.unique(address >> np.uint64(access.memory.range_bits)).tolist():
            array = access.memory.at(number << access.memory.range_bits)
            if array is None or array.readable == array.writable:
                continue
            # A read across the end of what may be read is a violation and none of this observer's.
            last = np.uint64(array.base + array.readable - access.nbytes)
            permitted = address[(address >= np.uint64(array.base)) & (address <= last)]
            past = int(permitted.max()) + access.nbytes - array.base - array.writable if permitted.size else 0
            if past > self.past.get(array.label, 0):
                self.past[array.label] = past
