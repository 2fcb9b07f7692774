"""Commands beside ``mmcore run``: conform, tune, experiment, plot, bench-history, new-plugin and doctor."""

from __future__ import annotations

from collections.abc import Mapping

from mmcore.hookspecs import hookimpl
from mmcore_tools.experiments.preset import mmcore_presets

__all__ = ["mmcore_presets"]


@hookimpl
def mmcore_commands() -> Mapping[str, str]:
    """Return the commands of this package; each imports its modules when it is called."""
    return {
        "bench-history": "mmcore_tools.history.command:bench_history",
        "conform": "mmcore_tools.conform.command:conform",
        "doctor": "mmcore_tools.doctor:doctor",
        "experiment": "mmcore_tools.experiments.command:experiment",
        "new-plugin": "mmcore_tools.new_plugin.command:new_plugin",
        "plot": "mmcore_tools.plots.command:plot",
        "tune": "mmcore_tools.tune.command:tune",
    }
