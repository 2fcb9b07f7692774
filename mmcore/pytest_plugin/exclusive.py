"""One run at a time on a device that keeps time: two would spoil each other's numbers, and neither would know."""

from __future__ import annotations

from mmcore.devices.base import Device
from mmcore.devices.identity import identity
from mmcore.locks import Holder, Lock


def device_lock(device: Device) -> Lock:
    """The lock of this very device."""
    return Lock(f"device-{identity(device)}")


def waiting(device: Device, holder: Holder) -> str:
    """What a run says when it finds the device in use, in a sentence."""
    return f"mmcore: {device.name} ({device.description}) is being measured by {holder}; waiting until it is free"
