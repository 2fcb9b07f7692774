"""Time against the block's edge at one n, with the blocks that are refused."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from mmcore.errors import InvalidResults
from mmcore_plots.drawing import Drawing, Panel
from mmcore_plots.published import Published, published
from mmcore_plots.quantity import Quantity, caption, cost, heading
from mmcore_plots.results import Entry, Refusal, Results
from mmcore_plots.series import kernel_entries, plain
from mmcore_plots.style import Look, looks

if TYPE_CHECKING:
    from matplotlib.axes import Axes

KIND = "blocks"

_TICKS = 12


def drawing(results: Results) -> Drawing:
    """Each kernel's time against the edge of its square blocks, beside the lecture's, and below them what is refused.

    Raises:
        InvalidResults: the results are of several sizes, or of one block each.
    """
    entries = [entry for entry in kernel_entries(results) if _is_square_block(entry)]
    sizes = {entry.cell.n for entry in entries}
    if len(sizes) != 1 or len({entry.cell.edge for entry in entries}) < 2:
        raise InvalidResults("a figure of blocks takes results of several square blocks at one size")
    (n,) = sizes
    series: dict[str, list[Entry]] = {}
    for entry in sorted(entries, key=lambda entry: entry.cell.block):
        series.setdefault(entry.cell.kernel, []).append(entry)
    refused = _refused_edges(results.refused, n)
    look = looks(sorted(series.keys() | refused.keys()), ("time",))
    then = {} if results.emulated else _published(series, n)
    quantity = cost(results)
    panels = [Panel(results.device if then else "", partial(_ours, series, refused, look, quantity), 3.3)]
    if then:
        whose = " and ".join(sorted({figure.gpu for figures in then.values() for figure in figures}))
        panels.insert(0, Panel(f"{whose}, as published", partial(_theirs, then, look), 3.3))
    return Drawing(
        KIND,
        heading(results, f"{quantity.name} against the block's edge, n = {n}"),
        _text(results, refused),
        caption(results),
        tuple(panels),
        columns=len(panels),
    )


def _text(results: Results, refused: Mapping[str, Sequence[int]]) -> str:
    text = "Blocks of b×b threads; lower is better."
    if not refused:
        return text
    reasons: dict[str, Refusal] = {}
    for each in results.refused:
        reasons[re.sub(r"\d+", "", each.reason)] = each
    said = ", ".join(f"{each.block} with {each.kernel} ({each.reason})" for each in reasons.values())
    return f"{text} A cross at the foot is a launch that is refused, such as {said}."


def _is_square_block(entry: Entry) -> bool:
    x, y, z = (*entry.cell.block, 1, 1)[:3]
    return x == y and z == 1


def _refused_edges(refused: Sequence[Refusal], n: int) -> dict[str, list[int]]:
    """Edges of the square blocks that were refused at this n, by kernel."""
    found: dict[str, list[int]] = {}
    for each in refused:
        if each.block.isdecimal() and each.problem == str(n):
            found.setdefault(each.kernel, []).append(int(each.block))
    return found


def _published(series: Mapping[str, Sequence[Entry]], n: int) -> dict[str, list[Published]]:
    found: dict[str, list[Published]] = {}
    for figure in published():
        if figure.kernel in series and figure.n == n and figure.measure == "kernel":
            found.setdefault(figure.kernel, []).append(figure)
    return found


def _ours(
    series: Mapping[str, Sequence[Entry]],
    refused: Mapping[str, Sequence[int]],
    look: Mapping[tuple[str, object], Look],
    quantity: Quantity,
    axes: Axes,
) -> None:
    for kernel, entries in series.items():
        points = {entry.cell.block[0]: quantity.of(entry) for entry in entries}
        _line(axes, kernel, points, look[kernel, "time"])
    axes.set_ylim(bottom=0)
    foot = axes.get_xaxis_transform()
    for row, (kernel, edges) in enumerate(sorted(refused.items())):
        height = [0.03 + 0.05 * row] * len(edges)
        color = look[kernel, "time"].color
        label = f"{kernel}, refused"
        axes.plot(edges, height, marker="x", linestyle="", color=color, label=label, transform=foot, clip_on=False)
    shown = {entry.cell.block[0] for entries in series.values() for entry in entries}
    _label(axes, shown.union(*refused.values()), quantity.label)


def _theirs(then: Mapping[str, Sequence[Published]], look: Mapping[tuple[str, object], Look], axes: Axes) -> None:
    for kernel, figures in then.items():
        _line(axes, kernel, {figure.block: figure.ms for figure in figures}, look[kernel, "time"])
    axes.set_ylim(bottom=0)
    _label(axes, {figure.block for figures in then.values() for figure in figures}, "time of a product, ms")


def _line(axes: Axes, kernel: str, points: Mapping[int, float], look: Look) -> None:
    edges = sorted(points)
    axes.plot(edges, [points[edge] for edge in edges], label=kernel, **look.line())


def _label(axes: Axes, edges: set[int], label: str) -> None:
    if len(edges) <= _TICKS:
        axes.set_xticks(sorted(edges))
    axes.yaxis.set_major_formatter(plain)
    axes.set_xlabel("b, edge of the block")
    axes.set_ylabel(label)
