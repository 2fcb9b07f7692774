"""Copies to the GPU and back beside the kernel: what pinned memory saves, and how their share falls as n grows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from mmcore.errors import InvalidResults
from mmcore_plots.drawing import Drawing, Panel
from mmcore_plots.quantity import caption, heading, milliseconds
from mmcore_plots.results import Entry, Results
from mmcore_plots.series import (
    Key,
    by_key,
    few,
    gpus,
    is_square,
    kernel_entries,
    markevery,
    plain,
    published_of,
    ticks_at,
)
from mmcore_plots.style import Look, looks

if TYPE_CHECKING:
    from matplotlib.axes import Axes

KIND = "transfers"
MEMORIES = ("pinned", "pageable")
_WAYS = ("kernel", *MEMORIES)


@dataclass(frozen=True)
class Copies:
    """One kernel and block: kernel times, and global times by the host's memory, by n."""

    kernel: Mapping[int, Entry]
    whole: Mapping[str, Mapping[int, Entry]]

    def shares(self, memory: str) -> dict[int, float]:
        """Share of the copies in the global time, in percent, by n."""
        found = self.whole[memory]
        both = sorted(self.kernel.keys() & found.keys())
        return {n: share(milliseconds(self.kernel[n]), milliseconds(found[n])) for n in both}


def share(kernel_ms: float, end_to_end_ms: float) -> float:
    """What of a global time is not the kernel's, in percent; nothing where noise makes the kernel the longer."""
    return 100 * max(0.0, 1 - kernel_ms / end_to_end_ms)


def drawing(results: Results) -> Drawing:
    """Kernel and global times against n, and the share of the copies.

    Raises:
        InvalidResults: there are no global times, or no kernel times beside them.
    """
    copies = copies_by_key(results)
    if not any(each.shares(memory) for each in copies.values() for memory in each.whole):
        raise InvalidResults(
            "a figure of transfers takes kernel times and global times of the same products: --mm-measure kernel,global"
        )
    few([memory for each in copies.values() for memory in each.whole])
    look = looks([key.label for key in copies], _WAYS)
    then = _published_shares(copies)
    text = (
        "m = n = k. Global time is from the first copy in to the end of the copy out; what is not the kernel is copies."
    )
    if then:
        text += f" Published: {gpus_of(copies)}."
    return Drawing(
        KIND,
        heading(results, "Copies and kernel against n"),
        text,
        caption(results),
        (
            Panel("time of a product", partial(_times, copies, look), 3.3),
            Panel("share of the copies in the global time", partial(_shares, copies, then, look), 3.3),
        ),
        columns=2,
    )


def copies_by_key(results: Results) -> dict[Key, Copies]:
    """Kernel and global times of every kernel and block that has both."""
    kernels = by_key(kernel_entries(results))
    found = {}
    for key, entries in kernels.items():
        whole = {
            memory: {entry.cell.n: entry for entry in results.entries if _is_of(entry, key, memory)}
            for memory in MEMORIES
        }
        if any(whole.values()):
            found[key] = Copies({entry.cell.n: entry for entry in entries}, {k: v for k, v in whole.items() if v})
    return found


def _is_of(entry: Entry, key: Key, memory: str) -> bool:
    cell = entry.cell
    return (cell.kernel, cell.edge, cell.measure, cell.how) == (*key, "global", memory) and is_square(entry)


def _published_shares(copies: Mapping[Key, Copies]) -> dict[tuple[Key, str], dict[int, float]]:
    """The same share of what the lecture published, by series and memory."""
    kernels = published_of(copies)
    found: dict[tuple[Key, str], dict[int, float]] = {}
    for key, figures in published_of(copies, "global").items():
        kernel = {figure.n: figure.ms for figure in kernels.get(key, ())}
        for figure in figures:
            if figure.n in kernel and figure.n in copies[key].kernel:
                found.setdefault((key, figure.memory), {})[figure.n] = share(kernel[figure.n], figure.ms)
    return found


def gpus_of(copies: Mapping[Key, Copies]) -> str:
    """The lecture's GPU."""
    return gpus(figure for figures in published_of(copies, "global").values() for figure in figures)


def _times(copies: Mapping[Key, Copies], look: Mapping[tuple[str, object], Look], axes: Axes) -> None:
    sizes: set[int] = set()
    for index, (key, each) in enumerate(copies.items()):
        ways: dict[str, Mapping[int, Entry]] = {"kernel": each.kernel, **each.whole}
        for way, entries in ways.items():
            label = f"{key.label}: {'kernel' if way == 'kernel' else f'global, {way}'}"
            _line(axes, {n: milliseconds(entry) for n, entry in entries.items()}, look[key.label, way], label, index)
            sizes |= entries.keys()
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(plain)
    ticks_at(axes, sizes)
    axes.set_xlabel("n")
    axes.set_ylabel("ms")


def _shares(
    copies: Mapping[Key, Copies],
    then: Mapping[tuple[Key, str], Mapping[int, float]],
    look: Mapping[tuple[str, object], Look],
    axes: Axes,
) -> None:
    sizes: set[int] = set()
    for index, (key, each) in enumerate(copies.items()):
        for memory in each.whole:
            found = each.shares(memory)
            _line(axes, found, look[key.label, memory], f"{key.label}: global, {memory}", index)
            sizes |= found.keys()
    for (key, memory), shares in then.items():
        style = look[key.label, memory].published()
        axes.plot(list(shares), list(shares.values()), label=f"{key.label}: {memory}, published", **style)
    ticks_at(axes, sizes)
    axes.set_ylim(0, 100)
    axes.set_xlabel("n")
    axes.set_ylabel("%")


def _line(axes: Axes, values: Mapping[int, float], look: Look, label: str, index: int) -> None:
    points: Sequence[int] = sorted(values)
    axes.plot(points, [values[n] for n in points], label=label, markevery=markevery(points, index), **look.line())
