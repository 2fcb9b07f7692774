"""Copies to the GPU and back beside the kernel: what pinned memory saves, and how their share falls as n grows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from matplotlib.axes import Axes

from mmcore_plots.drawing import Drawing, Panel
from mmcore_plots.quantity import caption, heading, milliseconds, span
from mmcore_plots.results import InvalidResults, Results
from mmcore_plots.series import Key, by_key, draw_line, kernel_entries, label_sizes, plain
from mmcore_plots.style import looks

MEMORIES = ("pinned", "pageable")


@dataclass(frozen=True)
class Copies:
    """One kernel and config: milliseconds of the kernel by n, and from end to end by the host's memory and n."""

    kernel: Mapping[int, float]
    end_to_end: Mapping[str, Mapping[int, float]]

    def shares(self, memory: str) -> dict[int, float]:
        """Share of the copies in the end-to-end time, in percent, by n."""
        found = self.end_to_end[memory]
        return {n: share(self.kernel[n], found[n]) for n in sorted(self.kernel.keys() & found.keys())}


def share(kernel_ms: float, end_to_end_ms: float) -> float:
    """What of an end-to-end time is not the kernel's, in percent; nothing where noise makes the kernel the longer."""
    return 100 * max(0.0, 1 - kernel_ms / end_to_end_ms)


def transfers(results: Results) -> Drawing:
    """Kernel and end-to-end times against n, and the share of the copies.

    Raises:
        InvalidResults: there are no end-to-end times, or no kernel times beside them.
    """
    copies = copies_by_key(results)
    found = {n for each in copies.values() for memory in each.end_to_end for n in each.shares(memory)}
    if not found:
        raise InvalidResults(
            "a figure of transfers takes kernel times and end-to-end times of the same products: "
            "--mm-measure kernel,end-to-end"
        )
    look = looks([key.label for key in copies], ("kernel", *MEMORIES))

    def times(axes: Axes) -> None:
        for index, (key, each) in enumerate(copies.items()):
            draw_line(axes, each.kernel, f"{key.label}: kernel", look[key.label, "kernel"], index)
            for memory, ms in each.end_to_end.items():
                draw_line(axes, ms, f"{key.label}: end to end, {memory}", look[key.label, memory], index)
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(plain)
        label_sizes(axes, {n for each in copies.values() for n in each.kernel}, "ms")

    def shares(axes: Axes) -> None:
        for index, (key, each) in enumerate(copies.items()):
            for memory in each.end_to_end:
                label = f"{key.label}: end to end, {memory}"
                draw_line(axes, each.shares(memory), label, look[key.label, memory], index)
        label_sizes(axes, found, "%")
        axes.set_ylim(0, 100)

    return Drawing(
        "transfers",
        heading(results, f"Copies and kernel against n, {span(found)}"),
        "m = n = k. End-to-end time is from the first copy in to the end of the copy out.",
        caption(results),
        (Panel("time of a product", times, 3.3), Panel("share of the copies in the end-to-end time", shares, 3.3)),
        columns=2,
    )


def copies_by_key(results: Results) -> dict[Key, Copies]:
    """Kernel and end-to-end times of every kernel and config that has both."""
    copies: dict[Key, dict[str, dict[int, float]]] = {}
    for entry in results.entries:
        if entry.cell.is_square and entry.cell.measure == "end-to-end":
            by_memory = copies.setdefault(Key.of(entry), {})
            by_memory.setdefault(entry.cell.how, {})[entry.cell.n] = milliseconds(entry)
    kernels = by_key(kernel_entries(results))
    return {
        key: Copies({entry.cell.n: milliseconds(entry) for entry in kernels[key]}, copies[key])
        for key in kernels
        if key in copies
    }
