"""Kernels over time, from saved results of many hosts and dates: ``mmcore bench-history``."""

from __future__ import annotations

from collections.abc import Mapping

from mmcore.hookspecs import hookimpl


@hookimpl
def mmcore_commands() -> Mapping[str, str]:
    """``mmcore bench-history``."""
    return {"bench-history": "mmcore_tools.history.command:bench_history"}
