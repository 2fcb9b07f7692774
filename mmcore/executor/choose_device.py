"""From ``--device auto|NAME|NAME:INDEX`` to a device's name, and to an open device."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from mmcore.devices.base import Device, DeviceProvider
from mmcore.errors import MmcoreError, NoDevice, described
from mmcore.kernel.properties import DeviceProperties
from mmcore.registry import registry

_T = TypeVar("_T")


def device_name(spec: str) -> str:
    """Return the name of the device that :func:`open_device` would open; raises as it does."""
    provider, index = chosen(spec)
    return f"{provider.name}:{index}" if index or provider.supports_timing else provider.name


def open_device(spec: str) -> Device:
    """Open "auto", "NAME" or "NAME:INDEX".

    "auto" is the first device that is there, in the order of the providers' ``auto_priority``; a provider without one
    is never asked. Raises NoDevice, which lists the devices that there are.
    """
    provider, index = chosen(spec)
    return _asked(provider, lambda: provider.open(index))


def device_properties(spec: str) -> DeviceProperties:
    """Return the properties of the device that :func:`open_device` would open, without opening it."""
    provider, index = chosen(spec)
    return _asked(provider, lambda: provider.properties(index))


def chosen(spec: str) -> tuple[DeviceProvider, int]:
    """Return the provider of the device that :func:`open_device` would open, and the device's index."""
    providers = {name: registered.item for name, registered in registry().providers.items()}
    if not isinstance(spec, str):
        raise NoDevice(f"a device is known by its name, such as 'cuda:0', not by {spec!r}")
    if spec == "auto":
        prioritised = [each for each in providers.values() if _declared(each, "auto_priority") is not None]
        for provider in sorted(prioritised, key=lambda each: -(_declared(each, "auto_priority") or 0)):
            if _asked(provider, provider.count):
                return provider, 0
        raise NoDevice("no device was found; mmcore doctor says why")
    name, _, index = (spec, "", "0") if spec in providers else spec.rpartition(":")
    if name not in providers or not (index.isascii() and index.isdigit() and len(index) < 10):
        there = f"there are auto, {', '.join(sorted(providers))}, and each with a number, as in NAME:1"
        raise NoDevice(f"there is no device {spec!r}; {there}")
    return providers[name], int(index)


def device_of_memory(dlpack_type: int, index: int) -> str:
    """Return the name of a device by its type and index in DLPack; :class:`NoDevice` if no plugin provides it."""
    for name, registered in registry().providers.items():
        if _declared(registered.item, "dlpack_type") == dlpack_type:
            return f"{name}:{index}"
    raise NoDevice(f"no plugin provides the device of the arrays, whose type in DLPack is {dlpack_type}")


def _declared(provider: DeviceProvider, name: str) -> int | None:
    """Return a number that a provider may declare; None if it does not."""
    number = getattr(provider, name, None)
    return number if isinstance(number, int) else None


def _asked(provider: DeviceProvider, question: Callable[[], _T]) -> _T:
    """Return the answer of a provider, which may fail in any way. Raises MmcoreError."""
    try:
        return question()
    except MmcoreError:
        raise
    except (Exception, SystemExit) as error:
        raise NoDevice(f"the plugin that provides {provider.name!r} failed: {described(error)}") from error
