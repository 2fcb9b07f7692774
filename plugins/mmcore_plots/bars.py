"""All kernels at one size, the best on top."""

from __future__ import annotations

from collections.abc import Iterable

from matplotlib.axes import Axes

from mmcore_plots.drawing import Drawing, Panel
from mmcore_plots.quantity import Quantity, caption, heading, rate
from mmcore_plots.results import Entry, InvalidResults, Results
from mmcore_plots.series import kernel_entries
from mmcore_plots.style import INK, families, family

# More bars than this, and each kernel is drawn in its best config only.
_MOST = 24


def by_size(results: Results) -> dict[int, list[Entry]]:
    """Kernel results by n, from small to large.

    Raises:
        InvalidResults: there are none of square products.
    """
    found: dict[int, list[Entry]] = {}
    for entry in sorted(kernel_entries(results), key=lambda entry: entry.cell.n):
        found.setdefault(entry.cell.n, []).append(entry)
    if not found:
        raise InvalidResults("there are no kernel results of square products to draw")
    return found


def usual_size(results: Results) -> int:
    """The n with the most kernels; the largest of several such."""
    found = by_size(results)
    return max(found, key=lambda n: (len({entry.cell.kernel for entry in found[n]}), n))


def at_size(results: Results, n: int) -> list[Entry]:
    """Kernel results at one n.

    Raises:
        InvalidResults: there are none.
    """
    found = by_size(results)
    if n not in found:
        raise InvalidResults(f"there are no kernel results at n = {n}; there are some at {', '.join(map(str, found))}")
    return found[n]


def best_configs(entries: Iterable[Entry], quantity: Quantity) -> list[Entry]:
    """Each kernel in the config that does best, the best kernel last."""
    return list({entry.cell.kernel: entry for entry in sorted(entries, key=quantity.of)}.values())


def bars(results: Results, n: int) -> Drawing:
    """A bar for each kernel and config at one n; where they are many, for each kernel in its best config.

    Raises:
        InvalidResults: there are no kernel results at that size.
    """
    entries, quantity = at_size(results, n), rate(results)
    many = len(entries) > _MOST
    shown = sorted(best_configs(entries, quantity) if many else entries, key=quantity.of)
    # On every figure of a page the same.
    fills = families(entry.cell.kernel for entry in results.entries)

    def panel(axes: Axes) -> None:
        values = [quantity.of(entry) for entry in shown]
        axes.grid(visible=False, axis="y")
        for place, (entry, value) in enumerate(zip(shown, values, strict=True)):
            axes.barh(place, value, height=0.72, color=fills[family(entry.cell.kernel)])
            axes.annotate(number(value), (value, place), (4, 0), textcoords="offset points", va="center", fontsize=8)
        axes.set_yticks(range(len(shown)), [_name(entry) for entry in shown])
        axes.tick_params(axis="y", length=0)
        axes.set_xlim(0, 1.12 * max(values))
        axes.set_ylim(-0.6, len(shown) - 0.4)
        axes.set_xlabel(quantity.label, color=INK)

    how = "" if results.emulated else f", {entries[0].cell.how} L2"
    usual = " float32 unless it says otherwise." if any(entry.dtype == "float32" for entry in shown) else ""
    title = f"{quantity.name} at n = {n}" + (", each kernel in its best config" if many else "")
    return Drawing(
        "bars",
        title if heading(results, "") == "" else f"{results.title}: {title}",
        f"m = n = k = {n}{how}.{usual} {quantity.text} A colour for each lecture or package.",
        caption(results),
        (Panel("", panel, 0.55 + 0.235 * len(shown)),),
    )


def _name(entry: Entry) -> str:
    return entry.cell.label if entry.dtype == "float32" else f"{entry.cell.label}, {entry.dtype}"


def number(value: float) -> str:
    """Three digits, or all of a large number."""
    return f"{value:.0f}" if value >= 1000 else f"{value:.3g}"
