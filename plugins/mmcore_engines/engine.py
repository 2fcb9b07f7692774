"""Protocols of engines and workers, and the connection to an engine by its name."""

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
"""The value of ``--mm-device`` that selects every card."""


@dataclass(frozen=True)
class Request:
    """The devices that an engine should use, and its address.

    Attributes:
        device: the user's words: "all", "auto", or names such as "cuda:0,cuda:1".
        address: the user's address of the engine's service; empty for the default.
    """

    device: str = ALL
    address: str = ""

    def local_devices(self) -> list[str]:
        """Return the names of the requested devices of this machine; a repeated name requests two workers.

        Raises:
            NoDevice: a device does not exist, or a card is named twice.
        """
        words = [word.strip() for word in self.device.split(",")]
        names: list[str] = []
        for word in words:
            if word != ALL:
                names.append(device_name(word))
                continue
            first = device_name("auto")
            provider, _ = chosen(first)
            names += [device_name(f"{provider.name}:{index}") for index in range(max(1, provider.count()))]
        repeated = [name for name in names if names.count(name) > 1 and chosen(name)[0].supports_timing]
        if repeated:
            raise NoDevice(f"{repeated[0]} is named twice, and a card measures one cell at a time")
        return names


class Worker(Protocol):
    """A process, thread or actor that measures one cell at a time on one device.

    Attributes:
        name: a unique name, such as "cuda:1" or "node7 cuda:0".
    """

    @property
    def name(self) -> str: ...

    def submit(self, request: bytes) -> Future[bytes]:
        """Return the future answer of :meth:`DeviceWorker.answer`; it raises an exception if the worker is gone."""

    def end(self) -> None:
        """End the worker and its processes; it may be gone already."""


class Engine(Protocol):
    """A source of workers.

    An engine's factory may have an attribute ``local``. True means that its workers use the devices of this machine
    that :meth:`Request.local_devices` names. Then pytest does not need a worker before the first test begins.
    """

    def workers(self) -> Sequence[Worker]:
        """Return the workers that exist now; it is called repeatedly, and workers returned before are ignored.

        So hosts may join, and a worker may replace one that is gone. The first call returns at least one worker.
        """

    def close(self) -> None:
        """Release the engine's resources; its workers have been ended."""


def engine_named(name: str) -> Callable[[Request], Engine]:
    """Return the factory of the engine of that name.

    Raises:
        UnknownName: no plugin provides an engine of that name.
        MmcoreError: the engine needs a package that is not installed.
    """
    table: PluginTable[str] = PluginTable("engine")
    for item, origin in registry().collected("mmcore_engines", named_target):
        engine_name, target = item
        table.enter(engine_name, target, origin)
    factory: Callable[[Request], Engine] = imported(f"the engine {name!r}", table.named(name, registry().failed))
    return factory


def connect(name: str, request: Request) -> Engine:
    """Return the engine of that name.

    Raises:
        MmcoreError: there is no such engine, or it cannot be used or reached.
    """
    factory = engine_named(name)
    try:
        return factory(request)
    except MmcoreError:
        raise
    except (Exception, SystemExit) as error:  # an engine may raise anything
        raise MmcoreError(f"the engine {name!r} cannot be used: {described(error)}") from error
