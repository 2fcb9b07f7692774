"""The output of ``mmcore experiment``: the list of presets, and the report of one that was run."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import JustifyMethod, RenderableType
from rich.table import Column, Table

from mmcore.cli.output import fields
from mmcore.plugin_table import Registered
from mmcore_cuda.tuned_configs.files import other_card
from mmcore_tools.experiments.preset import Preset

_SERIES = ("kernel", "config_id")
_VARYING = ("config", "measured", "cells", "at")  # columns of a report that are left out if all rows agree
_FIGURES = {"error": "error", "gflops_per_watt": "GFLOP/s\nper W"}  # further figures of times
_MOST_NAMES = 4  # kernels in a row of the list
_PLAIN: Mapping[str, Any] = {"box": None, "pad_edge": False, "padding": (0, 2, 0, 0)}


def summary(registered: Registered[Preset]) -> dict[str, Any]:
    """Return a preset's part of ``--list --json``."""
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
    """Return a table with a row for each preset."""
    table = Table(Column("preset", no_wrap=True), "what it varies", Column("kernels", overflow="fold"), **_PLAIN)
    for preset, _ in found:
        more = len(preset.kernels) - _MOST_NAMES
        kernels = " ".join(preset.kernels[:_MOST_NAMES])
        table.add_row(preset.name, preset.title, f"{kernels} and {more} more" if more > 0 else kernels)
    return table


def outcome(document: Mapping[str, Any], results: Path, before: int) -> dict[str, Any]:
    """Return the document of ``--json`` for a preset that was run."""
    section = document["mmcore"]
    return {
        **{name: section[name] for name in ("experiment", "quick", "left_out", "refused", "failed")},
        "device": document["machine_info"]["mmcore"]["name"],
        "results": str(results),
        "cells": len(document["benchmarks"]),
        "measured_before": before,
    }


def report(document: Mapping[str, Any], results: Path, before: int) -> list[RenderableType]:
    """Return the facts of a run, the best rate of each kernel, and the refused and failed cells."""
    section, infos = document["mmcore"], [benchmark["extra_info"] for benchmark in document["benchmarks"]]
    timed, reduced = section["timed"], section["quick"]
    rows = _rows(infos, timed=timed)
    cards = dict.fromkeys(other_card(info.get("config_origin", "")) for info in infos)
    facts = [
        ("device", document["machine_info"]["mmcore"]["name"]),
        *((name, value) for name, value in _common(rows).items() if name != "cells"),
        ("cells", f"{len(infos)}: {len(infos) - before} measured now, {before} before"),
        ("left out", "\n".join(section["left_out"])),
        ("tuned on", ", ".join(filter(None, cards))),
        ("results", str(results)),
    ]
    return [
        f"{section['experiment']}{', reduced form' if reduced else ''}: {section['title']}\n",
        *([f"{section['shows']}\n"] if timed and not reduced else []),
        fields(facts),
        "",
        _table(rows),
        *_beside(infos),
        *_reasons("not compared", [*_not_compared(infos, section["baseline"])] if timed else [], "reason"),
        *_reasons("refused", section["refused"], *_SERIES),
        *_reasons("failed", section["failed"], *_SERIES),
    ]


def _rows(infos: Sequence[Mapping[str, Any]], *, timed: bool) -> list[dict[str, str]]:
    """Return the highest rate of each series and its share of the baseline's, or the figures of its largest product."""
    columns = {name: name.replace("_", "\n") for info in infos for name in info["figures"]}
    if timed:
        compared = any(info["baseline"] for info in infos)
        further = {name: heading for name, heading in _FIGURES.items() if name in columns}
        columns = {
            "gflops": "best GFLOP/s",
            **({"percent_of_baseline": "% of baseline"} if compared else {}),
            **further,
        }
    rows = []
    for (kernel, config, *how), members in _series(infos, *_SERIES, "measure", "caches", "memory").items():
        best = max(members, key=lambda info: info["gflops"] or info["problem"]["n"])
        words = {"measured": ", ".join(filter(None, how)), "cells": str(len(members)), "at": _problem(best)}
        known = {**best, **best["figures"]} if timed else best["figures"]
        numbers = {column: _number(known.get(name)) for name, column in columns.items()}
        rows.append({"kernel": kernel, "config": config, **words, **numbers})
    return rows


