"""A device that runs the PTX that NVRTC compiled, on any machine, with numpy; and what it sees: check and profile."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from mmcore.errors import NoDevice
from mmcore.hookspecs import hookimpl

if TYPE_CHECKING:
    from mmcore.devices.base import Device, DeviceProvider
    from mmcore.devices.loaded_kernel import LoadedKernel
    from mmcore_emulator.api import check, profile
    from mmcore_emulator.profiler.profile import Profile
    from mmcore_emulator.sanitizer.check import Check

__all__ = ["Check", "EmulatorProvider", "Profile", "check", "profile"]

_LAZY = {
    "check": "mmcore_emulator.api",
    "profile": "mmcore_emulator.api",
    "Check": "mmcore_emulator.sanitizer.check",
    "Profile": "mmcore_emulator.profiler.profile",
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_LAZY[name]), name)


class EmulatorProvider:
    """Provides the one emulator that every machine has."""

    name = "emulator"
    supports_timing = False

    def count(self) -> int:
        return 1

    def findings(self) -> Mapping[str, str]:
        from mmcore_emulator.device import Emulator

        properties = Emulator().properties
        capability = ".".join(map(str, properties.compute_capability))
        size = f"{properties.memory_bytes / 1e9:.1f} GB"
        return {"emulator": f"emulates compute capability {capability}, with matrices of up to {size} in all"}

    def open(self, index: int) -> Device:
        if index:
            raise NoDevice(f"emulator:{index} does not exist; there is one emulator")
        from mmcore_emulator.device import Emulator

        return Emulator()


@hookimpl
def mmcore_devices() -> list[DeviceProvider]:
    """The emulator."""
    return [EmulatorProvider()]


@hookimpl
def mmcore_commands() -> Mapping[str, str]:
    """``mmcore check`` and ``mmcore profile``."""
    return {"check": "mmcore_emulator.sanitizer.command:check", "profile": "mmcore_emulator.profiler.command:profile"}


@hookimpl
def mmcore_figures(kernel: LoadedKernel, device: Device) -> Mapping[str, float | None]:
    """What the run on the emulator counted: warps' instructions, global sectors, useful flop per byte of those."""
    from mmcore_emulator.device import EmulatedModule

    if not isinstance(kernel.module, EmulatedModule):
        return {}
    problem = kernel.plan.problem
    return kernel.module.figures.of(2 * problem.m * problem.n * problem.k)
