"""What is printed of the results, and written as CSV."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from mmcore.pytest_plugin.cells import COUNTED, Benchmark
from mmcore.result import Result

Measured: TypeAlias = tuple[Benchmark, Result, dict[str, Any]]


def by_group(results: Iterable[Measured]) -> dict[str, list[Measured]]:
    """The results that may be compared with each other, small problems before large ones.

    Fastest first; where there are no times, in the order in which they were measured.
    """
    groups: dict[str, list[Measured]] = {}
    for measured in results:
        groups.setdefault(measured[0].group, []).append(measured)
    ranked = {group: sorted(members, key=lambda each: _seconds(each[1])) for group, members in groups.items()}
    return dict(sorted(ranked.items(), key=lambda item: item[1][0][1].flops))


def _seconds(result: Result) -> float:
    return result.times[0].seconds if result.times else 0.0


def complete(results: Iterable[Measured]) -> None:
    """Say in what pytest-benchmark stores how far each result is from its group's best."""
    for members in by_group(results).values():
        for _, result, info in members:
            info["percent_of_best"] = _percent_of_best(result, members)


def _percent_of_best(result: Result, members: Sequence[Measured]) -> float | None:
    """The group's best time beside the result's; None where there are no times."""
    return 100 * _seconds(members[0][1]) / _seconds(result) if result.times else None


def tables(results: Iterable[Measured]) -> list[RenderableType]:
    """A title and a table for every group."""
    parts: list[RenderableType] = []
    for group, members in by_group(results).items():
        result = members[0][1]
        timed = f"{group}, on {result.device_description}"
        parts += ["", Text(timed if result.times else f"{group.split(',')[0]}: {COUNTED}", "bold"), _table(members)]
    return parts


def _table(members: Sequence[Measured]) -> Table:
    timed = bool(members[0][1].times)
    figures = list(dict.fromkeys(name for _, result, _ in members for name in result.figures))
    table = Table(box=None, pad_edge=False, padding=(0, 2 if timed else 1, 0, 0))
    table.add_column("kernel", no_wrap=True)
    table.add_column("config", no_wrap=True)
    # Eighty columns hold either times or counts.
    times = ("median, µs", "spread", "GFLOP/s", "of peak", "of best", "registers", "shared, B") if timed else ()
    for heading in (*times, *(name.replace("_", "\n" if not timed else " ", 1).replace("_", " ") for name in figures)):
        table.add_column(heading, justify="right")
    table.add_column("verified")
    for benchmark, result, info in members:
        counts = [_number(result.figures.get(name)) for name in figures]
        table.add_row(
            result.kernel, benchmark.config.id, *(_times(result, info) if timed else []), *counts, _verified(result)
        )
    return table


def _times(result: Result, info: Mapping[str, Any]) -> list[str]:
    return [
        f"{info['median_ms'] * 1e3:.2f}",
        _percent(info["spread_percent"], 2),
        _number(info["gflops"]),
        _percent(info["percent_of_peak"]),
        _percent(info["percent_of_best"]),
        str(result.registers),
        str(result.shared_bytes),
    ]


def _verified(result: Result) -> str:
    verification = result.verification
    whole = verification is not None and verification.compared == result.cell.m * result.cell.n
    return "all" if whole else "sampled"


def line(result: Result) -> str:
    """One timed result in a few words, for while the run goes on."""
    time = result.times[0]
    rate = _number(result.gflops(time.seconds))
    return f"verified, {time.seconds * 1e6:.2f} µs ±{100 * time.spread:.2f} %, {rate} GFLOP/s"


def time_spent(durations: Mapping[str, float], phases: Mapping[str, Mapping[str, float]], missing: int) -> str:
    """Where the run's time went, in a sentence.

    Args:
        durations: host seconds of each test.
        phases: how many of them it spent on what it is for.
        missing: how many of them have no result.
    """
    spent = {name: sum(each.get(name, 0.0) for each in phases.values()) for name in _PHASES}
    # An interrupted test has phases, but no duration.
    durations = {test: durations.get(test, sum(each.values())) for test, each in phases.items()}
    other = [durations[test] - sum(each.get(name, 0.0) for name in _PHASES) for test, each in phases.items()]
    parts = ", ".join(f"{words} {spent[name]:.1f} s" for name, words in _PHASES.items())
    cells = "1 cell" if len(phases) == 1 else f"{len(phases)} cells"
    cells += f", {missing} of them not measured," if missing else ""
    return (
        f"{cells} in {sum(durations.values()):.1f} s: {parts}, everything else "
        f"{sum(other):.1f} s (at most {1e3 * max(other):.0f} ms in a cell)"
    )


_PHASES = {"compile": "compiling", "verify": "verifying", "time": "timing"}


def write_csv(path: Path, results: Sequence[Measured]) -> None:
    """Write the results as CSV, one row each, in the order of the tables; times in ms, empty where there is none.

    Raises:
        OSError: the file cannot be written.
    """
    figures = list(dict.fromkeys(name for _, result, _ in results for name in result.figures))
    columns = [*_CSV_COLUMNS, *figures]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        for members in by_group(results).values():
            for benchmark, _, info in members:
                values = {
                    **info,
                    **info["problem"],
                    "block": benchmark.config.block_text,
                    "config": str(benchmark.config),
                }
                writer.writerow(["" if values.get(name) is None else values[name] for name in columns])


_CSV_COLUMNS = (
    *(
        "kernel",
        "device_description",
        "m",
        "n",
        "k",
        "dtype",
        "operation",
        "block",
        "config",
        "measure",
        "caches",
        "memory",
    ),
    *("median_ms", "spread_percent", "gflops", "percent_of_peak", "percent_of_best", "emulation_ms"),
    *("registers", "shared_bytes", "verified", "verification", "clock"),
)


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}" if value < 1000 else f"{value:.0f}"


def _percent(value: float | None, digits: int = 1) -> str:
    return "" if value is None else f"{value:.{digits}f} %"
