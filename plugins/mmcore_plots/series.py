"""Results as series: the points of one kernel and config in the order of an axis, and how they are drawn."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TypeAlias

from matplotlib.axes import Axes

from mmcore_plots.drawing import Draw, Panel
from mmcore_plots.published import Published
from mmcore_plots.results import Entry, InvalidResults, Results, natural
from mmcore_plots.style import Look, looks

Curves: TypeAlias = Mapping[str, Mapping[int, float]]
"""The points of each series, x and y, by what the legend calls it."""

# More lines than this cannot be told apart.
_MOST = 18
# Beyond this many points on a line, markers stand on some of them only.
_MARKED = 14
# From this ratio on, equal steps show nothing of the small values.
_LOGARITHMIC_FROM = 30
# Up to so many places on an axis, each has a tick.
_FEW = 10


def kernel_entries(results: Results) -> list[Entry]:
    """Kernel times or counts of square products; warm where there are warm ones, so that each cell is there once."""
    found = [entry for entry in results.entries if entry.cell.measure == "kernel" and entry.cell.is_square]
    return [entry for entry in found if entry.cell.how == "warm"] or found


def by_label(results: Results) -> dict[str, list[Entry]]:
    """Kernel entries by kernel and config, in the order of n; kernels by name, blocks from small to large."""
    found: dict[str, list[Entry]] = {}
    for entry in sorted(kernel_entries(results), key=lambda each: (natural(each.cell.label), each.cell.n)):
        found.setdefault(entry.cell.label, []).append(entry)
    return found


def looks_of(series: Mapping[str, Sequence[Entry]]) -> dict[str, Look]:
    """The look of each series; InvalidResults where they are too many for a reader to tell apart."""
    if len(series) > _MOST:
        raise InvalidResults(
            f"{len(series)} series are too many for one figure; choose some with --kernel 'upc.*' or --block 16"
        )
    return looks({label: (first.cell.kernel, first.cell.config) for label, (first, *_) in series.items()})


def gpus(figures: Iterable[Published]) -> str:
    """The lectures' GPUs, in words."""
    return " and ".join(sorted({figure.gpu for figure in figures}))


def beside(results: Results, ours: Draw, figures: Collection[Published], theirs: Draw) -> tuple[Panel, ...]:
    """Our panel, beside that of the published figures, where there are some: axes for each GPU."""
    if not figures:
        return (Panel("", ours),)
    return Panel(f"{gpus(figures)}, as published", theirs), Panel(results.device, ours)


def draw_lines(axes: Axes, curves: Curves, look: Mapping[str, Look]) -> None:
    """Lines with markers: on all of few points, on some of many, and not on all lines' at one place."""
    for index, (label, points) in enumerate(curves.items()):
        x = sorted(points)
        step = max(1, len(x) // 9)
        every = 1 if len(x) <= _MARKED else (index * step // 6 % step, step)
        axes.plot(x, [points[each] for each in x], label=label, markevery=every, **look[label].line())


def finish(axes: Axes, places: Collection[int], x: str, y: str) -> None:
    """The scale of what is drawn, the axes' names, and ticks along x where the places are, if they are few.

    y is from 0 in equal steps; logarithmic where the values differ too much for that.
    """
    low, high = axes.dataLim.intervaly
    if low > 0 and high / low > _LOGARITHMIC_FROM:
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(plain)
        axes.yaxis.set_minor_formatter("")
    else:
        axes.set_ylim(0, 1.06 * high)
    axes.set(xlabel=x, ylabel=y)
    if len(places) <= _FEW:
        ticks: list[int] = []
        for place in sorted(places):
            if not ticks or place - ticks[-1] > (max(places) - min(places)) / 12:
                ticks.append(place)
        axes.set_xticks(ticks)


def plain(value: float, _position: float) -> str:
    """A tick's label without powers of ten."""
    return f"{value:,.0f}" if value >= 1e4 else f"{value:g}"
