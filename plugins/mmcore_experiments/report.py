"""What ``mmcore experiment`` prints: the experiments that there are, and what came of one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mmcore.cli.output import fields
from mmcore.kernel.geometry import Dim3
from mmcore.registry import RegisteredSweep
from mmcore_experiments.preset import Sweep

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

    from mmcore_experiments.running import Finished


def summary(registered: RegisteredSweep) -> dict[str, Any]:
    """What ``--list --json`` says of an experiment."""
    sweep = registered.sweep
    return {
        "name": sweep.name,
        "title": sweep.title,
        "lecture": sweep.lecture,
        "shows": sweep.shows,
        **_extent(sweep),
        "measures": list(sweep.measures),
        "quick": _extent(sweep.reduced),
        "max_time": sweep.max_time,
        "min_rounds": sweep.min_rounds,
        "plugin": registered.plugin,
        "distribution": registered.distribution,
    }


def _extent(sweep: Sweep) -> dict[str, Any]:
    return {
        "kernels": list(sweep.kernels),
        "sizes": [list(sizes) for sizes in sweep.problems],
        "blocks": list(sweep.block_texts),
    }


def listing(sweeps: Sequence[Sweep]) -> list[RenderableType]:
    """A row for each experiment."""
    table = _table("experiment", "what it varies", "kernels")
    for sweep in sweeps:
        table.add_row(sweep.name, sweep.title, " ".join(sweep.kernels))
    return [table]


def came_of(finished: Finished) -> dict[str, Any]:
    """What ``--json`` says of an experiment that was run."""
    section, cells = finished.document["mmcore"], len(finished.document["benchmarks"])
    return {
        "experiment": section["experiment"],
        "quick": section["quick"],
        "device": finished.document["machine_info"]["mmcore"]["name"],
        "results": str(finished.path),
        "cells": cells,
        "measured_before": finished.before,
        "left_out": section["left_out"],
        "refused": section["refused"],
        "failed": section["failed"],
    }


def report(finished: Finished) -> list[RenderableType]:
    """Where the results are, what each kernel reached, what was refused and what failed."""
    section, benchmarks = finished.document["mmcore"], finished.document["benchmarks"]
    now = len(benchmarks) - finished.before
    reduced = ", reduced form" if section["quick"] else ""
    facts = [
        ("device", finished.document["machine_info"]["mmcore"]["name"]),
        ("cells", f"{len(benchmarks)}: {now} measured now, {finished.before} before"),
        ("left out", "\n".join(section["left_out"])),
        ("results", str(finished.path)),
    ]
    table = _rates(benchmarks) if section["timed"] else _emulated(benchmarks)
    return [
        f"{section['experiment']}{reduced}: {section['title']}\n\n{section['shows']}\n",
        fields(facts),
        "",
        table,
        *_complaints("refused", section["refused"]),
        *_complaints("failed", section["failed"]),
    ]


def _rates(benchmarks: Sequence[Mapping[str, Any]]) -> Table:
    table = _table("kernel", "block", "measured", "cells", "best GFLOP/s", "at", right=2)
    for (kernel, block, how), infos in _series(benchmarks).items():
        best = max(infos, key=lambda info: float(info["gflops"]))
        table.add_row(kernel, block, how, str(len(infos)), f"{best['gflops']:.0f}", _problem(best["problem"]))
    return table


def _emulated(benchmarks: Sequence[Mapping[str, Any]]) -> Table:
    """What an emulator has to say instead of times."""
    table = _table("kernel", "block", "cells", "emulated counts at", "multiply-adds", "global sectors", right=2)
    for (kernel, block, _), infos in _series(benchmarks).items():
        last = max(infos, key=lambda info: int(info["problem"]["n"]))
        # Of loads and stores, as figures and pages have them.
        counts = [("fmas",), ("global_load_sectors", "global_store_sectors")]
        found = [[last["counts"].get(name) for name in names] for names in counts]
        numbers = ["" if None in each else f"{sum(each):,}" for each in found]
        table.add_row(kernel, block, str(len(infos)), _problem(last["problem"]), *numbers)
    return table


def _series(benchmarks: Sequence[Mapping[str, Any]]) -> dict[tuple[str, str, str], list[Mapping[str, Any]]]:
    series: dict[tuple[str, str, str], list[Mapping[str, Any]]] = {}
    for benchmark in benchmarks:
        info = benchmark["extra_info"]
        key = (info["kernel"], str(Dim3(*info["block"])), f"{info['measure']}, {info['caches'] or info['memory']}")
        series.setdefault(key, []).append(info)
    return series


def _complaints(what: str, cells: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """What was refused or failed: the first size of each kernel and block with its reason, and how many more."""
    series: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for cell in cells:
        series.setdefault((cell["kernel"], str(Dim3(*cell["block"]))), []).append(cell)
    if series:
        yield f"\n{what}:"
    for (kernel, block), members in series.items():
        more = f" (and {len(members) - 1} more)" if len(members) > 1 else ""
        yield f"  {kernel} {_problem(members[0]['problem'])} in {block} blocks: {members[0]['reason']}{more}"


def _problem(problem: Mapping[str, int]) -> str:
    return "×".join(str(problem[name]) for name in ("m", "n", "k"))


def _table(*headings: str, right: int = 0) -> Table:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for index, heading in enumerate(headings):
        number = index >= len(headings) - right
        table.add_column(heading, no_wrap=not index, justify="right" if number else "left")
    return table
