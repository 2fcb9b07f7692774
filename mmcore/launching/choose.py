"""From ``--device auto|NAME|NAME:INDEX`` to an open device."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from mmcore.errors import MmcoreError, NoDevice
from mmcore.launching.device import Device, DeviceProvider

_T = TypeVar("_T")


def open_device(spec: str, providers: Mapping[str, DeviceProvider]) -> Device:
    """Open the device a user asked for; in a worker process, where a kernel can ruin the process that runs it.

    Args:
        spec: "auto" (the first device that keeps time, else the first of any kind), "NAME" (index 0) or "NAME:INDEX".
        providers: the registry's.

    Raises:
        NoDevice: there is none such; the text says what there is.
    """
    provider, index = chosen(spec, providers)
    if not getattr(provider, "isolated", False):
        return _asked(provider, lambda: provider.open(index))
    from mmcore.launching.isolation import IsolatedDevice

    return _asked(provider, lambda: IsolatedDevice(provider, index))


def open_in_process(spec: str, providers: Mapping[str, DeviceProvider]) -> Device:
    """As :func:`open_device`, but in this process: for who shares memory with it, or is watched by a tool.

    Raises:
        NoDevice: as there.
    """
    provider, index = chosen(spec, providers)
    return _asked(provider, lambda: provider.open(index))


def chosen(spec: str, providers: Mapping[str, DeviceProvider]) -> tuple[DeviceProvider, int]:
    """Who provides the device that a user asked for, and which of its devices it is; nothing is opened.

    Raises:
        NoDevice: as for :func:`open_device`.
    """
    if not isinstance(spec, str):
        raise NoDevice(f"a device is known by its name, such as 'cuda:0', not by {spec!r}")
    if spec == "auto":
        for provider in sorted(providers.values(), key=lambda provider: not provider.keeps_time):
            if _asked(provider, provider.count):
                return provider, 0
        raise NoDevice("no device was found; mmcore doctor says why")
    name, colon, index = spec.partition(":")
    if name not in providers:
        raise NoDevice(f"there is no device {spec!r}; there are auto, {', '.join(sorted(providers))}")
    if colon and not (index.isascii() and index.isdigit() and len(index) < 10):
        raise NoDevice(f"{spec!r} is not a device: the number behind the colon must be 0 or more")
    return providers[name], int(index or 0)


def _asked(provider: DeviceProvider, question: Callable[[], _T]) -> _T:
    """What a provider, which may be a third party's, answers."""
    try:
        return question()
    except MmcoreError:
        raise
    except Exception as error:
        raise NoDevice(f"the plugin that provides {provider.name!r} failed: {type(error).__name__}: {error}") from error
