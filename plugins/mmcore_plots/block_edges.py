"""Time against the block's edge at one n, with the blocks that were skipped."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes

from mmcore_plots.drawing import Drawing, Panel
from mmcore_plots.published import published
from mmcore_plots.quantity import caption, cost, heading
from mmcore_plots.results import Cell, InvalidResults, Results, Skipped
from mmcore_plots.series import gpus, kernel_entries, plain
from mmcore_plots.style import looks

# Up to so many edges, each has a tick.
_TICKS = 12


def blocks(results: Results) -> Drawing:
    """Each kernel's time against the edge of its square blocks, beside the lecture's, and below them what was skipped.

    Raises:
        InvalidResults: the results are of several sizes, or of one block each.
    """
    entries = [entry for entry in kernel_entries(results) if entry.cell.edge]
    sizes, edges = {entry.cell.n for entry in entries}, {entry.cell.edge or 0 for entry in entries}
    if len(sizes) != 1 or len(edges) < 2:
        raise InvalidResults("a figure of blocks takes results of several square blocks at one size")
    (n,) = sizes
    quantity = cost(results)
    series: dict[str, dict[int, float]] = {}
    for entry in entries:
        series.setdefault(_name(entry.cell), {})[entry.cell.edge or 0] = quantity.of(entry)
    skipped: dict[str, set[int]] = {}
    for cell in (each.cell for each in results.skipped):
        if cell.edge and cell.size == str(n):
            skipped.setdefault(_name(cell), set()).add(cell.edge)
    figures = [f for f in published() if f.kernel in series and f.n == n and f.measure == "kernel"]
    then: dict[str, dict[int, float]] = {}
    for figure in () if results.emulated else figures:
        then.setdefault(figure.kernel, {})[figure.block] = figure.ms
    look = looks(sorted(series.keys() | skipped.keys()), ("time",))

    def ours(axes: Axes) -> None:
        lines(axes, series, quantity.label, edges.union(*skipped.values()))
        foot = axes.get_xaxis_transform()
        for row, (name, crosses) in enumerate(sorted(skipped.items())):
            style: dict[str, Any] = {
                "marker": "x",
                "linestyle": "",
                "color": look[name, "time"].color,
                "label": f"{name}, skipped",
            }
            axes.plot(sorted(crosses), [0.03 + 0.05 * row] * len(crosses), transform=foot, clip_on=False, **style)

    def theirs(axes: Axes) -> None:
        lines(axes, then, quantity.label, {edge for points in then.values() for edge in points})

    def lines(axes: Axes, found: Mapping[str, Mapping[int, float]], label: str, ticks: set[int]) -> None:
        for name, points in found.items():
            x = sorted(points)
            axes.plot(x, [points[edge] for edge in x], label=name, **look[name, "time"].line())
        axes.set_ylim(bottom=0)
        if len(ticks) <= _TICKS:
            axes.set_xticks(sorted(ticks))
        axes.yaxis.set_major_formatter(plain)
        axes.set_xlabel("b, edge of the block")
        axes.set_ylabel(label)

    panels = [Panel(results.device if then else "", ours, 3.3)]
    if then:
        panels.insert(0, Panel(f"{gpus(figures)}, as published", theirs, 3.3))
    return Drawing(
        "blocks",
        heading(results, f"{quantity.name} against the block's edge, n = {n}"),
        f"Blocks of b×b threads. {quantity.text}{_text(results.skipped) if skipped else ''}",
        caption(results),
        tuple(panels),
        columns=len(panels),
    )


def _name(cell: Cell) -> str:
    """A series: the kernel and the parameters beside its block."""
    return ", ".join(filter(None, (cell.kernel, cell.parameters)))


def _text(skipped: Sequence[Skipped]) -> str:
    """An example of each reason."""
    reasons = {re.sub(r"\d+", "", each.reason): each for each in skipped}.values()
    examples = ", ".join(f"{each.cell.config} with {each.cell.kernel} ({each.reason})" for each in reasons)
    return f" A cross at the foot is a block that was skipped, such as {examples}."
