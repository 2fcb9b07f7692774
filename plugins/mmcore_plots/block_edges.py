"""Time against the block's edge at one n, with the blocks that were skipped."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Sequence
from functools import partial
from typing import Any

from matplotlib.axes import Axes

from mmcore_plots.drawing import Drawing
from mmcore_plots.published import published
from mmcore_plots.quantity import caption, cost, heading
from mmcore_plots.results import Cell, InvalidResults, Results, Skipped
from mmcore_plots.series import Curves, beside, draw_lines, kernel_entries, label_axes, plain
from mmcore_plots.style import looks


def blocks(results: Results) -> Drawing:
    """Each kernel's time against the edge of its square blocks, beside the lecture's, and below them what was skipped.

    Raises InvalidResults where the results are of several sizes, or of one block each.
    """
    quantity = cost(results)
    series: dict[str, dict[int, float]] = defaultdict(dict)
    sizes = set()
    for entry in kernel_entries(results):
        if edge := entry.cell.edge:
            series[_name(entry.cell)][edge] = quantity.of(entry)
            sizes.add(entry.cell.n)
    edges = {edge for times in series.values() for edge in times}
    if len(sizes) != 1 or len(edges) < 2:
        raise InvalidResults("a figure of blocks takes results of several square blocks at one size")
    (n,) = sizes
    skipped: dict[str, set[int]] = defaultdict(set)
    for cell in (each.cell for each in results.skipped):
        if cell.edge and cell.size == str(n):
            skipped[_name(cell)].add(cell.edge)
    then: dict[str, dict[int, float]] = defaultdict(dict)
    lectures = () if results.emulated else published()
    figures = [each for each in lectures if each.kernel in series and each.n == n and each.measure == "kernel"]
    for figure in figures:
        then[figure.kernel][figure.block] = figure.ms
    look = looks({name: (name, "time") for name in sorted(series.keys() | skipped.keys())})

    def draw(found: Curves, places: Collection[int], axes: Axes) -> None:
        draw_lines(axes, found, look)
        axes.set_ylim(bottom=0)
        axes.yaxis.set_major_formatter(plain)
        label_axes(axes, places, "b, edge of the block", quantity.label)

    def ours(axes: Axes) -> None:
        draw(series, edges.union(*skipped.values()), axes)
        for row, (name, crosses) in enumerate(sorted(skipped.items())):
            style: dict[str, Any] = {"marker": "x", "linestyle": "", "color": look[name].color, "clip_on": False}
            heights = [0.03 + 0.05 * row] * len(crosses)
            foot = axes.get_xaxis_transform()
            axes.plot(sorted(crosses), heights, transform=foot, label=f"{name}, skipped", **style)

    return Drawing(
        "blocks",
        heading(results, f"{quantity.name} against the block's edge, n = {n}"),
        f"Blocks of b×b threads. {quantity.text}{_text(results.skipped) if skipped else ''}",
        caption(results),
        beside(results, ours, figures, partial(draw, then, {figure.block for figure in figures})),
    )


def _name(cell: Cell) -> str:
    """A series: the kernel and the parameters beside its block."""
    return ", ".join(filter(None, (cell.kernel, cell.parameters)))


def _text(skipped: Sequence[Skipped]) -> str:
    """An example of each reason."""
    reasons = {re.sub(r"\d+", "", each.reason): each for each in skipped}.values()
    examples = ", ".join(f"{each.cell.config} with {each.cell.kernel} ({each.reason})" for each in reasons)
    return f" A cross at the foot is a block that was skipped, such as {examples}."
