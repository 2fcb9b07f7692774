"""Figures of a sweep: rates and copies against n, the cost of remainders, and times against the block's edge.

Each raises InvalidResults if the results are not of such a sweep.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import pairwise

from matplotlib import rcParams
from matplotlib.axes import Axes

from mmcore_tools.plots.curves import Curves, curves_of, draw_lines, looks_of, places_of, span
from mmcore_tools.plots.drawing import Draw, Drawing, Look, looks
from mmcore_tools.plots.published import Published, published
from mmcore_tools.plots.results import RATE, TERA_RATE, TIME, Entry, Quantity, Results, by_type, library_rate
from mmcore_tools.saved import InvalidResults

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


def sizes(results: Results) -> Drawing:
    """Draw the rate of every kernel and config against n, with a library's rate or a lecture's published ones.

    A lecture's curve has separate axes, because its GPU's rates are not comparable; single points share ours.
    """
    quantity = results.rate
    ours = curves_of(results.kernel_entries, quantity)
    if len(places_of(ours)) < 2:
        raise InvalidResults("a figure of sizes takes results of square products at two sizes at least")
    if results.baseline or library_rate(results.kernel_entries):
        return sizes_by_type(results)
    look = looks_of(ours)
    then = [each for each in _kernel_times(results) if each.entry.label in ours]
    then = [each for each in then if min(ours[each.entry.label]) <= each.n <= max(ours[each.entry.label])]
    lecture = curves_of([each.entry for each in then], RATE)
    draw = partial(draw_lines, look=look, x="n", y=quantity.label)

    def with_points(axes: Axes) -> None:
        for each in then:
            label = each.entry.label
            axes.plot(each.n, RATE.of(each.entry), label=f"{label}, {each.gpu}", zorder=3, **look[label].points)
        draw(axes, ours)

    text = f"m = n = k; b is the edge of the square block. {quantity.text}"
    # Curves can be compared where there are so many sizes that both have.
    if any(len(points.keys() & ours[label].keys()) > 2 for label, points in lecture.items()):
        text += " Each GPU has a scale of its own: what can be compared is which variant leads, and by how much."
        panels = _beside(results, partial(draw, curves=ours), then, partial(draw, curves=lecture))
    else:
        text += " Hollow and half-filled markers are what the lecture published." if then else ""
        panels = {"": with_points}
    title = results.heading(f"{quantity.name} against {span(places_of(ours))}")
    return Drawing(title, text, results.caption, panels)


def remainders(results: Results) -> Drawing:
    """Draw a panel for each kernel and config, each with its own scale, with lines at the multiples of the block."""
    quantity = results.rate
    curves = curves_of(results.kernel_entries, quantity)
    curves = {label: points for label, points in curves.items() if any(b - a == 1 for a, b in pairwise(points))}
    if not curves:
        raise InvalidResults("a figure of remainders takes results of square products at sizes in a row")
    look = looks_of(curves)
    edges = {entry.label: entry.block.x for entry in results.kernel_entries}

    def draw(label: str, axes: Axes) -> None:
        points, edge = curves[label], edges[label]
        axes.grid(visible=False, axis="x")
        for multiple in range(-(-min(points) // edge) * edge, max(points) + 1, edge):
            axes.axvline(multiple, color=rcParams["axes.edgecolor"], linewidth=0.7, linestyle=":")
        multiples = [place for place, n in enumerate(points) if n % edge == 0]
        line = {**look[label].line, "linestyle": "-", "linewidth": 1.2, "markevery": multiples}
        axes.plot(list(points), list(points.values()), **line)
        axes.margins(x=0.02, y=0.1)
        axes.set(xlabel="n", ylabel=quantity.label)

    return Drawing(
        results.heading(f"{quantity.name} at every {span(places_of(curves))}"),
        f"m = n = k. {quantity.text} Each scale is the panel's own and does not begin at 0; dotted lines and markers "
        f"stand at multiples of b, where there are peaks if remainders cost anything.",
        results.caption,
        {label: partial(draw, label) for label in curves},
        height=2.1,
    )


def transfers(results: Results) -> Drawing:
    """Draw kernel and end-to-end times against n, and the share of the copies."""
    kernels = {each.label for each in results.kernel_entries}
    copies = [each for each in results.entries if each.measure == "end-to-end" and each.is_square]
    copies = [each for each in copies if each.label in kernels]
    copied = {each.label for each in copies}
    entries = [each for each in results.kernel_entries if each.label in copied] + copies
    times = curves_of(entries, results.cost, lambda each: (_way(each), each.n))
    shares = {_way(each): share_of_copies(times[f"{each.label}: kernel"], times[_way(each)]) for each in copies}
    found = places_of(shares)
    if not found:
        raise InvalidResults(
            "a figure of transfers takes kernel times and end-to-end times of the same products: "
            "--mm-measure kernel,end-to-end"
        )
    draw = partial(draw_lines, look=looks({_way(each): (each.label, each.how) for each in entries}), x="n")

    def draw_shares(axes: Axes) -> None:
        draw(axes, shares, y="%")
        axes.set(yscale="linear", ylim=(0, 100))

    return Drawing(
        results.heading(f"Copies and kernel against {span(found)}"),
        "m = n = k. End-to-end time is from the first copy in to the end of the last copy out.",
        results.caption,
        {"time of a product": partial(draw, curves=times, y="ms"), "share of the copies": draw_shares},
    )


def _way(entry: Entry) -> str:
    return f"{entry.label}: {'kernel' if entry.measure == 'kernel' else f'end to end, {entry.how}'}"


def share_of_copies(kernel: Mapping[int, float], whole: Mapping[int, float]) -> dict[int, float]:
    """Return the copies' percentage of the end-to-end times; 0 if noise makes the kernel's time the longer one."""
    return {n: 100 * max(0.0, 1 - kernel[n] / ms) for n, ms in whole.items() if n in kernel}


def blocks(results: Results) -> Drawing:
    """Draw each kernel's time against the edge of its square blocks, with skipped blocks and the lecture's times."""
    quantity = results.cost
    square = [entry for entry in results.kernel_entries if entry.edge]
    curves = curves_of(square, quantity, _variant)
    if len({entry.n for entry in square}) != 1 or len(places_of(curves)) < 2:
        raise InvalidResults("a figure of blocks takes results of several square blocks at one size")
    n = square[0].n
    skipped: dict[str, list[int]] = {}
    for each in results.skipped:
        name, edge = _variant(each)
        if edge and each.size == str(n):
            skipped.setdefault(name, []).append(edge)
    then = [each for each in _kernel_times(results) if each.n == n and each.kernel in curves]
    lecture = curves_of([each.entry for each in then], TIME, _variant)
    look = looks({name: (name, "") for name in sorted(curves.keys() | skipped.keys())})
    draw = partial(draw_lines, look=look, x="b, edge of the block", y=quantity.label)

    def ours(axes: Axes) -> None:
        for row, (name, edges) in enumerate(sorted(skipped.items())):
            crosses = {**look[name].points, "marker": "x", "clip_on": False, "transform": axes.get_xaxis_transform()}
            axes.plot(edges, [0.03 + 0.05 * row] * len(edges), label=f"{name}, skipped", **crosses)
        draw(axes, curves, further=[edge for edges in skipped.values() for edge in edges])

    return Drawing(
        results.heading(f"{quantity.name} against the block's edge, n = {n}"),
        f"Blocks of b×b threads. {quantity.text}{_text(results.skipped) if skipped else ''}",
        results.caption,
        _beside(results, ours, then, partial(draw, curves=lecture)) if then else {"": ours},
    )


def _variant(entry: Entry) -> tuple[str, int]:
    """Return the kernel with its other parameters, and the edge of its block; 0 if the block is not square."""
    return ", ".join(filter(None, (entry.kernel, entry.parameters))), entry.edge or 0


def _text(skipped: Iterable[Entry]) -> str:
    reasons = {re.sub(r"\d+", "", each.reason): each for each in skipped}.values()
    examples = ", ".join(f"{each.config} with {each.kernel} ({each.reason})" for each in reasons)
    return f" A cross at the foot is a block that was skipped, such as {examples}."


def _kernel_times(results: Results) -> list[Published]:
    """Return the published kernel times, if the results have times to compare with them."""
    return [] if results.emulated else [each for each in published() if each.measure == "kernel"]


def _beside(results: Results, ours: Draw, then: Iterable[Published], lecture: Draw) -> dict[str, Draw]:
    gpus = " and ".join(sorted({each.gpu for each in then}))
    return {f"{gpus}, as published": lecture, results.device: ours}
