"""The numbers behind the figures, as rows of a page's tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from mmcore_plots.published import published
from mmcore_plots.quantity import number
from mmcore_plots.results import Cell, Entry, Results, Skipped

_CELL = ("kernel", "config", "n")
_RESOURCES = ("registers", "shared, B")


class Table(NamedTuple):
    """A table of a page: what it holds, the names of its columns, and its cells."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]


def tables(results: Results) -> list[Table]:
    """What was measured or counted, what the lectures published of it, and what was not measured; none is empty."""
    found = [_counts(results)] if results.emulated else [_times(results), _then_and_now(results)]
    found += [_skipped("What was skipped, and why", results.skipped)]
    found += [_skipped("What was run and has no time, and why", results.failed)]
    return [table for table in found if table.rows]


def _times(results: Results) -> Table:
    header = (*_CELL, "time", "median, ms", "GFLOP/s", "spread, %", "of peak, %", *_RESOURCES)
    rows = []
    for each in results.entries:
        numbers = (each.ms, each.gflops, each.spread_percent, each.percent_of_peak)
        rows.append([*_of(each.cell), _time(each.cell), *map(number, numbers), *_resources(each)])
    return Table(f"What was measured: {len(rows)} results", header, rows)


def _counts(results: Results) -> Table:
    header = (*_CELL, "warp instructions", "global sectors", "useful flop per byte", *_RESOURCES)
    rows = []
    for each in results.entries:
        numbers = (each.instructions, each.sectors, each.flop_per_byte)
        rows.append([*_of(each.cell), *map(number, numbers), *_resources(each)])
    return Table(f"What the emulator counted (no times): {len(rows)} results", header, rows)


def _then_and_now(results: Results) -> Table:
    header = (*_CELL, "time", "the lecture's GPU", "its ms", "ms now", "times faster")
    now = {(each.cell.label, each.cell.size, _time(each.cell)): each for each in results.entries}
    rows = []
    for then in published():
        if each := now.get((then.label, str(then.n), f"{then.measure}, {then.how}")):
            numbers = (f"{then.ms:.6g}", number(each.ms), number(then.ms / each.ms))
            rows.append([*_of(each.cell), _time(each.cell), then.gpu, *numbers])
    return Table("What the lecture published, and what was measured", header, rows)


def _skipped(title: str, cells: Sequence[Skipped]) -> Table:
    return Table(title, (*_CELL, "reason"), [[*_of(each.cell), each.reason] for each in cells])


def _of(cell: Cell) -> tuple[str, str, str]:
    return cell.kernel, cell.config, cell.size


def _time(cell: Cell) -> str:
    return f"{cell.measure}, {cell.how}"


def _resources(entry: Entry) -> tuple[str, str]:
    return str(entry.registers), str(entry.shared_bytes)


def facts(results: Results) -> Iterator[tuple[str, str]]:
    """What is known of the machine, in words."""
    for name, value in results.machine.items():
        if isinstance(value, str | int | float | list):
            yield name.replace("_", " "), ".".join(map(str, value)) if isinstance(value, list) else str(value)
    yield "date", results.date
    yield "verified", "; ".join(sorted({entry.verification for entry in results.entries}))
