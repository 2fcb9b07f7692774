"""Several cards, many workers, and tuned configs: what they cost and what they gain."""

from __future__ import annotations

import heapq
import math
import re
import statistics
from collections.abc import Iterator, Sequence
from typing import Any

from bench.studies import config_model as config_model_study
from bench.studies.scale.stand_in import durations
from bench.studies.tables.table import Row, grouped, percent
from bench.studies.tuning import NEAR
from mmcore.kernel.properties import DeviceProperties
from mmcore_cuda.tuned_configs.model import Constants

_ENGINES = {
    "processes": "`processes`, nothing to do",
    "ray": "`ray`, nothing to do",
    "instant": "none: answers at once",
    "stand-ins": "`ray`, stand-ins for GPUs",
}
_RUNS = {
    "first": "one card",
    "again": "the same card again",
    "both": "two cards",
    "ray": "Ray, a node each",
    "killed": "two cards, one's process killed whenever there was one",
    "ray-killed": "Ray, a node killed",
}
NEAR_MEDIAN = 0.02


def engines(document: Any) -> Iterator[dict[str, Any]]:
    """Yield the head's cost of a cell with each engine, without pytest."""
    for row in document["cases"]:
        if engine := row["case"].get("engine"):
            rounds = 0 if engine in ("processes", "ray") else 1000
            yield {**row, "rounds": rounds, **row["case"], "engine": _ENGINES[engine]}


def pytest(document: Any) -> Iterator[dict[str, Any]]:
    """Yield the costs of pytest as the head."""
    for row in document["cases"]:
        if what := row["case"].get("pytest"):
            rounds, name = ("", "`--collect-only`") if what == "collect" else (1000, "results at once")
            kib = {"kib": 1024 * row["peak_mib"] / row["case"]["cells"], "saved": row["saved_bytes"] / 1024 or None}
            yield {"rounds": rounds, **row["case"], **row, **kib, "pytest": name}


def stand_ins(document: Any) -> Iterator[dict[str, Any]]:
    """Yield the runs with stand-ins for GPUs."""
    for row in document["cases"]:
        case = row["case"]
        if case.get("engine") == "stand-ins":
            longer = ", cells twice as long" if case.get("slower") == 2 else ""
            seconds = durations(case["cells"], case.get("slower", 1))
            yield {**row, **case, "longer": longer, "ideal": _ideal(seconds, case["workers"], case["group"])}


def _ideal(seconds: Sequence[float], workers: int, group: int) -> float:
    """Return the makespan of groups of cells that free workers take in order, without any cost."""
    ends = [0.0] * workers
    for first in range(0, len(seconds), group):
        heapq.heapreplace(ends, ends[0] + sum(seconds[first : first + group]))
    return max(ends)


def limits(document: Any, phases: Any) -> Iterator[list[str]]:
    """Yield each part of the head: its cost of a cell, and the GPUs or cells at which it is full."""
    rows = document["cases"]
    collect = _row_of(rows, pytest="collect", cells=10_000)
    full = _row_of(rows, pytest="measure", cells=1000)
    small, large = (_row_of(rows, pytest="measure", cells=count, rounds=330) for count in (1000, 10_000))
    stand_ins = _row_of(rows, engine="stand-ins", workers=256)
    mean = statistics.fmean(sum(cell["phases"].values()) for cell in phases["cells"])
    sent = document["bytes"]["request"] + document["bytes"]["answer, 1000 rounds"]
    memory = 1024 * (large["peak_mib"] - small["peak_mib"]) / 9000
    for what, share, unit, capacity, counted in (
        ("pytest's thread, 1000 rounds", full["head_cpu_ms"], "ms", 1e3 * mean, "GPUs"),
        ("pytest's thread, 330 rounds", large["head_cpu_ms"], "ms", 1e3 * mean, "GPUs"),
        ("the engine's thread on Ray", _milliseconds_on_ray(rows), "ms", 1e3 * mean, "GPUs"),
        ("pytest's memory, 330 rounds, 64 GiB", memory, "KiB", 64 * 2**20, "cells"),
        ("the engine's memory, 1000 rounds, 64 GiB", stand_ins["held_kib"], "KiB", 64 * 2**20, "cells"),
        ("pytest's collection, 10 min", collect["head_cpu_ms"], "ms", 6e5, "cells"),
        ("saved JSON, 330 rounds, 2 GiB", large["saved_bytes"] / 1024, "KiB", 2 * 2**20, "cells"),
        ("journal, 1000 rounds, 64 GiB", stand_ins["journal_bytes"] / 1024, "KiB", 64 * 2**20, "cells"),
        ("network, 1000 rounds, 1 Gbit/s", sent / 1024, "KiB", mean * 1e9 / 8 / 1024, "GPUs"),
    ):
        cost = f"{share:.1f} ms" if unit == "ms" else f"{share:.0f} KiB"
        yield [what, cost, f"{int(float(f'{capacity / share:.2g}')):,} {counted}"]


