"""Files of results, as pytest-benchmark writes them: read, checked, and put together by what was measured on what."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from mmcore.errors import MmcoreError
from mmcore.kernel.geometry import dim3
from mmcore.saved import KEY, upgraded
from mmcore_plots.results import Cell, Entry, InvalidResults, Results, Skipped

_HOW = {"kernel": ("caches", ("warm", "cold")), "end-to-end": ("memory", ("pageable", "pinned"))}
_SECTORS_0_1 = ("global_load_sectors", "global_store_sectors")


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
    every = {entry.cell: entry for part in parts for entry in part.entries}.values()
    return replace(
        parts[-1],
        quick=any(part.quick for part in parts),
        date=parts[-1].date[:10],
        entries=tuple([entry for entry in every if entry.ms] or every),
        skipped=tuple(dict.fromkeys(each for part in parts for each in part.skipped)),
        failed=tuple(dict.fromkeys(each for part in parts for each in part.failed)),
    )


def _read(path: Path) -> Results:
    try:
        document = json.loads(path.read_text(encoding="utf-8"), parse_constant=_no_constant)
    except OSError as error:
        raise InvalidResults(f"{path} cannot be read: {error.strerror or error}") from None
    except (ValueError, RecursionError) as error:
        raise InvalidResults(f"{path} is damaged, or no JSON: {error}") from None
    if not isinstance(document, dict) or not isinstance(document.get("benchmarks"), list):
        raise InvalidResults(f"{path} holds no results: it is not what pytest-benchmark saves")
    if not document["benchmarks"]:
        raise InvalidResults(f"{path} holds no results: nothing was measured in that run")
    with _reading(path):
        document = upgraded(document)
        machine, about = document["machine_info"][KEY], document.get(KEY, {})
        return Results(
            experiment=_text(about, "experiment", ""),
            quick=bool(about.get("quick")),
            title=_text(about, "title", ""),
            shows=_text(about, "shows", ""),
            machine={**machine, "name": _text(machine, "name")},
            date=_text(document, "datetime"),
            entries=tuple(_entry(f"{path}: benchmark {i}", each) for i, each in enumerate(document["benchmarks"], 1)),
            skipped=tuple(map(_skipped, about.get("refused", ()))),
            failed=tuple(map(_skipped, about.get("failed", ()))),
            left_out=tuple(map(str, about.get("left_out", ()))),
        )


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not a number")


@contextmanager
def _reading(where: object) -> Iterator[None]:
    """What a document lacks, or has in another form, is told in one sentence."""
    try:
        yield
    except InvalidResults:
        raise
    except KeyError as error:
        raise InvalidResults(f"{where} is not a result of mmcore's: it has no {error}") from None
    except (ValueError, MmcoreError) as error:
        raise InvalidResults(f"{where} is damaged: {error}") from None
    except (TypeError, AttributeError):
        raise InvalidResults(f"{where} is damaged: it is not in the form of mmcore's results") from None


def _entry(where: str, benchmark: Mapping[str, Any]) -> Entry:
    with _reading(where):
        info = benchmark["extra_info"]
        measure = _one_of(info, "measure", tuple(_HOW))
        figures = info.get("figures", {})
        # mmcore 0.1 saved counts by kind of access.
        if counts := info.get("counts"):
            figures = {"global_sectors": sum(counts[name] for name in _SECTORS_0_1)}
        entry = Entry(
            cell=_cell(info)._replace(measure=measure, how=_one_of(info, *_HOW[measure])),
            dtype=_text(info, "dtype"),
            ms=0.0 if info["gflops"] is None else _number(info, "median_ms"),
            spread_percent=_number_or_none(info, "spread_percent"),
            percent_of_peak=_number_or_none(info, "percent_of_peak"),
            registers=int(_number(info, "registers")),
            shared_bytes=int(_number(info, "shared_bytes")),
            verification=_text(info, "verification"),
            instructions=_number_or_none(figures, "instructions"),
            sectors=_number_or_none(figures, "global_sectors"),
        )
        if not entry.ms and not entry.sectors:
            raise ValueError("it has neither a kernel time nor counts, so that there is nothing to draw")
        return entry


def _cell(info: Mapping[str, Any]) -> Cell:
    m, n, k = (int(_number(info["problem"], name)) for name in "mnk")
    if not m * n * k:
        raise ValueError(f"{m}×{n}×{k} is not a product")
    config = info.get("config") or {"block": info["block"]}
    # The id holds the parameters that do not follow from others.
    free = info.get("config_id", "").split("-")
    parameters = ", ".join(f"{name}={value}" for name, value in config.items() if f"{name}{value}" in free)
    return Cell(_text(info, "kernel"), m, n, k, dim3(config["block"]), parameters)


def _skipped(values: Mapping[str, Any]) -> Skipped:
    return Skipped(_cell(values), _text(values, "reason").splitlines()[0])


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
    if type(value) not in (int, float) or not (0 <= value < 2**63 and math.isfinite(value)):
        raise ValueError(f"{name!r} is not a number from 0")
    return float(value)


def _number_or_none(values: Mapping[str, Any], name: str) -> float | None:
    return None if values.get(name) is None else _number(values, name)
