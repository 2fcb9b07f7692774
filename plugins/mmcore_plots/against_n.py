"""A rate against n: as the matrices grow, and at every n of a range, which shows what remainders cost."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial

from matplotlib.axes import Axes

from mmcore_plots.drawing import Drawing, Panel
from mmcore_plots.published import Published
from mmcore_plots.quantity import Quantity, caption, heading, rate, span
from mmcore_plots.results import Entry, InvalidResults, Results
from mmcore_plots.series import (
    Key,
    by_key,
    draw_line,
    gpus,
    kernel_entries,
    label_sizes,
    looks_of,
    published_of,
    scale_y,
)
from mmcore_plots.style import INK, Look


def sizes(results: Results) -> Drawing:
    """The rate of every kernel and config against n, with what the lecture published.

    A lecture's curve gets axes of its own, because its GPU's rates are another matter; single figures stand among ours.

    Raises:
        InvalidResults: there is only one size.
    """
    series = by_key(kernel_entries(results))
    found = {entry.cell.n for entries in series.values() for entry in entries}
    if len(found) < 2:
        raise InvalidResults("a figure of sizes takes results of square products at two sizes at least")
    look, quantity = looks_of(series), rate(results)
    then = {} if results.emulated else _published_within(series)
    curves = {key: figures for key, figures in then.items() if _is_curve(figures, series[key])}
    points = {} if curves else then

    def ours(axes: Axes) -> None:
        for index, (key, entries) in enumerate(series.items()):
            draw_line(axes, {entry.cell.n: quantity.of(entry) for entry in entries}, key.label, look[key], index)
        for key, figures in points.items():
            label = f"{key.label}, {gpus(figures)}"
            axes.plot([f.n for f in figures], [f.gflops for f in figures], label=label, **look[key].published())
        rates = [quantity.of(entry) for entries in series.values() for entry in entries]
        scale_y(axes, rates + [figure.gflops for figure in _all(points)])
        label_sizes(axes, found, quantity.label)

    def theirs(axes: Axes) -> None:
        for key, figures in curves.items():
            draw_line(axes, {figure.n: figure.gflops for figure in figures}, key.label, look[key], 0)
        scale_y(axes, [figure.gflops for figure in _all(curves)])
        label_sizes(axes, {figure.n for figure in _all(curves)}, quantity.label)

    panels = [Panel(results.device if curves else "", ours, 3.0 if curves else 3.3)]
    text = f"m = n = k; b is the edge of the square block. {quantity.text}"
    if curves:
        panels.insert(0, Panel(f"{gpus(_all(curves))}, as published", theirs))
        text += " Each GPU has a scale of its own: what can be compared is which variant leads, and by how much."
    elif points:
        text += " Hollow and half-filled markers are what the lecture published."
    title = heading(results, f"{quantity.name} against {span(found)}")
    return Drawing("sizes", title, text, caption(results), tuple(panels), columns=len(panels))


def _all(figures: Mapping[Key, Iterable[Published]]) -> list[Published]:
    return [figure for each in figures.values() for figure in each]


def _published_within(series: Mapping[Key, Sequence[Entry]]) -> dict[Key, list[Published]]:
    """What is published of the series at sizes that are not beyond those measured."""
    found = {}
    for key, figures in published_of(series).items():
        first, last = series[key][0].cell.n, series[key][-1].cell.n
        if within := [figure for figure in figures if first <= figure.n <= last]:
            found[key] = within
    return found


def _is_curve(figures: Iterable[Published], entries: Iterable[Entry]) -> bool:
    """Whether so many of the figures are at sizes that were measured that two curves of them can be compared."""
    return len({figure.n for figure in figures} & {entry.cell.n for entry in entries}) > 2


def remainders(results: Results) -> Drawing:
    """One panel for each kernel and config, each with a scale of its own, and lines at the multiples of the block.

    Raises:
        InvalidResults: no kernel was measured at two sizes in a row.
    """
    series = {key: entries for key, entries in by_key(kernel_entries(results)).items() if _in_a_row(entries)}
    if not series:
        raise InvalidResults("a figure of remainders takes results of square products at sizes in a row")
    look, quantity = looks_of(series), rate(results)
    found = {entry.cell.n for entries in series.values() for entry in entries}
    panels = [Panel(key.label, partial(_panel, entries, look[key], quantity), 2.1) for key, entries in series.items()]
    return Drawing(
        "remainders",
        heading(results, f"{quantity.name} at every {span(found)}"),
        f"m = n = k. {quantity.text} Each scale is the panel's own and does not begin at 0; dotted lines and markers "
        f"stand at multiples of b, where there are peaks if remainders cost anything.",
        caption(results),
        tuple(panels),
        columns=2 if len(panels) > 1 else 1,
    )


def _in_a_row(entries: Iterable[Entry]) -> bool:
    found = {entry.cell.n for entry in entries}
    return any(n + 1 in found for n in found)


def _panel(entries: Sequence[Entry], look: Look, quantity: Quantity, axes: Axes) -> None:
    edge = entries[0].cell.block.x
    values = {entry.cell.n: quantity.of(entry) for entry in entries}
    multiples = {n: value for n, value in values.items() if n % edge == 0}
    axes.grid(visible=False, axis="x")
    for multiple in range(-(-min(values) // edge) * edge, max(values) + 1, edge):
        axes.axvline(multiple, color=INK, linewidth=0.7, linestyle=":")
    axes.plot(list(values), list(values.values()), color=look.color, linewidth=1.2)
    axes.plot(list(multiples), list(multiples.values()), color=look.color, marker=look.marker, linestyle="")
    axes.margins(x=0.02, y=0.1)
    axes.set_xlabel("n")
    axes.set_ylabel(quantity.label)
