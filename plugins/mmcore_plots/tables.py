"""The numbers behind the figures, as rows of a page's tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from mmcore_plots.published import published
from mmcore_plots.quantity import intensity, milliseconds
from mmcore_plots.results import Cell, Entry, Results, Skipped

_CELL = ("kernel", "config", "n")


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
    header = (*_CELL, "time", "median, ms", "GFLOP/s", "spread, %", "of peak, %", "registers", "shared, B")
    rows = []
    for entry in results.entries:
        numbers = (milliseconds(entry), entry.gflops, entry.spread_percent, entry.percent_of_peak)
        time = f"{entry.cell.measure}, {entry.cell.how}"
        rows.append([*_of(entry.cell), time, *map(number, numbers), *_resources(entry)])
    return Table(f"What was measured: {len(rows)} results", header, rows)


def _counts(results: Results) -> Table:
    header = (*_CELL, "warp instructions", "global sectors", "useful flop per byte", "registers", "shared, B")
    rows = []
    for entry in results.entries:
        numbers = (entry.instructions, entry.sectors, intensity(entry))
        rows.append([*_of(entry.cell), *map(number, numbers), *_resources(entry)])
    return Table(f"What the emulator counted (no times): {len(rows)} results", header, rows)


def _then_and_now(results: Results) -> Table:
    now = {entry.cell: entry for entry in results.entries if entry.cell.is_square}
    by_place = {(cell.kernel, cell.config, cell.n, cell.measure, cell.how): entry for cell, entry in now.items()}
    header = (*_CELL, "time", "the lecture's GPU", "its ms", "ms now", "times faster")
    rows = []
    for figure in published():
        entry = by_place.get((figure.kernel, f"b={figure.block}", figure.n, figure.measure, figure.how))
        if entry is not None:
            words = (*_of(entry.cell), f"{figure.measure}, {figure.how}", figure.gpu)
            ms = milliseconds(entry)
            rows.append([*words, f"{figure.ms:.6g}", number(ms), number(figure.ms / ms)])
    return Table("What the lecture published, and what was measured", header, rows)


def _skipped(title: str, cells: Sequence[Skipped]) -> Table:
    return Table(title, (*_CELL, "reason"), [[*_of(each.cell), each.reason] for each in cells])


def _of(cell: Cell) -> tuple[str, str, str]:
    return cell.kernel, cell.config, cell.size


def _resources(entry: Entry) -> tuple[str, str]:
    return str(entry.registers), str(entry.shared_bytes)


def facts(results: Results) -> Iterator[tuple[str, str]]:
    """What is known of the machine, in words."""
    for name, value in results.machine.items():
        if isinstance(value, str | int | float):
            yield name.replace("_", " "), str(value)
        elif isinstance(value, list):
            yield name.replace("_", " "), ".".join(map(str, value))
    yield "date", results.date
    yield "verified", "; ".join(sorted({entry.verification for entry in results.entries}))


def number(value: float | None) -> str:
    """Four digits, without a power of ten; nothing for what is not known."""
    if value is None:
        return ""
    if value >= 1000:
        return f"{value:.0f}"
    text = f"{value:.4g}"
    return f"{value:.7f}".rstrip("0") if "e" in text else text
