"""The figure of sizes beside a library: rates against n, a panel for each type."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial

from matplotlib.axes import Axes

from mmcore_tools.plots.curves import Curves, curves_of, draw_lines, looks_of, span
from mmcore_tools.plots.drawing import Drawing, Look
from mmcore_tools.plots.results import TERA_RATE, Entry, Quantity, Results, by_type, library_rate

_LIBRARY = Look(
    {"color": "#222222", "linestyle": (0, (4, 2)), "linewidth": 1.3},
    {"color": "#222222", "linestyle": "", "marker": "_", "markersize": 9, "markeredgewidth": 1.6},
)
_ALIGNED = 16  # at a size that is no multiple of it, rows are not aligned and rates are lower
_DOUBLINGS_FROM = 4  # the ratio of sizes from which the axis of n is logarithmic


def sizes_by_type(results: Results) -> Drawing:
    """Draw the rate of every kernel against n, and the rate of a library that took turns with them."""
    entries, quantity = results.kernel_entries, results.rate if results.emulated else TERA_RATE
    names = _names(entries)
    look = {**looks_of(dict.fromkeys(names.values())), **dict.fromkeys((entry.baseline for entry in entries), _LIBRARY)}
    panels = by_type(entries)
    text = f"m = n = k. {quantity.text}"
    if len(panels) > 1:
        text += " Each type has a scale of its own."
    strokes = ""
    if library_rate(entries):
        text += " The dashed line is the library, which took turns with the kernels."
        strokes = ", and short strokes for the library,"
    if any(_aligned(several) < {entry.n for entry in several} for several in panels.values()):
        text += f" Hollow markers{strokes} stand at n that is no multiple of {_ALIGNED}."
    return Drawing(
        results.heading(f"{quantity.name} against {span({entry.n for entry in entries})}"),
        text,
        results.caption,
        {dtype: partial(_draw, several, quantity, names, look) for dtype, several in panels.items()},
        height=2.6,
    )


def _names(entries: Sequence[Entry]) -> dict[str, str]:
    """Return each series' name in the legend by its label: the kernel's, unless it has two configs at one n."""
    configs = Counter((entry.kernel, entry.n) for entry in entries)
    several = {kernel for (kernel, _), count in configs.items() if count > 1}
    return {entry.label: entry.label if entry.kernel in several else entry.kernel for entry in entries}


def _aligned(entries: Sequence[Entry]) -> set[int]:
    """Return the sizes that a line joins: the multiples of _ALIGNED, or all if there are none."""
    found = {entry.n for entry in entries}
    return {n for n in found if n % _ALIGNED == 0} or found


def _library(entries: Sequence[Entry]) -> Curves:
    """Return the library's rate at each n."""
    found: dict[str, dict[int, float]] = {}
    for n in sorted({entry.n for entry in entries}):
        if library := library_rate(entry for entry in entries if entry.n == n):
            name, rate = library
            found.setdefault(name, {})[n] = rate
    return found


def _draw(
    entries: Sequence[Entry], quantity: Quantity, names: Mapping[str, str], look: Mapping[str, Look], axes: Axes
) -> None:
    """Draw lines through the aligned sizes, and markers alone at the others."""
    curves = {**curves_of(entries, quantity, lambda entry: (names[entry.label], entry.n)), **_library(entries)}
    aligned = _aligned(entries)
    for name, points in curves.items():
        apart = {n: rate for n, rate in points.items() if n not in aligned}
        axes.plot(list(apart), list(apart.values()), **look[name].points)
    joined = {name: {n: rate for n, rate in points.items() if n in aligned} for name, points in curves.items()}
    draw_lines(axes, joined, look, x="n", y=quantity.label)
    if max(aligned) >= _DOUBLINGS_FROM * min(aligned):
        axes.set_xscale("log", base=2)
        axes.xaxis.set_major_formatter("{x:.0f}")
