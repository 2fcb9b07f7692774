"""The report of ``mmcore tune``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import RenderableType

from mmcore.cli.output import fields
from mmcore_tools.tune.tuning import Tuning


def table(tunings: Sequence[Tuning], paths: Sequence[Path], device: Mapping[str, Any]) -> list[RenderableType]:
    """Return a block of lines for each kernel and product, and the files that were written."""
    parts: list[RenderableType] = []
    for tuning in tunings:
        parts += [f"{tuning.label} on {device['description']}\n", fields(_rows(tuning)), ""]
    written = ", ".join(map(str, dict.fromkeys(paths)))
    return [*parts, f"written to {written}"]


def _rows(tuning: Tuning) -> list[tuple[str, str]]:
    search, space, result = tuning.search, tuning.search.space, tuning.beside
    assert result is not None
    seconds = result.kernel_seconds or 0.0
    best = tuning.times[tuning.winner]
    others = [f"{value / best:.3f} times as long: {id}" for id, value in tuning.times.items() if id != tuning.winner]
    earlier = f", {search.before} of them before" if search.before else ""
    default = next((search.seconds.get(id) for id in space.usual), None)
    own = search.seconds[tuning.winner] or seconds
    gained = "" if default is None else f"{default / own:.2f} times as fast as the default, {space.usual[0]}"
    return [
        ("config", str(space.configs[tuning.winner])),
        ("kernel time", f"{seconds * 1e6:.2f} µs, {result.kernel_gflops or 0:.4g} GFLOP/s"),
        ("speed", "\n".join(filter(None, [gained, *map(str, result.compared)]))),
        ("in turns with", "\n".join(others)),
        ("tried", f"{len(search.seconds)} of {len(space.configs)} configs{earlier}"),
        ("not launched", f"{space.refused} configs, which constraints or limits forbid" if space.refused else ""),
        ("wrong", "\n".join(f"{id}: {reason}" for id, reason in search.wrong.items())),
    ]


def document(tunings: Sequence[Tuning], paths: Sequence[Path]) -> list[dict[str, Any]]:
    """Return the document of ``--json``."""
    return [
        {
            "kernel": tuning.kernel.name,
            **{name: getattr(tuning.problem, name) for name in "mnk"},
            "config": tuning.search.space.configs[tuning.winner].to_json(),
            "seconds": tuning.beside and tuning.beside.kernel_seconds,
            "final": tuning.times,
            "of_library": tuning.beside and tuning.beside.baseline and tuning.beside.baseline.faster,
            "trials": tuning.search.seconds,
            "before": tuning.search.before,
            "configs": len(tuning.search.space.configs),
            "refused": tuning.search.space.refused,
            "wrong": tuning.search.wrong,
            "file": str(path),
        }
        for tuning, path in zip(tunings, paths, strict=True)
    ]
