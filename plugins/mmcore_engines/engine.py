"""What an engine is, and how one is found by its name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Protocol

from mmcore.errors import MmcoreError, NoDevice, described
from mmcore.executor.choose_device import chosen, device_name
from mmcore.plugin_table import PluginTable
from mmcore.plugins import imported, named_target
from mmcore.registry import registry

ALL = "all"
"""The word for every card."""


@dataclass(frozen=True)
class Request:
    """What an engine is asked for.

    Attributes:
        device: as the user says it: "all", "auto", or names such as "cuda:0,cuda:1".
        address: where the engine's own service is, as the user says it; empty for the usual.
    """

    device: str = ALL
    address: str = ""

    def local_devices(self) -> list[str]:
        """The devices of this machine that are meant, by name; a name given twice stands for two workers.

        Raises:
            NoDevice: there is none such, or a card is named twice.
        """
        words = [word.strip() for word in self.device.split(",")]
        found: list[str] = []
        for word in words:
            if word != ALL:
                found.append(device_name(word))
                continue
            first = device_name("auto")
            provider, _ = chosen(first)
            found += [device_name(f"{provider.name}:{index}") for index in range(max(1, provider.count()))]
        twice = [name for name in found if found.count(name) > 1 and chosen(name)[0].supports_timing]
        if twice:
            raise NoDevice(f"{twice[0]} is named twice, and a card measures one cell at a time")
        return found


class Worker(Protocol):
    """A process, thread or actor that measures one cell at a time on one device.

    Attributes:
        name: no other worker's: "cuda:1", "node7 cuda:0".
    """

    @property
    def name(self) -> str: ...

    def submit(self, request: bytes) -> Future[bytes]:
        """Return the future answer of :meth:`DeviceWorker.answer`; it has an exception if the worker is gone."""

    def end(self) -> None:
        """End it and what it runs; it may be gone already."""


class Engine(Protocol):
    """Where cells are measured.

    What makes one may have an attribute ``local``: True says that its workers have the devices of this machine that
    :meth:`Request.local_devices` names. Then pytest asks no worker what it is before the first test begins.
    """

    def workers(self) -> Sequence[Worker]:
        """The workers that are there and have not been given yet; it is asked again and again.

        So hosts may join, and a worker may replace one that is gone. The first call returns one at least.
        """

    def close(self) -> None:
        """Free what it holds; its workers have been ended."""


def engine_named(name: str) -> Callable[[Request], Engine]:
    """Return what makes the engine of that name.

    Raises:
        UnknownName: no plugin brings one of that name.
        MmcoreError: it needs what is not installed.
    """
    found: PluginTable[str] = PluginTable("engine")
    for item, origin in registry().collected("mmcore_engines", named_target):
        name_of, target_of = item
        found.enter(name_of, target_of, origin)
    make: Callable[[Request], Engine] = imported(f"the engine {name!r}", found.named(name, registry().failed))
    return make


def connect(name: str, request: Request) -> Engine:
    """Return the engine of that name; :class:`MmcoreError` as for :func:`engine_named`, or if it cannot be reached."""
    make = engine_named(name)
    try:
        return make(request)
    except MmcoreError:
        raise
    except (Exception, SystemExit) as error:  # an engine may raise anything
        raise MmcoreError(f"the engine {name!r} cannot be used: {described(error)}") from error
