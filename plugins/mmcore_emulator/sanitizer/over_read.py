"""How far past the end of its matrices a kernel reads, where its launch rule lets it."""

from __future__ import annotations

import numpy as np

from mmcore.devices.base import Device
from mmcore.devices.loaded import LoadedKernel
from mmcore.errors import NoDevice
from mmcore.kernel.arguments import MATRICES
from mmcore.kernel.geometry import ceil_div
from mmcore.kernel.problem import dtype_named
from mmcore.planning.plan import Plan
from mmcore.verify.inputs import draw
from mmcore.verify.launches import host_arrays
from mmcore_emulator.lanes import Batch
from mmcore_emulator.observation import Access, Observer
from mmcore_emulator.sanitizer.protocols import CheckingDevice


def over_read_elements(planned: Plan, device: Device, seed: int) -> dict[str, int]:
    """How many elements past the end of each matrix a launch reads, of those that its rule declares to be read.

    Args:
        planned: the launches.
        device: what looks.
        seed: seed of the inputs.

    Returns:
        By "A", "B" and "C"; an element that is read in part counts as a whole one.

    Raises:
        NoDevice: the device does not see how far kernels read.
        MmcoreError: the launch is refused, or its source does not become code.
    """
    if not isinstance(device, CheckingDevice):
        raise NoDevice(f"{device.name} does not see how far a kernel reads")
    problem = planned.problem
    with LoadedKernel(planned, device) as loaded:
        loaded.upload(host_arrays(planned, draw(problem, seed)))
        past = device.bytes_read_past(loaded.module, loaded.calls)
    itemsize = {matrix: dtype_named(problem.output if matrix == "C" else problem.dtype).itemsize for matrix in MATRICES}
    return {matrix: ceil_div(past.get(matrix, 0), itemsize[matrix]) for matrix in MATRICES}


class Reach(Observer):
    """Looks for the furthest read behind each array in device memory.

    Attributes:
        past: bytes from the array's end to the end of that read, by label; arrays that nobody reads past are left out.
    """

    def __init__(self) -> None:
        self.past: dict[str, int] = {}

    def begin(self, batch: Batch) -> None:
        self._shape = batch.shape

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
