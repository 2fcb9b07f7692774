"""Commands about many kernels and results: conform, tune, experiments, plots, history, new-plugin and doctor."""

from __future__ import annotations

from collections.abc import Mapping

from mmcore.hookspecs import hookimpl


@hookimpl
def mmcore_commands() -> Mapping[str, str]:
    """Return ``mmcore doctor``."""
    return {"doctor": "mmcore_tools.doctor:doctor"}
