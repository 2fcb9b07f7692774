"""A device that runs the PTX that NVRTC compiled, on any machine, with numpy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from mmcore.errors import NoDevice
from mmcore.hookspecs import hookimpl

if TYPE_CHECKING:
    from mmcore.devices.base import Device, DeviceProvider


class EmulatorProvider:
    """Provides the one emulator that every machine has."""

    name = "emulator"
    supports_timing = False
    isolated = False

    def count(self) -> int:
        return 1

    def findings(self) -> Mapping[str, str]:
        from mmcore_emulator.device import Emulator

        limits = Emulator().properties
        capability = ".".join(map(str, limits.compute_capability))
        size = f"{limits.memory_bytes / 1e9:.1f} GB"
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
