"""Lines: the points of each series, their look, and their axes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from itertools import pairwise
from operator import attrgetter
from typing import TypeAlias

from matplotlib.axes import Axes

from mmcore_tools.plots.drawing import PLAIN, Look, looks
from mmcore_tools.plots.results import Entry, Quantity, natural
from mmcore_tools.saved import InvalidResults

Curves: TypeAlias = Mapping[str, Mapping[int, float]]
"""The points of each series, y by x, by its label in the legend."""
Place: TypeAlias = Callable[[Entry], tuple[str, int]]
"""The series and the x of an entry."""

_MOST = 18  # lines in one figure that a reader can distinguish
_MARKED = 14  # points on a line that all have a marker
_LOGARITHMIC_FROM = 30  # the ratio of values from which a linear axis hides the small ones
_FEW = 10  # places on an axis that all have a tick


def curves_of(entries: Iterable[Entry], quantity: Quantity, place: Place = attrgetter("label", "n")) -> Curves:
    """Return the points of each series in the order of x; kernels by name, blocks from small to large."""
    found: dict[str, dict[int, float]] = {}
    for entry in entries:
        name, x = place(entry)
        found.setdefault(name, {})[x] = quantity.of(entry)
    return {name: dict(sorted(found[name].items())) for name in sorted(found, key=natural)}


def places_of(curves: Curves) -> set[int]:
    """Return the x of all points."""
    return {x for points in curves.values() for x in points}


def span(sizes: Collection[int]) -> str:
    """Return the range of the sizes, for a heading."""
    return f"n from {min(sizes)} to {max(sizes)}"


def looks_of(labels: Collection[str]) -> dict[str, Look]:
    """Return the look of each kernel, or kernel and config. Raises InvalidResults for too many."""
    if len(labels) > _MOST:
        raise InvalidResults(
            f"{len(labels)} series are too many for one figure; choose some with --kernel 'upc.*' or --block 16"
        )
    return looks({label: (*label.split(", ", 1), "")[:2] for label in labels})


def draw_lines(
    axes: Axes, curves: Curves, look: Mapping[str, Look], x: str, y: str, further: Iterable[int] = ()
) -> None:
    """Draw lines with markers on all points, or on some if there are many.

    The y axis begins at 0, or is logarithmic if the values differ much. The x axis has ticks at the points and at the
    further places if these are few.
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
