"""A rate against n: how a kernel does as the matrices grow, by block."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from mmcore.errors import InvalidResults
from mmcore_plots.drawing import Drawing, Panel
from mmcore_plots.published import Published
from mmcore_plots.quantity import Quantity, caption, heading, rate
from mmcore_plots.results import Entry, Results
from mmcore_plots.series import (
    Key,
    blocks,
    by_key,
    few,
    gpus,
    kernel_entries,
    markevery,
    published_of,
    scale_y,
    ticks_at,
)
from mmcore_plots.style import Look, looks

if TYPE_CHECKING:
    from matplotlib.axes import Axes

KIND = "sizes"


def drawing(results: Results) -> Drawing:
    """The rate of every kernel and block against n, with what the lecture published.

    A lecture's curve gets axes of its own, because its GPU's rates are another matter; single figures stand among ours.

    Raises:
        InvalidResults: there is only one size.
    """
    series = by_key(kernel_entries(results))
    if len({entry.cell.n for entries in series.values() for entry in entries}) < 2:
        raise InvalidResults("a figure of sizes takes results of square products at two sizes at least")
    few(series)
    look = looks(dict.fromkeys(key.kernel for key in series), blocks(series))
    then = (
        {}
        if results.emulated
        else {key: _within(figures, series[key]) for key, figures in published_of(series).items()}
    )
    curves = {key: both for key, figures in then.items() if len(both := _measured(figures, series[key])) > 2}
    quantity = rate(results)
    panels = [Panel("", partial(_ours, series, {} if curves else then, look, quantity), 3.3)]
    if curves:
        whose = gpus(figure for figures in curves.values() for figure in figures)
        panels = [
            Panel(f"{whose}, as published", partial(_published, curves, look)),
            Panel(results.device, panels[0].draw),
        ]
    return Drawing(
        KIND,
        heading(results, f"{quantity.name} against n"),
        _text(bool(curves), bool(then)) if not results.emulated else _EMULATED,
        caption(results),
        tuple(panels),
        columns=len(panels),
    )


_EMULATED = (
    "m = n = k. How much a kernel computes for each byte that its warps ask global memory for: counts of what the code "
    "does, not times."
)


def _text(curves: bool, points: bool) -> str:
    text = "m = n = k; the block has b×b threads; higher is better."
    if curves:
        return f"{text} Each GPU has a scale of its own: what can be compared is which variant leads, and by how much."
    return f"{text} Hollow and half-filled markers are what the lecture published." if points else text


def _measured(figures: Sequence[Published], entries: Sequence[Entry]) -> list[Published]:
    """The figures at sizes that were measured too, so that two curves of them can be compared."""
    sizes = {entry.cell.n for entry in entries}
    return [figure for figure in figures if figure.n in sizes]


def _within(figures: Sequence[Published], entries: Sequence[Entry]) -> list[Published]:
    """The figures at sizes that are not beyond those measured."""
    return [figure for figure in figures if entries[0].cell.n <= figure.n <= entries[-1].cell.n]


def _ours(
    series: Mapping[Key, Sequence[Entry]],
    then: Mapping[Key, Sequence[Published]],
    look: Mapping[tuple[str, object], Look],
    quantity: Quantity,
    axes: Axes,
) -> None:
    values: list[float] = []
    for index, (key, entries) in enumerate(series.items()):
        y = [quantity.of(entry) for entry in entries]
        values += y
        style = look[key.kernel, key.block].line()
        x = [entry.cell.n for entry in entries]
        axes.plot(x, y, label=key.label, markevery=markevery(y, index), **style)
    for key, figures in then.items():
        y = [figure.gflops for figure in figures]
        values += y
        style = look[key.kernel, key.block].published()
        axes.plot([figure.n for figure in figures], y, label=f"{key.label}, {gpus(figures)}", **style)
    scale_y(axes, values)
    _label(axes, {entry.cell.n for entries in series.values() for entry in entries}, quantity.label)


def _published(curves: Mapping[Key, Sequence[Published]], look: Mapping[tuple[str, object], Look], axes: Axes) -> None:
    for key, figures in curves.items():
        y = [figure.gflops for figure in figures]
        axes.plot([figure.n for figure in figures], y, label=key.label, **look[key.kernel, key.block].line())
    scale_y(axes, [figure.gflops for figures in curves.values() for figure in figures])
    _label(axes, {figure.n for figures in curves.values() for figure in figures}, "GFLOP/s")


def _label(axes: Axes, sizes: set[int], label: str) -> None:
    ticks_at(axes, sizes)
    axes.set_xlabel("n")
    axes.set_ylabel(label)
