"""How far past the end of its matrices a kernel reads, where its launch rule lets it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

from mmcore.errors import NoDevice
from mmcore.experiment import host_arrays
from mmcore.verify.inputs import draw
from mmcore.devices.base import BoundLaunch, Device, LoadedModule
from mmcore.devices.loaded import LoadedKernel
from mmcore.kernel.dtypes import dtype_named
from mmcore.kernel.geometry import ceil_div
from mmcore.kernel.launch import MATRICES
from mmcore.planning.plan import Plan


@runtime_checkable
class ReachDevice(Protocol):
    """A device that sees how far kernels read, besides being a :class:`~mmcore.devices.base.Device`."""

    def bytes_read_past(self, program: LoadedModule, calls: Sequence[BoundLaunch]) -> Mapping[str, int]:
        """Make the launches in order and say how many bytes past the end of its buffers they read.

        Args:
            program: code that this device loaded.
            calls: the launches.

        Returns:
            By label, up to the end of the furthest read that stays within what may be read there; what goes further
            is a violation of the launch. A buffer past whose end nobody reads is left out.
        """
        ...


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
    with LoadedKernel(planned, device) as prepared:
        prepared.upload(host_arrays(planned, draw(problem, seed)))
        past = device.bytes_read_past(prepared.program, prepared.calls)
    itemsize = {matrix: dtype_named(problem.output if matrix == "C" else problem.dtype).itemsize for matrix in MATRICES}
    return {matrix: ceil_div(past.get(matrix, 0), itemsize[matrix]) for matrix in MATRICES}