def _number(value: float | None) -> str:
    return (
        "" if value is None else f"{value:,.0f}" if value >= 100 else f"{value:.3g}" if value > 1e-3 else f"{value:.1e}"
    )


def beside(infos: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str, float, Mapping[str, float | None]]]:
    """Yield product, kernel, TFLOP/s and figures of the kernels with further figures, and of their baselines."""
    for (problem, dtype), members in _series(
        [{**each, "size": _problem(each)} for each in infos], "size", "dtype"
    ).items():
        known: dict[str, tuple[float, Mapping[str, float | None]]] = {}
        for info in members:
            flops = 2.0 * math.prod(info["problem"].values())
            if info["gflops"] and any(info["figures"].get(name) is not None for name in _FIGURES):
                known[info["kernel"]] = info["gflops"] / 1e3, info["figures"]
            for other in info["compared"]:
                if other["time"] and other.get("figures"):
                    seconds = statistics.median(other["time"]["rounds"])
                    known.setdefault(
                        other["kernel"].replace(".best", f".{dtype}"), (flops / seconds / 1e12, other["figures"])
                    )
        for kernel, (rate, figures) in known.items():
            yield problem, kernel, rate, figures


def _beside(infos: Sequence[Mapping[str, Any]]) -> Iterator[RenderableType]:
    """Yield a table of kernels and baselines with their errors and their work for each joule, if there are any."""
    rows = [*beside(infos)]
    if not rows:
        return
    table = Table(Column("product", no_wrap=True), Column("kernel", no_wrap=True), **_PLAIN)
    for heading in ("TFLOP/s", *_FIGURES.values()):
        table.add_column(heading, justify="right")
    for problem, kernel, rate, figures in rows:
        table.add_row(problem, kernel, f"{rate:.3g}", *(_number(figures.get(name)) for name in _FIGURES))
    yield "\nbeside the libraries; errors are root mean squares of |C - A·B| over |A|·|B|:\n"
    yield table


def _common(rows: Sequence[Mapping[str, str]]) -> dict[str, str]:
    return {name: rows[0][name] for name in _VARYING if rows and len({row[name] for row in rows}) == 1}


def _table(rows: Sequence[Mapping[str, str]]) -> Table:
    """Return the rows without the columns in which all agree, so that the table fits 80 columns."""
    left_out = {*_common(rows), *(["config"] if len({row["kernel"] for row in rows}) == len(rows) else [])}
    names = [name for name in (rows[0] if rows else ("kernel",)) if name not in left_out]
    table = Table(**_PLAIN)
    for name in names:
        justify: JustifyMethod = "left" if name in ("kernel", *_VARYING) else "right"
        table.add_column(name, justify=justify, no_wrap=name not in _VARYING)
    for row in rows:
        table.add_row(*(row[name] for name in names))
    return table


def _not_compared(infos: Iterable[Mapping[str, Any]], baseline: str) -> Iterator[Mapping[str, Any]]:
    """Yield the kernel times without a baseline although the preset has one, with the reason."""
    for info in infos if baseline else ():
        if info["measure"] == "kernel" and info["baseline"] is None:
            reasons = "; ".join(each["reason"] for each in info["compared"])
            yield {**info, "reason": reasons or f"there is no other kernel {baseline!r} of its types and layouts"}


def _reasons(what: str, cells: Sequence[Mapping[str, Any]], *names: str) -> Iterator[str]:
    """Yield a line for each group of cells that agree in the named fields: the first cell, its reason and the rest."""
    for index, members in enumerate(_series(cells, *names).values()):
        kernel, config = (members[0][name] for name in _SERIES)
        more = f" (and {len(members) - 1} more)" if len(members) > 1 else ""
        heading = "" if index else f"\n{what}:\n"
        yield f"{heading}  {kernel} {_problem(members[0])} {config}: {members[0]['reason']}{more}"


def _series(cells: Iterable[Mapping[str, Any]], *names: str) -> dict[tuple[Any, ...], list[Mapping[str, Any]]]:
    """Return the cells in groups that agree in the named fields."""
    series: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for cell in cells:
        series.setdefault(tuple(cell[name] for name in names), []).append(cell)
    return series


def _problem(cell: Mapping[str, Any]) -> str:
    return "×".join(str(cell["problem"][name]) for name in ("m", "n", "k"))
