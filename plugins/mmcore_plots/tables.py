"""The numbers behind the figures, as rows of a page's tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mmcore_plots.published import published
from mmcore_plots.quantity import intensity, milliseconds, sectors
from mmcore_plots.results import Entry, Refusal, Results


@dataclass(frozen=True)
class Table:
    """A table of a page.

    Attributes:
        title: what it holds.
        header: names of its columns.
        words: how many columns, from the left, hold words; numbers stand in the others.
        rows: its cells.
    """

    title: str
    header: Sequence[str]
    words: int
    rows: Sequence[Sequence[str]]


def tables(results: Results) -> list[Table]:
    """What was measured or counted, what the lectures published of the same, and what was refused; none is empty."""
    found = [_counts(results) if results.emulated else _times(results)]
    if not results.emulated:
        found.append(_then_and_now(results))
    found.append(_unmeasured("What was refused, and why", results.refused))
    found.append(_unmeasured("What was run and has no time, and why", results.failed))
    return [table for table in found if table.rows]


def _times(results: Results) -> Table:
    header = ("kernel", "b", "n", "median, ms", "GFLOP/s", "time", "spread, %", "of peak, %", "registers", "shared, B")
    rows = [
        [
            entry.cell.kernel,
            entry.cell.edge,
            entry.cell.size,
            number(milliseconds(entry)),
            number(entry.gflops),
            f"{entry.cell.measure}, {entry.cell.how}",
            number(entry.spread_percent),
            number(entry.percent_of_peak),
            str(entry.registers),
            str(entry.shared_bytes),
        ]
        for entry in results.entries
    ]
    return Table(f"What was measured: {len(rows)} results", header, 1, rows)


def _counts(results: Results) -> Table:
    header = ("kernel", "b", "n", "flops", "global sectors", "flop per byte", "registers", "shared, B")
    rows = [
        [
            entry.cell.kernel,
            entry.cell.edge,
            entry.cell.size,
            str(entry.counts["flops"]),
            str(sectors(entry)),
            number(intensity(entry)),
            str(entry.registers),
            str(entry.shared_bytes),
        ]
        for entry in results.entries
    ]
    return Table(f"What the emulator counted (no times): {len(rows)} results", header, 1, rows)


def _then_and_now(results: Results) -> Table:
    now = {_place(entry): entry for entry in results.entries}
    header = ("kernel", "b", "n", "its ms", "ms now", "times faster", "time", "the lecture's GPU")
    rows = []
    for figure in published():
        how = f"global, {figure.memory}" if figure.measure == "global" else "kernel, warm"
        entry = now.get((figure.kernel, how, str(figure.block), str(figure.n)))
        if entry is not None:
            ms = milliseconds(entry)
            numbers = [str(figure.block), str(figure.n), f"{figure.ms:.6g}", number(ms), number(figure.ms / ms)]
            rows.append([figure.kernel, *numbers, how, figure.gpu])
    return Table("What the lecture published, and what was measured", header, 1, rows)


def _place(entry: Entry) -> tuple[str, str, str, str]:
    cell = entry.cell
    return cell.kernel, f"{cell.measure}, {cell.how}", cell.edge, cell.size


def _unmeasured(title: str, cells: Sequence[Refusal]) -> Table:
    return Table(title, ("kernel", "n", "b", "reason"), len(Refusal._fields), cells)


def facts(results: Results) -> Iterator[tuple[str, str]]:
    """What is known of the machine, in words."""
    for name, value in results.machine.items():
        if isinstance(value, str | int | float):
            yield name.replace("_", " "), str(value)
        elif isinstance(value, list):
            yield name.replace("_", " "), ".".join(map(str, value))
    yield "date", results.date
    ways = sorted({entry.verification for entry in results.entries})
    yield "verified", "; ".join(ways)


def number(value: float | None) -> str:
    """Four digits, without a power of ten; nothing for what is not known."""
    if value is None:
        return ""
    if value >= 1000:
        return f"{value:.0f}"
    text = f"{value:.4g}"
    return f"{value:.7f}".rstrip("0") if "e" in text else text
