"""A rate against every n of a range: what the remainder of n by the block's edge costs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from mmcore.errors import InvalidResults
from mmcore_plots.drawing import Drawing, Panel
from mmcore_plots.quantity import Quantity, caption, heading, rate
from mmcore_plots.results import Entry, Results
from mmcore_plots.series import Key, blocks, by_key, few, kernel_entries
from mmcore_plots.style import INK, Look, looks

if TYPE_CHECKING:
    from matplotlib.axes import Axes

KIND = "remainders"


def drawing(results: Results) -> Drawing:
    """One panel for each kernel and block, each with a scale of its own, and lines at the multiples of the block.

    Raises:
        InvalidResults: no kernel was measured at two sizes in a row.
    """
    series = {key: entries for key, entries in by_key(kernel_entries(results)).items() if _in_a_row(entries)}
    if not series:
        raise InvalidResults(
            "a figure of remainders takes results of square products at sizes in a row, such as 1000:1100"
        )
    few(series)
    look = looks(dict.fromkeys(key.kernel for key in series), blocks(series))
    quantity = rate(results)
    panels = [
        Panel(key.label, partial(_panel, key, entries, look[key.kernel, key.block], quantity), 2.1)
        for key, entries in series.items()
    ]
    what = "it" if results.emulated else "the rate"
    return Drawing(
        KIND,
        heading(results, f"{quantity.name} at every n: what remainders cost"),
        f"m = n = k. Each scale is the panel's own and does not begin at 0; the dotted lines and filled markers are at "
        f"multiples of b, where {what} peaks where remainders cost anything.",
        caption(results),
        tuple(panels),
        columns=2 if len(panels) > 1 else 1,
    )


def _in_a_row(entries: Sequence[Entry]) -> bool:
    sizes = {entry.cell.n for entry in entries}
    return any(size + 1 in sizes for size in sizes)


def _panel(key: Key, entries: Sequence[Entry], look: Look, quantity: Quantity, axes: Axes) -> None:
    edge = entries[0].cell.block[0]
    axes.grid(visible=False, axis="x")
    sizes = [entry.cell.n for entry in entries]
    for multiple in range(-(-sizes[0] // edge) * edge, sizes[-1] + 1, edge):
        axes.axvline(multiple, color=INK, linewidth=0.7, linestyle=":")
    values = [quantity.of(entry) for entry in entries]
    axes.plot(sizes, values, color=look.color, linewidth=1.2)
    whole = [entry for entry in entries if entry.cell.n % edge == 0]
    peaks = [quantity.of(entry) for entry in whole]
    axes.plot([entry.cell.n for entry in whole], peaks, color=look.color, marker=look.marker, linestyle="")
    axes.margins(x=0.02, y=0.1)
    axes.set_xlabel("n")
    axes.set_ylabel(quantity.label)
