"""How far past the end of its matrices a kernel reads, where its launch rule lets it."""

from __future__ import annotations

from copy import copy

import numpy as np

from mmcore.cell import Cell
from mmcore.devices.base import Device
from mmcore.kernel.arguments import MATRICES
from mmcore.kernel.declaration import Kernel
from mmcore.kernel.geometry import ceil_div
from mmcore.kernel.problem import dtype_named
from mmcore.measure import prepared_cell
from mmcore_emulator.adapter.conversions import execute
from mmcore_emulator.adapter.device import check_emulates, emulated_runs
from mmcore_emulator.machine.accesses import Access
from mmcore_emulator.machine.lanes import Batch
from mmcore_emulator.machine.observer import Observer


def over_read_elements(cell: Cell, device: Device, kernel: Kernel | None = None) -> dict[str, int]:
    """How many elements past the end of each matrix a cell's launches read, of those that are declared to be read.

    An element that is read in part counts as a whole one; what goes further than declared is a violation of the launch.
    Arguments are those of :func:`mmcore.measure.measure`.

    Returns:
        By "A", "B" and "C".

    Raises:
        NoDevice: the device does not see how far kernels read.
        MmcoreError: the launch is refused, or its source does not become code.
    """
    check_emulates(device, "see how far a kernel reads")
    reach = Reach()
    with prepared_cell(cell, device, kernel) as loaded:
        problem = loaded.plan.problem
        for run in emulated_runs(loaded, lambda translation: reach):
            execute(run)
    types = {"A": problem.dtype, "B": problem.dtype, "C": problem.output}
    return {matrix: ceil_div(reach.past.get(matrix, 0), dtype_named(types[matrix]).itemsize) for matrix in MATRICES}


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
