"""From ``--device auto|NAME|NAME:INDEX`` to a device's name, and to an open device."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from mmcore.devices.base import Device, DeviceProvider
from mmcore.errors import MmcoreError, NoDevice, described
from mmcore.kernel.properties import DeviceProperties
from mmcore.registry import DISTRIBUTION, registry

_T = TypeVar("_T")


def device_name(spec: str) -> str:
    """The name of the device that :func:`open_device` would open; :class:`NoDevice` as there."""
    provider, index = chosen(spec)
    return f"{provider.name}:{index}" if index or provider.supports_timing else provider.name


def open_device(spec: str) -> Device:
    """Open "auto" (the first GPU, else the emulator; never a third party's device), "NAME" or "NAME:INDEX".

    Raises:
        NoDevice: there is none such; the text says what there is.
    """
    provider, index = chosen(spec)
    return _asked(provider, lambda: provider.open(index))


def device_properties(spec: str) -> DeviceProperties:
    """Return the properties of the device that :func:`open_device` would open; nothing is opened."""
    provider, index = chosen(spec)
    return _asked(provider, lambda: provider.properties(index))


def chosen(spec: str) -> tuple[DeviceProvider, int]:
    """The provider of the device that :func:`open_device` would open, and the device's index; nothing is opened."""
    found = registry().providers
    providers = {name: registered.item for name, registered in found.items()}
    if not isinstance(spec, str):
        raise NoDevice(f"a device is known by its name, such as 'cuda:0', not by {spec!r}")
    if spec == "auto":
        own = [each.item for each in found.values() if each.origin.distribution == DISTRIBUTION]
        for provider in sorted(own, key=lambda provider: not provider.supports_timing):
            if _asked(provider, provider.count):
                return provider, 0
        raise NoDevice("no device was found; mmcore doctor says why")
    name, _, index = (spec, "", "0") if spec in providers else spec.rpartition(":")
    if name not in providers or not (index.isascii() and index.isdigit() and len(index) < 10):
        there = f"there are auto, {', '.join(sorted(providers))}, and each with a number, as in cuda:1"
        raise NoDevice(f"there is no device {spec!r}; {there}")
    return providers[name], int(index)


def _asked(provider: DeviceProvider, question: Callable[[], _T]) -> _T:
    """The answer of a provider, which may be a third party's and fail in any way."""
    try:
        return question()
    except MmcoreError:
        raise
    except (Exception, SystemExit) as error:
        raise NoDevice(f"the plugin that provides {provider.name!r} failed: {described(error)}") from error
