"""All kernels at one size, the best on top."""

from __future__ import annotations

from collections.abc import Iterable

from matplotlib.axes import Axes

from mmcore_plots.drawing import Drawing, Panel
from mmcore_plots.quantity import Quantity, caption, number, rate
from mmcore_plots.results import Entry, InvalidResults, Results
from mmcore_plots.series import kernel_entries
from mmcore_plots.style import INK, family_colors

# More bars than this, and each kernel is drawn in its best config only.
_MOST = 24


def by_size(results: Results) -> dict[int, list[Entry]]:
    """Kernel results by n, from small to large; InvalidResults where there are none of square products."""
    found: dict[int, list[Entry]] = {}
    for entry in sorted(kernel_entries(results), key=lambda entry: entry.cell.n):
        found.setdefault(entry.cell.n, []).append(entry)
    if not found:
        raise InvalidResults("there are no kernel results of square products to draw")
    return found


def at_size(results: Results, n: int | None) -> list[Entry]:
    """Kernel results at one n, by default the largest of those with the most kernels; InvalidResults for none."""
    found = by_size(results)
    if n is None:
        n = max(found, key=lambda n: (len({entry.cell.kernel for entry in found[n]}), n))
    if n not in found:
        raise InvalidResults(f"there are no kernel results at n = {n}; there are some at {', '.join(map(str, found))}")
    return found[n]


def best_configs(entries: Iterable[Entry], quantity: Quantity) -> list[Entry]:
    """Each kernel in the config that does best."""
    return list({entry.cell.kernel: entry for entry in sorted(entries, key=quantity.of)}.values())


def bars(results: Results, n: int | None = None) -> Drawing:
    """A bar for each kernel and config at one n; where they are many, for each kernel in its best config."""
    entries, quantity = at_size(results, n), rate(results)
    n, many = entries[0].cell.n, len(entries) > _MOST
    shown = sorted(best_configs(entries, quantity) if many else entries, key=quantity.of)
    # On every figure of a page the same.
    colors = family_colors(entry.cell.kernel for entry in results.entries)

    def panel(axes: Axes) -> None:
        values = [quantity.of(entry) for entry in shown]
        axes.grid(visible=False, axis="y")
        for place, (entry, value) in enumerate(zip(shown, values, strict=True)):
            axes.barh(place, value, height=0.72, color=colors[entry.cell.kernel])
            text = number(value, 3)
            axes.annotate(text, (value, place), (4, 0), textcoords="offset points", va="center", fontsize=8)
        axes.set_yticks(range(len(shown)), [_name(entry) for entry in shown])
        axes.tick_params(axis="y", length=0)
        axes.set(xlim=(0, 1.12 * max(values)), ylim=(-0.6, len(shown) - 0.4))
        axes.set_xlabel(quantity.label, color=INK)

    how = "" if results.emulated else f", {entries[0].cell.how} L2"
    usual = " float32 unless it says otherwise." if any(entry.dtype == "float32" for entry in shown) else ""
    title = f"{quantity.name} at n = {n}" + (", each kernel in its best config" if many else "")
    return Drawing(
        "bars",
        f"{results.title}: {title}" if results.whole else title,
        f"m = n = k = {n}{how}.{usual} {quantity.text} A colour for each lecture or package.",
        caption(results),
        (Panel("", panel, 0.55 + 0.235 * len(shown)),),
    )


def _name(entry: Entry) -> str:
    return entry.cell.label if entry.dtype == "float32" else f"{entry.cell.label}, {entry.dtype}"