def _row_of(rows: list[Row], **wanted: Any) -> Row:
    """Return the first measurement whose case has these values, and no other rounds or slowness."""
    values = {"rounds": None, "slower": None, **wanted}
    return next(row for row in rows if all(row["case"].get(name) == value for name, value in values.items()))


def _milliseconds_on_ray(rows: list[Row]) -> float:
    """Return the head's time for a cell, without Ray's threads, which run without cells too."""
    few, many = (_row_of(rows, engine="stand-ins", workers=count, group=1) for count in (8, 64))
    cells = [row["case"]["cells"] for row in (few, many)]
    spent = [row["head_cpu_ms"] * count for row, count in zip((few, many), cells, strict=True)]
    share = few["seconds"] / many["seconds"]
    return float((spent[0] - share * spent[1]) / (cells[0] - share * cells[1]))


def cards(document: Any) -> Iterator[dict[str, Any]]:
    """Yield the bench on one card, on two, and with one taken away."""
    runs = {run["run"]: run for run in document["runs"]}
    for name, what in _RUNS.items():
        if run := runs.get(name):
            counts = [count for line in run["said"] for count in re.findall(r"(\d+) by ", line)]
            row = {**run, "what": what, "counts": " and ".join(counts)}
            row |= {"share": None, "near": None, "median": None, "most": None}
            if name != "first" and run["options"] == runs["first"]["options"]:
                row["share"] = run["seconds"] / runs["first"]["seconds"]
                if off := list(_differences(document["cells"], name)):
                    row |= {"near": f"{sum(each <= NEAR_MEDIAN for each in off)} of {len(off)}"}
                    row |= {"median": statistics.median(off), "most": max(off)}
            yield row


def _differences(cells: list[Row], name: str) -> Iterator[float]:
    """Yield each cell's difference from the median on the same card alone, where that was measured."""
    for cell in cells:
        alone = {cell[run][0]: cell[run][1] for run in ("first", "second") if run in cell}
        if name in cell and cell[name][0] in alone:
            yield abs(cell[name][1] / alone[cell[name][0]] - 1)


def similar_card(document: Any) -> Iterator[list[str]]:
    """Yield the ladder's share of cuBLAS on an H100, with default configs and with an H200's."""
    for row in document["rows"]:
        sizes = row["m"], row["n"], row["k"]
        row["size"] = f"{row['n']}³" if len(set(sizes)) == 1 else "×".join(map(str, sizes))
        row["shown"] = percent(row["of_cublas"]) or f"{row['seconds'] * 1e6:.1f} µs"
    yield ["default → tuned on an H200", *grouped(document["rows"], "size")]
    for kernel, rows in grouped(document["rows"], "kernel").items():
        pairs = grouped(rows, "size").values()
        yield [f"`{kernel}`", *(f"{default['shown']} → {chosen['shown']}" for chosen, default in pairs)]


def config_model(document: Any) -> Iterator[list[str]]:
    """Yield each shape's fastest time over the time of the model's choice, for each kernel, and their means."""
    times = config_model_study.times_of(document)
    found = config_model_study.ratios(times, times, config_model_study.works(times, DeviceProperties()), Constants())
    kernels, shapes = config_model_study.KERNELS, config_model_study.SHAPES
    yield ["m×n×k", *(f"`{kernel.removeprefix('ladder.')}`" for kernel in kernels)]
    for shape in shapes:
        yield ["×".join(map(str, shape)), *(f"{found[kernel, *shape]:.2f}" for kernel in kernels)]
    means = (config_model_study.mean({shape: found[kernel, *shape] for shape in shapes}) for kernel in kernels)
    yield ["geometric mean", *(f"{mean:.2f}" for mean in means)]


def searches(document: Any) -> Iterator[list[str]]:
    """Yield the results of a search beside exhaustive search and beside Kernel Tuner's strategies."""
    for row in document["kernels"]:
        every = {id: seconds for id, seconds in row["every"]["trials"].items() if seconds is not None}
        least, tried = min(every.values()), list(row["searched"]["trials"])
        winner = min(row["searched"]["final"], key=row["searched"]["final"].get)
        near = next((count for count, id in enumerate(tried, 1) if every.get(id, math.inf) <= NEAR * least), "–")
        replayed = dict(row["replayed"])
        third = replayed.pop("evaluations")
        reached = {name: sum(each["slower"] <= NEAR for each in found) for name, found in replayed.items()}
        own, *others = reached.pop("mmcore"), *sorted(reached.items(), key=lambda each: -each[1])
        strategies = ", ".join(f"{name} {count}" for name, count in others)
        figures = (len(row["every"]["trials"]), f"{every[winner] / least:.3f}", near, third, own)
        yield [f"`{row['kernel']}`", *map(str, figures), strategies]
