"""Series as lines: their points, how they look, and the axes that hold them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from itertools import pairwise
from operator import attrgetter
from typing import TypeAlias

from matplotlib.axes import Axes

from mmcore_tools.plots.drawing import PLAIN, Look, looks
from mmcore_tools.plots.results import Entry, InvalidResults, Quantity, natural

Curves: TypeAlias = Mapping[str, Mapping[int, float]]
"""The points of each series, x and y, by what the legend calls it."""
Place: TypeAlias = Callable[[Entry], tuple[str, int]]
"""The series and the x of an entry."""

# More lines than this cannot be told apart.
_MOST = 18
# Beyond this many points on a line, markers stand on some of them only.
_MARKED = 14
# From this ratio on, equal steps show nothing of the small values.
_LOGARITHMIC_FROM = 30
# Up to so many places on an axis, each has a tick.
_FEW = 10


def curves_of(entries: Iterable[Entry], quantity: Quantity, place: Place = attrgetter("label", "n")) -> Curves:
    """The points of each series in the order of x; kernels by name, blocks from small to large."""
    found: dict[str, dict[int, float]] = {}
    for entry in entries:
        name, x = place(entry)
        found.setdefault(name, {})[x] = quantity.of(entry)
    return {name: dict(sorted(found[name].items())) for name in sorted(found, key=natural)}


def places_of(curves: Curves) -> set[int]:
    """Every x that a series has a point at."""
    return {x for points in curves.values() for x in points}


def span(sizes: Collection[int]) -> str:
    """The sizes in a heading."""
    return f"n from {min(sizes)} to {max(sizes)}"


def looks_of(labels: Collection[str]) -> dict[str, Look]:
    """The look of each kernel, or kernel and config; InvalidResults where a reader could not tell so many apart."""
    if len(labels) > _MOST:
        raise InvalidResults(
            f"{len(labels)} series are too many for one figure; choose some with --kernel 'upc.*' or --block 16"
        )
    return looks({label: (*label.split(", ", 1), "")[:2] for label in labels})


def draw_lines(
    axes: Axes, curves: Curves, look: Mapping[str, Look], x: str, y: str, further: Iterable[int] = ()
) -> None:
    """Lines with markers: on all of few points, on some of many, and not on all lines' at one place.

    y is from 0 in equal steps, or logarithmic where the values differ too much for that; x has ticks at the points and
    at further places, if they are few.
    """
    for index, (label, points) in enumerate(curves.items()):
        step = max(1, len(points) // 9)
        every = 1 if len(points) <= _MARKED else (index * step // 6 % step, step)
        axes.plot(list(points), list(points.values()), label=label, markevery=every, **look[label].line)
    low, high = axes.dataLim.intervaly
    if low > 0 and high / low > _LOGARITHMIC_FROM:
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(PLAIN)
        axes.yaxis.set_minor_formatter("")
    else:
        axes.set_ylim(0, 1.06 * high)
    axes.set(xlabel=x, ylabel=y)
    places = sorted(places_of(curves).union(further))
    if len(places) <= _FEW:
        apart = (places[-1] - places[0]) / 12
        axes.set_xticks([places[0], *(there for here, there in pairwise(places) if there - here > apart)])
