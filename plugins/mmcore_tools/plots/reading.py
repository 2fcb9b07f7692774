"""Files of results, as pytest-benchmark writes them: read, checked, and put together by what was measured on what."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from mmcore.baseline_comparison import BaselineComparison
from mmcore.cell import WAYS
from mmcore.errors import MmcoreError
from mmcore.kernel.geometry import dim3
from mmcore.messages import all_visible
from mmcore_pytest.saved_results import KEY, read_document
from mmcore_tools.plots.results import SECTOR_BYTES, Entry, InvalidResults, Results

# Where a result says how it was measured.
_HOW = {"kernel": "caches", "end-to-end": "memory"}


def read(paths: Iterable[Path]) -> list[Results]:
    """The results of some files, in their order; files of one experiment and device make one.

    Where a cell was measured more than once, its latest result counts. Raises InvalidResults for a file that cannot be
    read, is damaged, or holds no results of mmcore's.
    """
    together: dict[tuple[str, str], list[Results]] = {}
    for path in paths:
        found = _read(path)
        together.setdefault((found.experiment, found.device), []).append(found)
    return [_merged(sorted(parts, key=lambda part: part.date)) for parts in together.values()]


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
    document, where = _document(path), str(path)
    try:
        machine, about, entries = document["machine_info"][KEY], document.get(KEY, {}), []
        for index, benchmark in enumerate(document["benchmarks"], 1):
            where = f"{path}: benchmark {index}"
            entries.append(_entry(benchmark["extra_info"]))
        where = str(path)
        return Results(
            experiment=_text(about, "experiment", ""),
            quick=bool(about.get("quick")),
            title=_text(about, "title", ""),
            shows=_text(about, "shows", ""),
            machine={**machine, "name": _text(machine, "name")},
            date=_text(document, "datetime"),
            entries=tuple(entries),
            skipped=tuple(map(_skipped, about.get("refused", ()))),
            failed=tuple(map(_skipped, about.get("failed", ()))),
            left_out=tuple(map(str, about.get("left_out", ()))),
            baseline=_text(about, "baseline", ""),
        )
    except KeyError as error:
        raise InvalidResults(f"{where} is not a result of mmcore's: it has no {error}") from None
    except (ValueError, MmcoreError) as error:
        raise InvalidResults(f"{where} is damaged: {error}") from None
    except (TypeError, AttributeError):
        raise InvalidResults(f"{where} is damaged: it is not in the form of mmcore's results") from None


def _document(path: Path) -> dict[str, Any]:
    try:
        document = all_visible(read_document(path))
    except OSError as error:
        raise InvalidResults(f"{path} cannot be read: {error.strerror or error}") from None
    except (ValueError, RecursionError) as error:
        raise InvalidResults(f"{path} is damaged, or no JSON: {error}") from None
    if not isinstance(document, dict) or not isinstance(document.get("benchmarks"), list):
        raise InvalidResults(f"{path} holds no results: it is not what pytest-benchmark saves")
    if not document["benchmarks"]:
        raise InvalidResults(f"{path} holds no results: nothing was measured in that run")
    return document


def _entry(info: Mapping[str, Any]) -> Entry:
    measure = _one_of(info, "measure", tuple(WAYS))
    # Where nothing was timed, nothing is said of how.
    how = WAYS[measure][0] if info[_HOW[measure]] is None else _one_of(info, _HOW[measure], WAYS[measure])
    cell, numbers = _cell(info), _numbers(info)
    if sectors := numbers.get("global_sectors"):
        numbers["flop_per_byte"] = 2 * cell.m * cell.n * cell.k / (SECTOR_BYTES * sectors)
    elif "median_ms" not in numbers:
        raise ValueError("it has neither a kernel time nor counts, so that there is nothing to draw")
    baseline, beside = _baseline(info, cell) if "median_ms" in numbers else ("", {})
    return replace(
        cell,
        measure=measure,
        how=how,
        dtype=_text(info, "dtype"),
        verification=_text(info, "verification"),
        numbers=numbers | beside,
        baseline=baseline,
    )


def _baseline(info: Mapping[str, Any], cell: Entry) -> tuple[str, dict[str, float]]:
    """What the fastest baseline is called, its GFLOP/s and the kernel's percent of it; nothing where there is none."""
    if info.get("baseline") is None:
        return "", {}
    compared = {each["kernel"]: BaselineComparison.from_json(each) for each in info["compared"]}[info["baseline"]]
    seconds = _number({"time": compared.time and compared.time.seconds}, "time")
    if not seconds:
        raise ValueError(f"{compared.kernel} takes no time")
    known = {
        "baseline_gflops": 2 * cell.m * cell.n * cell.k / seconds / 1e9,
        "percent_of_baseline": info["percent_of_baseline"],
    }
    return compared.label, {name: _number(known, name) for name in known}


def _numbers(info: Mapping[str, Any]) -> dict[str, float]:
    """What was measured or counted and is known."""
    figures = info.get("figures", {})
    found = {name: figures.get(name) for name in ("instructions", "global_sectors")}
    # Without a rate, the time is the emulation's own.
    if info["gflops"] and info["median_ms"]:
        found |= {name: info.get(name) for name in ("median_ms", "gflops", "spread_percent", "percent_of_peak")}
    found |= {name: info[name] for name in ("registers", "shared_bytes")}
    return {name: _number(found, name) for name, value in found.items() if value is not None}


def _cell(info: Mapping[str, Any]) -> Entry:
    m, n, k = (int(_number(info["problem"], name)) for name in "mnk")
    if not m * n * k:
        raise ValueError(f"{m}×{n}×{k} is not a product")
    config = info["config"]
    # The id holds the parameters that do not follow from others.
    free = info.get("config_id", "").split("-")
    parameters = ", ".join(f"{name}={value}" for name, value in config.items() if f"{name}{value}" in free)
    return Entry(_text(info, "kernel"), m, n, k, dim3(config["block"]), parameters)


def _skipped(values: Mapping[str, Any]) -> Entry:
    return replace(_cell(values), reason=_text(values, "reason").splitlines()[0])


def _text(values: Mapping[str, Any], name: str, default: str | None = None) -> str:
    value = values[name] if default is None else values.get(name, default)
    if not isinstance(value, str) or not (value.strip() or value == default):
        raise ValueError(f"{name!r} is not a text")
    return value


def _one_of(values: Mapping[str, Any], name: str, choices: Sequence[str]) -> str:
    if values[name] not in choices:
        raise ValueError(f"{name!r} is not {' or '.join(map(repr, choices))}")
    return str(values[name])


def _number(values: Mapping[str, Any], name: str) -> float:
    value = values[name]
    if type(value) not in (int, float) or not 0 <= value < 2**63:
        raise ValueError(f"{name!r} is not a number from 0")
    return float(value)
