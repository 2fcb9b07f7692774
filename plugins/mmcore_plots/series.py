"""Results as series: the points of one kernel and block, or of one way of measuring, in the order of an axis."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Sized
from typing import TYPE_CHECKING, NamedTuple

from mmcore.errors import InvalidResults
from mmcore_plots.published import Published, published
from mmcore_plots.results import Entry, Results

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# More lines than this cannot be told apart.
_MOST = 18
# Beyond this many points on a line, markers stand on some of them only.
_MARKED = 14
# From this ratio on, equal steps show nothing of the small values.
_LOGARITHMIC_FROM = 30


class Key(NamedTuple):
    """What a series is of."""

    kernel: str
    block: str

    @property
    def label(self) -> str:
        """How the legend calls it."""
        return f"{self.kernel}, b={self.block}"


def kernel_entries(results: Results) -> list[Entry]:
    """Results of kernel times, or of counts; warm where there are warm ones, so that each cell is there once."""
    found = [entry for entry in results.entries if entry.cell.measure == "kernel"]
    warm = [entry for entry in found if entry.cell.how == "warm"]
    return [entry for entry in warm or found if is_square(entry)]


def is_square(entry: Entry) -> bool:
    """Whether m = n = k."""
    return entry.cell.m == entry.cell.n == entry.cell.k


def by_key(entries: Iterable[Entry]) -> dict[Key, list[Entry]]:
    """Entries by kernel and block, each in the order of n; kernels by name, blocks from small to large."""
    found: dict[tuple[str, tuple[int, ...]], list[Entry]] = {}
    for entry in entries:
        found.setdefault((entry.cell.kernel, entry.cell.block), []).append(entry)
    return {
        Key(kernel, members[0].cell.edge): sorted(members, key=lambda entry: entry.cell.n)
        for (kernel, _), members in sorted(found.items())
    }


def few(series: Sized) -> None:
    """Do nothing where a reader can tell the series apart.

    Raises:
        InvalidResults: they are too many for one figure.
    """
    if len(series) > _MOST:
        raise InvalidResults(
            f"{len(series)} series are too many for one figure; choose some with --kernel 'upc.*' or --block 16"
        )


def blocks(keys: Iterable[Key]) -> list[str]:
    """The blocks of some series, from small to large."""
    return sorted({key.block for key in keys}, key=block_order)


def block_order(block: str) -> tuple[int, ...]:
    """Sorts blocks from small to large."""
    return tuple(map(int, block.split("×")))


def published_of(keys: Iterable[Key], measure: str = "kernel") -> dict[Key, list[Published]]:
    """What is printed of some series, in the order of n; series of which nothing is are left out."""
    wanted = set(keys)
    found: dict[Key, list[Published]] = {}
    for figure in sorted(published(), key=lambda figure: figure.n):
        key = Key(figure.kernel, str(figure.block))
        if figure.measure == measure and key in wanted:
            found.setdefault(key, []).append(figure)
    return found


def gpus(figures: Iterable[Published]) -> str:
    """The lectures' GPUs, in words."""
    return " and ".join(sorted({figure.gpu for figure in figures}))


def markevery(points: Sequence[object], index: int) -> int | tuple[int, int]:
    """Which points of the ``index``-th series bear markers: all of few, some of many, and not all series' at one n."""
    if len(points) <= _MARKED:
        return 1
    step = max(1, len(points) // 9)
    return index * step // 6 % step, step


def scale_y(axes: Axes, values: Sequence[float]) -> None:
    """From 0 in equal steps; logarithmic where the values differ too much for that."""
    low, high = min(values), max(values)
    if low > 0 and high / low > _LOGARITHMIC_FROM:
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(plain)
        axes.yaxis.set_minor_formatter("")
    else:
        axes.set_ylim(0, 1.06 * high)


def ticks_at(axes: Axes, values: Iterable[int]) -> None:
    """Ticks where the sizes are, if they are few; where matplotlib puts them, if they are many."""
    values = sorted(set(values))
    if len(values) > _FEW:
        return
    ticks: list[int] = []
    for value in values:
        if not ticks or value - ticks[-1] > (values[-1] - values[0]) / 12:
            ticks.append(value)
    axes.set_xticks(ticks)


_FEW = 8


def plain(value: float, _position: float) -> str:
    """A tick's label without powers of ten."""
    return f"{value:,.0f}" if value >= 1e4 else f"{value:g}"
