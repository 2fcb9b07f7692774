"""The costs of spreading cells over many workers, and predictions for a thousand GPUs."""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench.studies.tables import sources
from bench.studies.tables.markdown import markdown
from bench.studies.tables.sources import results
from bench.studies.tuning import NEAR

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
_PYTEST = {"collect": "`--collect-only`", "measure": "results at once"}


@contextmanager
def _document(name: str) -> Iterator[Any]:
    with results(sources.RESULTS / "scale" / f"{name}.json") as document:
        yield document


def head() -> str:
    """Return the head's cost of a cell with each engine, without pytest."""
    rows = []
    with _document("head") as document:
        for row in document["cases"]:
            case = row["case"]
            if "engine" in case:
                rounds = case.get("rounds", 0 if case["engine"] in ("processes", "ray") else 1000)
                figures = [f"{row['head_cpu_ms']:.1f}", f"{row['held_kib']:.0f}", f"{row['peak_mib']:.0f}"]
                counts = [f"{case[name]}" for name in ("workers", "cells", "group")]
                rows.append([_ENGINES[case["engine"]], *counts, str(rounds), *figures])
    header = "engine | workers | cells | in a group | rounds | head's CPU, ms a cell | KiB a result | peak, MiB"
    return markdown(header, rows)


def pytest_head() -> str:
    """Return the costs of pytest as the head."""
    rows = []
    with _document("head") as document:
        for row in document["cases"]:
            case = row["case"]
            if "pytest" in case:
                rounds = "" if case["pytest"] == "collect" else str(case.get("rounds", 1000))
                kib = 1024 * row["peak_mib"] / case["cells"]
                saved = f"{row['saved_bytes'] / 1024:.0f}" if row["saved_bytes"] else ""
                figures = [f"{row['head_cpu_ms']:.1f}", f"{row['peak_mib']:.0f}", f"{kib:.0f}", saved]
                rows.append([_PYTEST[case["pytest"]], str(case["cells"]), rounds, *figures])
    header = "pytest | cells | rounds | CPU, ms a cell | peak, MiB | KiB a cell | saved, KiB a cell"
    return markdown(header, rows)


def sizes() -> str:
    """Return the bytes of messages between the head and a worker."""
    with _document("head") as document:
        return markdown("message | bytes", [[name, f"{size:,}"] for name, size in document["bytes"].items()])


def stand_ins() -> str:
    """Return runs with stand-ins for GPUs: ideal, measured and simulated."""
    with _document("simulation") as document, _document("head") as measured:
        found = {_key(row["case"]): row for row in measured["cases"] if row["case"].get("engine") == "stand-ins"}
        rows = []
        for run in document["validation"]:
            row, counts = found[_key(run)], [f"{run[name]}" for name in ("workers", "cells", "group")]
            counts[0] += ", cells twice as long" * (run["slower"] == 2)
            error = f"{100 * (run['simulated'] / run['measured'] - 1):+.1f} %"
            seconds = [f"{run[name]:.1f}" for name in ("ideal", "measured", "simulated")]
            rows.append([*counts, *seconds, error, f"{row['free_ms']:.1f}", f"{row['free_ms_95']:.1f}"])
    header = "GPUs | cells | in a group | ideal, s | measured, s | simulated, s | error | free, ms | 95 %, ms"
    return markdown(header, rows)


def limits() -> str:
    """Return the number of GPUs or cells at which each part of the head is full."""
    rows = []
    with _document("simulation") as document:
        for each in document["limits"]:
            full = f"{each['gpus']:,} GPUs" if "gpus" in each else f"{each['cells']:,} cells"
            rows.append([each["what"], each["cost"], full])
    return markdown("what | a cell's share | full at", rows)


def predictions() -> str:
    """Return the predictions for a million cells on a thousand GPUs."""
    rows = []
    with _document("simulation") as document:
        for each in document["predictions"]:
            shares = [f"{100 * each[name]:.0f} %" for name in ("measuring", "head")]
            rows.append([each["what"], f"{each['makespan'] / 60:.0f}", *shares, f"{each['begun_again']:.0f}"])
    return markdown("run | min | GPUs measuring | head busy | begun again", rows)


def _key(case: Mapping[str, Any]) -> tuple[int, int, int]:
    return case["workers"], case["group"], case.get("slower", 1)


def cards(card: Path) -> str:
    """Return the bench on one card, on two, and with one taken away, from the folder ``card`` of results."""
    with results(card / "cards.json") as document:
        runs = {run["run"]: run for run in document["runs"]}
        rows = []
        for name, what in _RUNS.items():
            if name not in runs:
                continue
            run = runs[name]
            as_first = name != "first" and run["options"] == runs["first"]["options"]
            share = f"{100 * run['seconds'] / runs['first']['seconds']:.0f} %" if as_first else ""
            counts = [count for line in run["said"] for count in re.findall(r"(\d+) by ", line)]
            off = list(_differences(document["cells"], name)) if as_first else []
            near = f"{sum(each <= NEAR_MEDIAN for each in off)} of {len(off)}" if off else ""
            figures = [f"{run['seconds']:.0f}", share, " and ".join(counts), near]
            figures += [f"{100 * statistics.median(off):.1f} %", f"{100 * max(off):.1f} %"] if off else ["", ""]
            rows.append([what, f"`{run['options']}`", *figures])
    header = "run | options | s | of one card | cells by each | medians within 2 % | median off by | at most"
    return markdown(header, rows)


def _differences(cells: Sequence[Mapping[str, Any]], name: str) -> Iterator[float]:
    """Yield each cell's difference from the median on the same card alone, where that was measured."""
    for cell in cells:
        alone = {cell[run][0]: cell[run][1] for run in ("first", "second") if run in cell}
        if name in cell and cell[name][0] in alone:
            yield abs(cell[name][1] / alone[cell[name][0]] - 1)


def similar_card() -> str:
    """Return the table of the ladder on an H100: its share of cuBLAS with default configs and with an H200's."""
    shares: dict[str, dict[str, list[str]]] = {}
    with results(sources.H100 / "similar_card.json") as document:
        for row in document["rows"]:
            size = f"{row['n']}³" if row["m"] == row["n"] == row["k"] else f"{row['m']}×{row['n']}×{row['k']}"
            told = f"{row['seconds'] * 1e6:.1f} µs" if row["of_cublas"] is None else f"{100 * row['of_cublas']:.0f} %"
            shares.setdefault(row["kernel"], {}).setdefault(size, []).insert(0, told)
    sizes = [*next(iter(shares.values()))]
    rows = [[f"`{kernel}`", *(" → ".join(found[size]) for size in sizes)] for kernel, found in shares.items()]
    return markdown(" | ".join(("default → tuned on an H200", *sizes)), rows)


def searches() -> str:
    """Return the results of a search beside exhaustive search and beside Kernel Tuner's strategies."""
    rows = []
    with results(sources.H200 / "tuning.json") as document:
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
            configs, found = len(row["every"]["trials"]), f"{every[winner] / least:.3f}"
            rows.append([f"`{row['kernel']}`", *map(str, (configs, found, near, third, own)), strategies])
    header = "kernel | configs | found | near after | a third | `mmcore tune` | Kernel Tuner"
    return markdown(header, rows)
