"""Commands about kernels: run, list-kernels, show, conform, tune, experiment, plot, new-plugin and others."""

from __future__ import annotations

from collections.abc import Mapping

from mmcore.hookspecs import hookimpl
from mmcore_tools.experiments.preset import mmcore_presets
from mmcore_tools.hookspecs import mmcore_hints, mmcore_notes, mmcore_remarks

__all__ = ["mmcore_hints", "mmcore_notes", "mmcore_presets", "mmcore_remarks"]


@hookimpl
def mmcore_commands() -> Mapping[str, str]:
    """Return the commands of this package; each imports its modules when it is called."""
    return {
        "bench-history": "mmcore_tools.history.command:bench_history",
        "compare": "mmcore_tools.compare.command:compare",
        "conform": "mmcore_tools.conform.command:conform",
        "doctor": "mmcore_tools.doctor:doctor",
        "experiment": "mmcore_tools.experiments.command:experiment",
        "list-kernels": "mmcore_tools.list_kernels:list_kernels",
        "new-plugin": "mmcore_tools.new_plugin.command:new_plugin",
        "plot": "mmcore_tools.plots.command:plot",
        "report": "mmcore_tools.report.command:report",
        "run": "mmcore_tools.run:run",
        "show": "mmcore_tools.show:show",
        "tune": "mmcore_tools.tune.command:tune",
    }
