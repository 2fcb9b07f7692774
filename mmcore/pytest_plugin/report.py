"""What is printed of the results, and written as CSV."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from mmcore.pytest_plugin.cells import title
from mmcore.pytest_plugin.result import Result


def by_group(results: Iterable[Result]) -> dict[str, list[Result]]:
    """The results that may be compared with each other, fastest first; small problems before large ones."""
    groups: dict[str, list[Result]] = {}
    for result in results:
        groups.setdefault(result.cell.group, []).append(result)
    fastest_first = {group: sorted(members, key=lambda each: each.seconds) for group, members in groups.items()}
    return dict(sorted(fastest_first.items(), key=lambda item: item[1][0].cell.point.problem.flops))


def percent_of_best(result: Result, group: Sequence[Result]) -> float | None:
    """The group's best time beside the result's; None for emulation, where it would say nothing."""
    return None if result.gflops is None else 100 * min(each.seconds for each in group) / result.seconds


def tables(results: Iterable[Result]) -> list[RenderableType]:
    """A title and a table for every group."""
    parts: list[RenderableType] = []
    for group, members in by_group(results).items():
        emulated = members[0].gflops is None
        heading = title(group, members[0].outcome.device_description, supports_timing=not emulated)
        parts += ["", Text(heading, "bold"), _table(members, emulated)]
    return parts


def _table(members: Sequence[Result], emulated: bool) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("kernel", no_wrap=True)
    table.add_column("block", no_wrap=True)
    times = ["emulation, ms"] if emulated else ["median, µs", "spread", "GFLOP/s", "of peak", "of best"]
    for heading in (*times, "registers", "shared, B", "occupancy"):
        table.add_column(heading, justify="right")
    table.add_column("verified")
    for result in members:
        outcome = result.outcome
        measured = (
            [f"{result.seconds * 1e3:.3f}"]
            if emulated
            else [
                f"{result.seconds * 1e6:.2f}",
                _percent(100 * result.spread, 2),
                _number(result.gflops),
                _percent(result.percent_of_peak),
                _percent(percent_of_best(result, members)),
            ]
        )
        table.add_row(
            outcome.plan.kernel.name,
            str(result.cell.point.block),
            *measured,
            str(outcome.registers),
            str(outcome.shared_bytes),
            _percent(None if result.occupancy is None else 100 * result.occupancy, 0),
            _verified(result),
        )
    return table


def _verified(result: Result) -> str:
    verification, problem = result.outcome.verification, result.cell.point.problem
    return "every element" if verification and verification.compared == problem.m * problem.n else "sampled"


def line(result: Result) -> str:
    """One result in a few words, for while the run goes on."""
    if result.gflops is None:
        return f"verified, {result.seconds * 1e3:.1f} ms to emulate"
    seconds, rate = result.seconds, _number(result.gflops)
    return f"verified, {seconds * 1e6:.2f} µs ±{100 * result.spread:.2f} %, {rate} GFLOP/s"


def time_spent(durations: Mapping[str, float], phases: Mapping[str, Mapping[str, float]], missing: int) -> str:
    """Where the run's time went, in a sentence.

    Args:
        durations: host seconds of each test.
        phases: how many of them it spent on what it is for.
        missing: how many of them have no result.
    """
    spent = {phase: sum(each.get(phase, 0.0) for each in phases.values()) for phase in _PHASES}
    # An interrupted test has phases, but no duration.
    durations = {test: durations.get(test, sum(each.values())) for test, each in phases.items()}
    other = [durations[test] - sum(each.values()) for test, each in phases.items()]
    parts = ", ".join(f"{name} {spent[phase]:.1f} s" for phase, name in _PHASES.items())
    cells = "1 cell" if len(phases) == 1 else f"{len(phases)} cells"
    cells += f", {missing} of them not measured," if missing else ""
    return (
        f"{cells} in {sum(durations.values()):.1f} s: {parts}, everything else "
        f"{sum(other):.1f} s (at most {1e3 * max(other):.0f} ms in a cell)"
    )


_PHASES = {"compile": "compiling and loading", "verify": "verifying", "device": "measured"}


def write_csv(path: Path, results: Sequence[Result]) -> None:
    """Write the results as CSV, one row each, in the order of the tables; times in ms, empty where there is none.

    Raises:
        OSError: the file cannot be written.
    """
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(_CSV_COLUMNS)
        for members in by_group(results).values():
            for result in members:
                values = {**result.to_json(), "percent_of_best": percent_of_best(result, members)}
                values |= values["problem"]
                values["block"] = result.cell.block
                if result.gflops is None:
                    values |= {"emulation_ms": values["median_ms"], "median_ms": None, "spread_percent": None}
                writer.writerow(["" if values.get(name) is None else values[name] for name in _CSV_COLUMNS])


_CSV_COLUMNS = (
    *("kernel", "device_description", "m", "n", "k", "dtype", "operation", "block", "measure", "caches", "memory"),
    *("median_ms", "spread_percent", "gflops", "percent_of_peak", "percent_of_best", "emulation_ms"),
    *("registers", "shared_bytes", "occupancy", "verified", "verification", "clock"),
)


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}" if value < 1000 else f"{value:.0f}"


def _percent(value: float | None, digits: int = 1) -> str:
    return "" if value is None else f"{value:.{digits}f} %"
