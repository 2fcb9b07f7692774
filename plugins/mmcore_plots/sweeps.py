"""Figures of a sweep: rates and copies as n grows, what remainders cost at every n, and times against the block's edge.

Each raises InvalidResults where the results have not what it takes.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

from matplotlib.axes import Axes

from mmcore_plots.drawing import Drawing, Panel
from mmcore_plots.published import Published, published
from mmcore_plots.quantity import TIME, Quantity, caption, cost, heading, rate, span
from mmcore_plots.results import Cell, Entry, InvalidResults, Results, Skipped
from mmcore_plots.series import Curves, beside, by_label, draw_lines, finish, gpus, kernel_entries, looks_of
from mmcore_plots.style import INK, Look, looks

MEMORIES = ("pinned", "pageable")
_WAYS = {"kernel": "kernel", **{memory: f"end to end, {memory}" for memory in MEMORIES}}

Times = dict[str, dict[int, float]]
"""Milliseconds by way ("kernel", "pinned", "pageable") and n."""


def sizes(results: Results) -> Drawing:
    """The rate of every kernel and config against n, with what the lecture published.

    A lecture's curve gets axes of its own, because its GPU's rates are another matter; single figures stand among ours.
    """
    series, quantity = by_label(results), rate(results)
    ours = {label: _values(entries, quantity) for label, entries in series.items()}
    found = _places(ours)
    if len(found) < 2:
        raise InvalidResults("a figure of sizes takes results of square products at two sizes at least")
    look = looks_of(series)
    then = {} if results.emulated else _published_within(ours)
    # Two curves can be compared where there are so many sizes that both have.
    curves = {label: each for label, each in then.items() if len({figure.n for figure in each} & set(ours[label])) > 2}
    points = {} if curves else then

    def draw(curves: Curves, points: Mapping[str, Sequence[Published]], axes: Axes) -> None:
        draw_lines(axes, curves, look)
        for label, figures in points.items():
            n, rates = [figure.n for figure in figures], [figure.gflops for figure in figures]
            axes.plot(n, rates, label=f"{label}, {gpus(figures)}", **look[label].published())
        finish(axes, _places(curves), "n", quantity.label)

    text = f"m = n = k; b is the edge of the square block. {quantity.text}"
    if curves:
        text += " Each GPU has a scale of its own: what can be compared is which variant leads, and by how much."
    elif points:
        text += " Hollow and half-filled markers are what the lecture published."
    theirs = {label: {figure.n: figure.gflops for figure in figures} for label, figures in curves.items()}
    figures = [figure for each in curves.values() for figure in each]
    panels = beside(results, partial(draw, ours, points), figures, partial(draw, theirs, {}))
    title = heading(results, f"{quantity.name} against {span(found)}")
    return Drawing("sizes", title, text, caption(results), panels)


def _published_within(ours: Curves) -> dict[str, list[Published]]:
    """The kernel times published of the series, in the order of n, at sizes that are not beyond those measured."""
    found: dict[str, list[Published]] = {}
    for figure in sorted(published(), key=lambda figure: figure.n):
        values = ours.get(figure.label, {})
        if values and figure.measure == "kernel" and min(values) <= figure.n <= max(values):
            found.setdefault(figure.label, []).append(figure)
    return found


def remainders(results: Results) -> Drawing:
    """One panel for each kernel and config, each with a scale of its own, and lines at the multiples of the block."""
    series = {
        label: entries
        for label, entries in by_label(results).items()
        if any(there.cell.n - here.cell.n == 1 for here, there in pairwise(entries))
    }
    if not series:
        raise InvalidResults("a figure of remainders takes results of square products at sizes in a row")
    look, quantity = looks_of(series), rate(results)
    values = {label: _values(entries, quantity) for label, entries in series.items()}
    return Drawing(
        "remainders",
        heading(results, f"{quantity.name} at every {span(_places(values))}"),
        f"m = n = k. {quantity.text} Each scale is the panel's own and does not begin at 0; dotted lines and markers "
        f"stand at multiples of b, where there are peaks if remainders cost anything.",
        caption(results),
        tuple(
            Panel(label, partial(_remainders, values[label], entries[0].cell.block.x, look[label], quantity.label), 2.1)
            for label, entries in series.items()
        ),
    )


def _remainders(values: Mapping[int, float], edge: int, look: Look, name: str, axes: Axes) -> None:
    multiples = {n: value for n, value in values.items() if n % edge == 0}
    axes.grid(visible=False, axis="x")
    for multiple in range(-(-min(values) // edge) * edge, max(values) + 1, edge):
        axes.axvline(multiple, color=INK, linewidth=0.7, linestyle=":")
    axes.plot(list(values), list(values.values()), color=look.color, linewidth=1.2)
    axes.plot(list(multiples), list(multiples.values()), color=look.color, marker=look.marker, linestyle="")
    axes.margins(x=0.02, y=0.1)
    axes.set(xlabel="n", ylabel=name)


def transfers(results: Results) -> Drawing:
    """Kernel and end-to-end times against n, and the share of the copies."""
    times = times_by_label(results)
    shares = {label: shares_of(ways) for label, ways in times.items()}
    found = {n for ways in shares.values() for n in _places(ways)}
    if not found:
        raise InvalidResults(
            "a figure of transfers takes kernel times and end-to-end times of the same products: "
            "--mm-measure kernel,end-to-end"
        )
    lines = {(label, way): f"{label}: {_WAYS[way]}" for label in times for way in _WAYS}
    look = looks({line: key for key, line in lines.items()})

    def draw(curves: Mapping[str, Times], name: str, axes: Axes) -> None:
        draw_lines(axes, {lines[label, way]: ways[way] for label, ways in curves.items() for way in ways}, look)
        finish(axes, found, "n", name)
        if curves is shares:
            axes.set(yscale="linear", ylim=(0, 100))

    panels = {"time of a product": partial(draw, times, "ms"), "share of the copies": partial(draw, shares, "%")}
    return Drawing(
        "transfers",
        heading(results, f"Copies and kernel against {span(found)}"),
        "m = n = k. End-to-end time is from the first copy in to the end of the last copy out.",
        caption(results),
        tuple(Panel(title, draw) for title, draw in panels.items()),
    )


def times_by_label(results: Results) -> dict[str, Times]:
    """Kernel times, and end-to-end times beside them, of every kernel and config of square products."""
    found = {label: {"kernel": _values(entries, TIME)} for label, entries in by_label(results).items()}
    for cell, ms in ((entry.cell, entry.ms) for entry in results.entries):
        if cell.is_square and cell.measure == "end-to-end" and cell.label in found:
            found[cell.label].setdefault(cell.how, {})[cell.n] = ms
    return {label: times for label, times in found.items() if len(times) > 1}


def shares_of(times: Times) -> Times:
    """The share of the copies in the end-to-end time, in percent, by memory and n."""
    kernel = times["kernel"]
    return {
        memory: {n: share(kernel[n], ms) for n, ms in sorted(times[memory].items()) if n in kernel}
        for memory in MEMORIES
        if memory in times
    }


def share(kernel_ms: float, end_to_end_ms: float) -> float:
    """What of an end-to-end time is not the kernel's, in percent; nothing where noise makes the kernel the longer."""
    return 100 * max(0.0, 1 - kernel_ms / end_to_end_ms)


def blocks(results: Results) -> Drawing:
    """Each kernel's time against the edge of its square blocks, beside the lecture's, with what was skipped below."""
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
        finish(axes, places, "b, edge of the block", quantity.label)

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


def _values(entries: Iterable[Entry], quantity: Quantity) -> dict[int, float]:
    return {entry.cell.n: quantity.of(entry) for entry in entries}


def _places(curves: Curves) -> set[int]:
    return {n for values in curves.values() for n in values}
