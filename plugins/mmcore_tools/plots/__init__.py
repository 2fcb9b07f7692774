"""Figures and pages made from saved results: ``mmcore plot``."""

from __future__ import annotations

from collections.abc import Mapping

from mmcore.hookspecs import hookimpl


@hookimpl
def mmcore_commands() -> Mapping[str, str]:
    """``mmcore plot``."""
    return {"plot": "mmcore_tools.plots.command:plot"}
