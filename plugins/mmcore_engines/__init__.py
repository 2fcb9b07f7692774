"""Engines, which measure many cells in parallel, on all cards of this machine or on other hosts.

Each worker of an engine measures one cell at a time on one device. :class:`Scheduler` assigns cells to workers.
Plugins provide engines through the hook ``mmcore_engines``. Names are imported on first use, because listing kernels
loads this module.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from mmcore.hookspecs import hookimpl, hookspec

if TYPE_CHECKING:
    from mmcore_engines.device_worker import DeviceWorker
    from mmcore_engines.engine import Engine, Request, Worker, connect
    from mmcore_engines.scheduler import Scheduler

__all__ = ["DeviceWorker", "Engine", "Request", "Scheduler", "Worker", "connect", "mmcore_engines"]

_MODULES = {"DeviceWorker": "device_worker", "Scheduler": "scheduler"}


if not TYPE_CHECKING:  # a type checker is to find misspelt names

    def __getattr__(name: str) -> Any:
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        return getattr(import_module(f"{__name__}.{_MODULES.get(name, 'engine')}"), name)


@hookspec
def mmcore_engines() -> Mapping[str, str]:  # type: ignore[empty-body]
    """Return engines by name, each as "module:function": ``(Request) -> Engine``. It is imported on first use."""


@hookimpl(specname="mmcore_engines")
def local_engines() -> Mapping[str, str]:
    """Return the engine of ``--mm-engine processes``."""
    return {"processes": "mmcore_engines.processes:Processes"}
