"""The reader of files of results: checked, and grouped by experiment and device."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from mmcore.baseline_comparison import BaselineComparison
from mmcore.cell import WAYS
from mmcore.kernel.geometry import dim3
from mmcore.messages import all_visible, visible
from mmcore_pytest.saved_results import KEY
from mmcore_tools.plots.results import SECTOR_BYTES, Entry, Results
from mmcore_tools.saved import DAMAGE, HOW, InvalidResults, damage, number, one_of, saved_document, text

_COUNTS = ("instructions", "global_sectors")
_TIMES = ("median_ms", "gflops", "spread_percent", "percent_of_peak")


def read(paths: Iterable[Path]) -> list[Results]:
    """Return the results of some files, in their order; files of one experiment and device make one.

    The latest result of a cell counts. Raises InvalidResults for a file that cannot be read, is damaged, or holds no
    results of mmcore's.
    """
    groups: dict[tuple[str, str], list[Results]] = {}
    for path in paths:
        results = _read(path)
        groups.setdefault((results.experiment, results.device), []).append(results)
    return [_merged(sorted(parts, key=lambda part: part.date)) for parts in groups.values()]


def _merged(parts: Sequence[Results]) -> Results:
    every = {entry: entry for part in parts for entry in part.entries}.values()
    return replace(
        parts[-1],
        quick=any(part.quick for part in parts),
        date=parts[-1].date[:10],
        entries=tuple([entry for entry in every if "median_ms" in entry.numbers] or every),
        skipped=tuple(dict.fromkeys(each for part in parts for each in part.skipped)),
        failed=tuple(dict.fromkeys(each for part in parts for each in part.failed)),
    )


def _read(path: Path) -> Results:
    document, where = saved_document(path), str(path)
    if not document["benchmarks"]:
        raise InvalidResults(f"{path} holds no results: nothing was measured in that run")
    try:
        machine, about, entries = all_visible(document["machine_info"][KEY]), document.get(KEY, {}), []
        for index, benchmark in enumerate(document["benchmarks"], 1):
            where = f"{path}: benchmark {index}"
            entries.append(_entry(benchmark["extra_info"]))
        where = str(path)
        return Results(
            **{name: text(about, name, "") for name in ("experiment", "title", "shows", "baseline")},
            quick=bool(about.get("quick")),
            machine={**machine, "name": text(machine, "name")},
            date=text(document, "datetime"),
            entries=tuple(entries),
            skipped=tuple(map(_skipped, about.get("refused", ()))),
            failed=tuple(map(_skipped, about.get("failed", ()))),
            left_out=tuple(visible(str(each)) for each in about.get("left_out", ())),
        )
    except DAMAGE as error:
        what = "is not a result of mmcore's" if isinstance(error, KeyError) else "is damaged"
        raise InvalidResults(f"{where} {what}: {damage(error)}") from None


def _entry(info: Mapping[str, Any]) -> Entry:
    measure = one_of(info, "measure", tuple(WAYS))
    # An untimed result does not say how it was measured.
    how = WAYS[measure][0] if info[HOW[measure]] is None else one_of(info, HOW[measure], WAYS[measure])
    cell, numbers = _cell(info), _numbers(info)
    if sectors := numbers.get("global_sectors"):
        numbers["flop_per_byte"] = 2 * cell.m * cell.n * cell.k / (SECTOR_BYTES * sectors)
    elif "median_ms" not in numbers:
        raise ValueError("it has neither a kernel time nor counts")
    baseline, compared = _baseline(info, cell) if "median_ms" in numbers else ("", {})
    texts: dict[str, Any] = {name: text(info, name) for name in ("dtype", "verification")}
    return replace(cell, measure=measure, how=how, numbers=numbers | compared, baseline=baseline, **texts)


def _baseline(info: Mapping[str, Any], cell: Entry) -> tuple[str, dict[str, float]]:
    """Return the label of the fastest baseline, its GFLOP/s and the kernel's percent of it; nothing without one."""
    if info.get("baseline") is None:
        return "", {}
    compared = {each["kernel"]: BaselineComparison.from_json(each) for each in info["compared"]}[info["baseline"]]
    seconds = number({"time": compared.time and compared.time.seconds}, "time")
    if not seconds:
        raise ValueError(f"{compared.kernel} takes no time")
    values = {**info, "baseline_gflops": 2 * cell.m * cell.n * cell.k / seconds / 1e9}
    return visible(compared.label), {name: number(values, name) for name in ("baseline_gflops", "percent_of_baseline")}


def _numbers(info: Mapping[str, Any]) -> dict[str, float]:
    counts = info.get("figures", {})
    values = {name: counts.get(name) for name in _COUNTS}
    # A time without a rate is the emulator's own.
    if info["gflops"] and info["median_ms"]:
        values |= {name: info.get(name) for name in _TIMES}
    values |= {name: info[name] for name in ("registers", "shared_bytes")}
    return {name: number(values, name) for name, value in values.items() if value is not None}


def _cell(info: Mapping[str, Any]) -> Entry:
    m, n, k = (int(number(info["problem"], name)) for name in "mnk")
    if not m * n * k:
        raise ValueError(f"{m}×{n}×{k} is not a product")
    # The id of a config has only the parameters that do not follow from others.
    free = info.get("config_id", "").split("-")
    parameters = ", ".join(f"{name}={value}" for name, value in info["config"].items() if f"{name}{value}" in free)
    return Entry(text(info, "kernel"), m, n, k, dim3(info["config"]["block"]), visible(parameters))


def _skipped(values: Mapping[str, Any]) -> Entry:
    return replace(_cell(values), reason=text(values, "reason").splitlines()[0])
