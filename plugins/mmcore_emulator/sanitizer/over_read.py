"""How far past the end of its matrices a kernel reads, where its launch rule lets it."""

from __future__ import annotations

from mmcore.devices.base import Device
from mmcore.devices.loaded import LoadedKernel
from mmcore.errors import NoDevice
from mmcore.kernel.arguments import MATRICES
from mmcore.kernel.dtypes import dtype_named
from mmcore.kernel.geometry import ceil_div
from mmcore.planning.plan import Plan
from mmcore.verify.inputs import draw
from mmcore.verify.launches import host_arrays
from mmcore_emulator.sanitizer.protocols import ReachDevice


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
    if not isinstance(device, ReachDevice):
        raise NoDevice(f"{device.name} does not see how far a kernel reads")
    problem = planned.problem
    with LoadedKernel(planned, device) as loaded:
        loaded.upload(host_arrays(planned, draw(problem, seed)))
        past = device.bytes_read_past(loaded.module, loaded.calls)
    itemsize = {matrix: dtype_named(problem.output if matrix == "C" else problem.dtype).itemsize for matrix in MATRICES}
    return {matrix: ceil_div(past.get(matrix, 0), itemsize[matrix]) for matrix in MATRICES}
