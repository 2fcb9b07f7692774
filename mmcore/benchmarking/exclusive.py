"""One run at a time on a device that keeps time: two would spoil each other's numbers, and neither would know."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from mmcore.launching.device import Device
from mmcore.locking import Holder, Lock


@runtime_checkable
class Identified(Protocol):
    """A device that goes by other names in other processes, as a GPU's number depends on which GPUs one sees."""

    @property
    def identity(self) -> str:
        """What it is known by on this machine in every process."""
        ...


def device_lock(device: Device) -> Lock:
    """The lock of this very device."""
    return Lock(f"device-{device.identity if isinstance(device, Identified) else device.name}")


def waiting(device: Device, holder: Holder) -> str:
    """What a run says when it finds the device in use, in a sentence."""
    return f"mmcore: {device.name} ({device.description}) is being measured by {holder}; waiting until it is free"
