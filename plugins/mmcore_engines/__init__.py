"""Engines: what measures many cells at a time, on all cards of this machine or on other hosts.

An engine has workers, each of which measures one cell at a time on one device; :class:`Spread` gives them the cells.
Plugins bring more engines by the hook ``mmcore_engines``.
"""

from __future__ import annotations

from collections.abc import Mapping

from mmcore.hookspecs import hookimpl, hookspec
from mmcore_engines.engine import Engine, Request, Worker, connect
from mmcore_engines.place import Place
from mmcore_engines.spread import Spread

__all__ = ["Engine", "Place", "Request", "Spread", "Worker", "connect", "mmcore_engines"]


@hookspec
def mmcore_engines() -> Mapping[str, str]:  # type: ignore[empty-body]
    """Return engines by name, each as "module:function": ``(Request) -> Engine``, imported when it is asked for."""


@hookimpl(specname="mmcore_engines")
def own_engines() -> Mapping[str, str]:
    """``--mm-engine processes``."""
    return {"processes": "mmcore_engines.processes:Processes"}
