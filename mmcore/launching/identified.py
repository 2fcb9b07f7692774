"""What a device is known by in every process of this machine."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from mmcore.launching.device import Device


@runtime_checkable
class Identified(Protocol):
    """A device whose name is not enough, as a GPU's number depends on which GPUs a process sees."""

    @property
    def identity(self) -> str:
        """What this very device is known by."""
        ...


def identity(device: Device) -> str:
    """The device's identity; its name where it has no other."""
    return device.identity if isinstance(device, Identified) else device.name
