"""Results as series: the points of one kernel and config, or of one way of measuring, in the order of an axis."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from matplotlib.axes import Axes

from mmcore_plots.published import Published, published
from mmcore_plots.results import Entry, InvalidResults, Results, natural
from mmcore_plots.style import Look, looks

# More lines than this cannot be told apart.
_MOST = 18
# Beyond this many points on a line, markers stand on some of them only.
_MARKED = 14
# From this ratio on, equal steps show nothing of the small values.
_LOGARITHMIC_FROM = 30
# Up to so many sizes, each has a tick.
_FEW = 8


class Key(NamedTuple):
    """What a series is of: a kernel and a config, "b=32"."""

    kernel: str
    config: str

    @classmethod
    def of(cls, entry: Entry) -> Key:
        """The series that a result belongs to."""
        return cls(entry.cell.kernel, entry.cell.config)

    @property
    def label(self) -> str:
        """How the legend calls it."""
        return f"{self.kernel}, {self.config}"


def kernel_entries(results: Results) -> list[Entry]:
    """Kernel times or counts of square products; warm where there are warm ones, so that each cell is there once."""
    found = [entry for entry in results.entries if entry.cell.measure == "kernel" and entry.cell.is_square]
    return [entry for entry in found if entry.cell.how == "warm"] or found


def by_key(entries: Iterable[Entry]) -> dict[Key, list[Entry]]:
    """Entries by kernel and config, each in the order of n; kernels by name, blocks from small to large."""
    found: dict[Key, list[Entry]] = {}
    for entry in sorted(entries, key=lambda entry: (entry.cell.kernel, natural(entry.cell.config), entry.cell.n)):
        found.setdefault(Key.of(entry), []).append(entry)
    return found


def looks_of(series: Mapping[Key, object]) -> Mapping[tuple[str, object], Look]:
    """The look of each series, by kernel and config.

    Raises:
        InvalidResults: they are too many for a reader to tell apart.
    """
    if len(series) > _MOST:
        raise InvalidResults(
            f"{len(series)} series are too many for one figure; choose some with --kernel 'upc.*' or --block 16"
        )
    configs: list[str] = sorted({key.config for key in series}, key=natural)
    return looks(dict.fromkeys(key.kernel for key in series), configs)


def published_of(keys: Iterable[Key]) -> dict[Key, list[Published]]:
    """The kernel times published of some series, in the order of n; series of which nothing is are left out."""
    wanted = set(keys)
    found: dict[Key, list[Published]] = {}
    for figure in sorted(published(), key=lambda figure: figure.n):
        key = Key(figure.kernel, f"b={figure.block}")
        if figure.measure == "kernel" and key in wanted:
            found.setdefault(key, []).append(figure)
    return found


def gpus(figures: Iterable[Published]) -> str:
    """The lectures' GPUs, in words."""
    return " and ".join(sorted({figure.gpu for figure in figures}))


def draw_line(axes: Axes, points: Mapping[int, float], label: str, look: Look, index: int) -> None:
    """A line with markers: on all of few points, on some of many, and not on all series' at one n."""
    x = sorted(points)
    step = max(1, len(x) // 9)
    every = 1 if len(x) <= _MARKED else (index * step // 6 % step, step)
    axes.plot(x, [points[n] for n in x], label=label, markevery=every, **look.line())


def scale_y(axes: Axes, values: Sequence[float]) -> None:
    """From 0 in equal steps; logarithmic where the values differ too much for that."""
    low, high = min(values), max(values)
    if low > 0 and high / low > _LOGARITHMIC_FROM:
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(plain)
        axes.yaxis.set_minor_formatter("")
    else:
        axes.set_ylim(0, 1.06 * high)


def label_sizes(axes: Axes, sizes: Iterable[int], label: str) -> None:
    """The axes' names, and ticks where the sizes are, if they are few."""
    axes.set_xlabel("n")
    axes.set_ylabel(label)
    sizes = sorted(set(sizes))
    ticks: list[int] = []
    for size in sizes:
        if not ticks or size - ticks[-1] > (sizes[-1] - sizes[0]) / 12:
            ticks.append(size)
    if len(sizes) <= _FEW:
        axes.set_xticks(ticks)


def plain(value: float, _position: float) -> str:
    """A tick's label without powers of ten."""
    return f"{value:,.0f}" if value >= 1e4 else f"{value:g}"
