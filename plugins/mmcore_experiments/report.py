"""What ``mmcore experiment`` prints: the presets that there are, and what came of one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import RenderableType
from rich.table import Column, Table

from mmcore.cli.output import fields
from mmcore.registry import Registered
from mmcore_experiments.preset import Preset

_PLAIN: Mapping[str, Any] = {"box": None, "pad_edge": False, "padding": (0, 2, 0, 0)}


def summary(registered: Registered[Preset]) -> dict[str, Any]:
    """What ``--list --json`` says of a preset."""
    preset, origin = registered
    quick = preset.form(quick=True, timed=True).to_json()
    return {
        "name": preset.name,
        **preset.to_json(),
        "quick": {name: quick[name] for name in ("kernels", "sizes", "blocks", "configs")},
        "max_time": preset.max_time,
        "min_rounds": preset.min_rounds,
        **origin._asdict(),
    }


def listing(found: Iterable[Registered[Preset]]) -> RenderableType:
    """A row for each preset."""
    table = Table(Column("preset", no_wrap=True), "what it varies", "kernels", **_PLAIN)
    for preset, _ in found:
        table.add_row(preset.name, preset.title, " ".join(preset.kernels))
    return table


def outcome(document: Mapping[str, Any], results: Path, before: int) -> dict[str, Any]:
    """What ``--json`` says of a preset that was run."""
    section = document["mmcore"]
    return {
        **{name: section[name] for name in ("experiment", "quick", "left_out", "refused", "failed")},
        "device": document["machine_info"]["mmcore"]["name"],
        "results": str(results),
        "cells": len(document["benchmarks"]),
        "measured_before": before,
    }


def report(document: Mapping[str, Any], results: Path, before: int) -> list[RenderableType]:
    """Where the results are, what each kernel reached, what was refused and what failed."""
    section, infos = document["mmcore"], [benchmark["extra_info"] for benchmark in document["benchmarks"]]
    timed, reduced = section["timed"], section["quick"]
    facts = [
        ("device", document["machine_info"]["mmcore"]["name"]),
        ("cells", f"{len(infos)}: {len(infos) - before} measured now, {before} before"),
        ("left out", "\n".join(section["left_out"])),
        ("results", str(results)),
    ]
    return [
        f"{section['experiment']}{', reduced form' if reduced else ''}: {section['title']}\n",
        *([f"{section['shows']}\n"] if timed and not reduced else []),
        fields(facts),
        "",
        _table(infos, timed=timed),
        *_reasons("refused", section["refused"]),
        *_reasons("failed", section["failed"]),
    ]


def _table(infos: Sequence[Mapping[str, Any]], *, timed: bool) -> Table:
    """The highest rate of each series; without times, the figures of its largest product."""
    figures = list(dict.fromkeys(name for info in infos for name in info["figures"]))
    numbers = ["best GFLOP/s"] if timed else [name.replace("_", " ") for name in figures]
    right = (Column(name, justify="right") for name in numbers)
    table = Table(Column("kernel", no_wrap=True), "config", "measured", "cells", "at", *right, **_PLAIN)
    for (kernel, config, *how), members in _series(infos, "kernel", "config_id", "measure", "caches", "memory").items():
        best = max(members, key=lambda info: info["gflops"] or info["problem"]["n"])
        found = [best["gflops"]] if timed else [best["figures"].get(name) for name in figures]
        texts = ["" if each is None else f"{each:,.0f}" if each >= 100 else f"{each:.3g}" for each in found]
        table.add_row(kernel, config, ", ".join(filter(None, how)), str(len(members)), _problem(best), *texts)
    return table


def _reasons(what: str, cells: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """What was refused or failed: the first size of each kernel and config with its reason, and how many more."""
    for index, ((kernel, config), members) in enumerate(_series(cells, "kernel", "config_id").items()):
        more = f" (and {len(members) - 1} more)" if len(members) > 1 else ""
        heading = "" if index else f"\n{what}:\n"
        yield f"{heading}  {kernel} {_problem(members[0])} {config}: {members[0]['reason']}{more}"


def _series(cells: Iterable[Mapping[str, Any]], *names: str) -> dict[tuple[Any, ...], list[Mapping[str, Any]]]:
    """The cells by what they have under these names."""
    series: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for cell in cells:
        series.setdefault(tuple(cell[name] for name in names), []).append(cell)
    return series


def _problem(cell: Mapping[str, Any]) -> str:
    return "×".join(str(cell["problem"][name]) for name in ("m", "n", "k"))
