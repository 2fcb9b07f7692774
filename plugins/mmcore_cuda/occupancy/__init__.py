"""The theoretical occupancy of kernels: the command ``mmcore occupancy``, and a figure of every result."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from mmcore.hookspecs import hookimpl

if TYPE_CHECKING:
    from mmcore.devices.base import Device
    from mmcore.devices.loaded_kernel import LoadedKernel


@hookimpl
def mmcore_commands() -> Mapping[str, str]:
    """Return ``mmcore occupancy``."""
    return {"occupancy": "mmcore_cuda.occupancy.command:occupancy"}


@hookimpl
def mmcore_figures(kernel: LoadedKernel, device: Device) -> Mapping[str, float | None]:
    """Return the occupancy of the launch with the fewest active warps; None for an unknown compute capability."""
    from mmcore.errors import UnknownCapability
    from mmcore_cuda.occupancy.compiled import launch_occupancies

    try:
        occupancies = launch_occupancies(kernel.plan, kernel.compiled, device.properties.compute_capability)
    except UnknownCapability:
        return {"occupancy": None}
    return {"occupancy": min(each.occupancy for each in occupancies)} if occupancies else {}
