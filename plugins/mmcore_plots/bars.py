"""All kernels at one size, the best on top."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from mmcore.errors import InvalidResults
from mmcore_plots.drawing import Drawing, Panel
from mmcore_plots.quantity import Quantity, caption, heading, rate
from mmcore_plots.results import Entry, Results
from mmcore_plots.series import kernel_entries
from mmcore_plots.style import INK, families, family

if TYPE_CHECKING:
    from matplotlib.axes import Axes

KIND = "bars"
# More bars than this, and each kernel is drawn in its best block only.
_MOST = 24


def sizes(results: Results) -> list[int]:
    """Every n that there are kernel results of, from small to large."""
    return sorted({entry.cell.n for entry in kernel_entries(results)})


def usual_size(results: Results) -> int:
    """The n with the most kernels; the largest of several such.

    Raises:
        InvalidResults: there are no kernel results of square products.
    """
    cells = {(entry.cell.n, entry.cell.kernel) for entry in kernel_entries(results)}
    if not cells:
        raise InvalidResults("there are no kernel times of square products to draw")
    counted = Counter(n for n, _ in cells)
    return max(counted, key=lambda n: (counted[n], n))


def at_size(results: Results, n: int) -> list[Entry]:
    """Kernel results at one n.

    Raises:
        InvalidResults: there are none.
    """
    found = [entry for entry in kernel_entries(results) if entry.cell.n == n]
    if not found:
        there = ", ".join(map(str, sizes(results)))
        raise InvalidResults(
            f"there are no kernel results at n = {n}" + (f"; there are some at {there}" if there else "")
        )
    return found


def best_blocks(entries: Sequence[Entry], quantity: Quantity) -> list[Entry]:
    """Each kernel in the block that does best."""
    best: dict[str, Entry] = {}
    for entry in entries:
        known = best.get(entry.cell.kernel)
        if known is None or quantity.of(entry) > quantity.of(known):
            best[entry.cell.kernel] = entry
    return list(best.values())


def drawing(results: Results, n: int) -> Drawing:
    """A bar for each kernel and block at one n; where they are many, for each kernel in its best block.

    Raises:
        InvalidResults: there are no kernel results at that size.
    """
    entries, quantity = at_size(results, n), rate(results)
    shown = entries if len(entries) <= _MOST else best_blocks(entries, quantity)
    shown = sorted(shown, key=quantity.of)
    some = "" if len(shown) == len(entries) else ", each kernel in its best block"
    # On every figure of a page the same.
    fills = families(entry.cell.kernel for entry in results.entries)
    usual = "float32 unless it says otherwise; " if any(entry.dtype == "float32" for entry in shown) else ""
    how = "" if results.emulated else f", {entries[0].cell.how} L2"
    return Drawing(
        KIND,
        _heading(results, f"{quantity.name} at n = {n}{some}"),
        f"m = n = k = {n}{how}; {usual}higher is better. A colour for each lecture or package.",
        caption(results),
        (Panel("", partial(_bars, shown, fills, quantity), 0.55 + 0.235 * len(shown)),),
        n=n,
    )


def _heading(results: Results, shown: str) -> str:
    """What is shown, behind the title of the experiment where there is one that speaks of it."""
    title = heading(results, "")
    return f"{title}: {shown}" if title else shown


def _bars(entries: Sequence[Entry], fills: Mapping[str, str], quantity: Quantity, axes: Axes) -> None:
    values = [quantity.of(entry) for entry in entries]
    axes.grid(visible=False, axis="y")
    for place, (entry, value) in enumerate(zip(entries, values, strict=True)):
        axes.barh(place, value, height=0.72, color=fills[family(entry.cell.kernel)])
        axes.annotate(number(value), (value, place), (4, 0), textcoords="offset points", va="center", fontsize=8)
    axes.set_yticks(range(len(entries)), [_name(entry) for entry in entries])
    axes.tick_params(axis="y", length=0)
    axes.set_xlim(0, 1.12 * max(values))
    axes.set_ylim(-0.6, len(entries) - 0.4)
    axes.set_xlabel(quantity.label, color=INK)


def _name(entry: Entry) -> str:
    dtype = "" if entry.dtype == "float32" else f", {entry.dtype}"
    return f"{entry.cell.kernel}, b={entry.cell.edge}{dtype}"


def number(value: float) -> str:
    """Three digits, or all of a large number."""
    return f"{value:.0f}" if value >= 1000 else f"{value:.3g}"
