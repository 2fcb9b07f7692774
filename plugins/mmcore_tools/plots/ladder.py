"""The figure of a ladder: the rate of each rung at one size, a panel for each type, with the library's rate."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from matplotlib import rcParams
from matplotlib.axes import Axes

from mmcore_tools.plots.drawing import Drawing
from mmcore_tools.plots.results import (
    TERA_RATE,
    Entry,
    Quantity,
    Results,
    at_size,
    best_configs,
    by_type,
    library_rate,
    number,
)

_BAR = 0.2  # inches from one bar to the next


def ladder(results: Results, n: int | None = None) -> Drawing:
    """Draw a bar for each kernel in its best config, in the results' order, and the library's rate.

    Raises InvalidResults if there are no results at ``n``.
    """
    quantity = results.rate if results.emulated else TERA_RATE
    entries = at_size(results, n)
    best = {entry.kernel: entry for entry in best_configs(entries, quantity)}
    panels = by_type(best[kernel] for kernel in dict.fromkeys(entry.kernel for entry in entries))
    n, library = entries[0].n, library_rate(best.values())
    how = "" if results.emulated else f", {entries[0].how} L2"
    beside = (
        f" Percents are of {library[0]}, which took turns with each kernel; the dashed line is the median of its rates."
        if library
        else ""
    )
    scales = " Each type has a scale of its own." if len(panels) > 1 else ""
    title, sizes = f"{quantity.name} of each kernel at n = {n}", {entry.n for entry in results.kernel_entries}
    return Drawing(
        results.heading(title) if len(sizes) == 1 else title,
        f"m = n = k = {n}{how}. {quantity.text}{beside}{scales}",
        results.caption,
        {_heading(dtype, rungs): partial(_draw, rungs, quantity) for dtype, rungs in panels.items()},
        heights=[_BAR * (len(rungs) + 1) for rungs in panels.values()],
    )


def _prefix(rungs: Sequence[Entry]) -> str:
    """Return the common beginning of the kernels' names, up to a dot."""
    shared = ""
    for word in rungs[0].kernel.split(".")[:-1]:
        if not all(entry.kernel.startswith(f"{shared}{word}.") for entry in rungs):
            break
        shared += f"{word}."
    return shared


def _heading(dtype: str, rungs: Sequence[Entry]) -> str:
    prefix = _prefix(rungs)
    return f"{dtype}, {prefix}*" if prefix else dtype


def _draw(rungs: Sequence[Entry], quantity: Quantity, axes: Axes) -> None:
    """Draw bars from the first rung down, and leave room above them for the library's name."""
    values, prefix = [quantity.of(entry) for entry in rungs], _prefix(rungs)
    names = [entry.kernel.removeprefix(prefix) for entry in rungs]
    bars = axes.barh(range(len(rungs)), values, 0.72, tick_label=names)
    words = [_words(entry, value) for entry, value in zip(rungs, values, strict=True)]
    # A number on the library's line hides a part of the line.
    ground = {"facecolor": rcParams["axes.facecolor"], "edgecolor": "none", "pad": 0.8}
    axes.bar_label(bars, words, padding=4, fontsize=8, zorder=4, bbox=ground)
    library = library_rate(rungs)
    most = max(*values, *(library[1:] if library else ()), 0.0)
    axes.set(xlabel=quantity.label, xlim=(0, 1.2 * most), ylim=(len(rungs) - 0.4, -1.4 if library else -0.6))
    if library:
        _draw_library(axes, *library)
    axes.grid(visible=False, axis="y")
    axes.tick_params(axis="y", length=0)


def _draw_library(axes: Axes, name: str, rate: float) -> None:
    """Draw a dashed line at the library's rate, with its name on the side that has room."""
    axes.axvline(rate, color="C1", linestyle=(0, (5, 2)), linewidth=1.4)
    side, points = ("right", -4) if rate > axes.get_xlim()[1] / 2 else ("left", 4)
    place: dict[str, Any] = {"xytext": (points, 0), "textcoords": "offset points", "ha": side, "va": "center"}
    axes.annotate(f"{name} {number(rate, 3)}", (rate, -1), fontsize=8, **place)


def _words(entry: Entry, value: float) -> str:
    percent = entry.numbers.get("percent_of_baseline")
    return number(value, 3) + ("" if percent is None else f" ({percent:.{1 if percent < 10 else 0}f} %)")
