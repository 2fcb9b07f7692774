"""An observer of reads past the end of arrays."""

from __future__ import annotations

import numpy as np

from mmcore_emulator.machine.observer import Access, BatchObserver


class OverReads(BatchObserver):
    """An observer of the furthest read past the end of each array in device memory."""

    def __init__(self) -> None:
        # Bytes from the array's end to the end of that read, by label; arrays without such reads are left out.
        self.past: dict[str, int] = {}

    def access(self, access: Access) -> None:
        if access.space != "global" or access.kind != "load":
            return
        address = access.address
        if access.mask is not None:
            address = np.broadcast_to(address, self._batch.shape)[self._batch.spread(access.mask)]
        for number in np.unique(address >> np.uint64(access.memory.range_bits)).tolist():
            array = access.memory.at(number << access.memory.range_bits)
            if array is None or array.readable == array.writable:
                continue
            # A read across the end of what may be read is a violation, which the launch reports.
            last = np.uint64(array.base + array.readable - access.nbytes)
            permitted = address[(address >= np.uint64(array.base)) & (address <= last)]
            past = int(permitted.max()) + access.nbytes - array.base - array.writable if permitted.size else 0
            if past > self.past.get(array.label, 0):
                self.past[array.label] = past
