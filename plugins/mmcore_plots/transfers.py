"""Copies to the GPU and back beside the kernel: what pinned memory saves, and how their share falls as n grows."""

from __future__ import annotations

from matplotlib.axes import Axes

from mmcore_plots.drawing import Drawing, Panel
from mmcore_plots.quantity import caption, heading, milliseconds, span
from mmcore_plots.results import InvalidResults, Results
from mmcore_plots.series import Key, by_key, draw_line, kernel_entries, label_sizes, plain
from mmcore_plots.style import looks

MEMORIES = ("pinned", "pageable")
_NAMES = {"kernel": "kernel", **{memory: f"end to end, {memory}" for memory in MEMORIES}}


Times = dict[str, dict[int, float]]
"""Milliseconds by way ("kernel", "pinned", "pageable") and n."""


def share(kernel_ms: float, end_to_end_ms: float) -> float:
    """What of an end-to-end time is not the kernel's, in percent; nothing where noise makes the kernel the longer."""
    return 100 * max(0.0, 1 - kernel_ms / end_to_end_ms)


def transfers(results: Results) -> Drawing:
    """Kernel and end-to-end times against n, and the share of the copies.

    Raises:
        InvalidResults: there are no end-to-end times, or no kernel times beside them.
    """
    times = times_by_key(results)
    shares = {(key, memory): found for key in times for memory, found in shares_of(times[key]).items()}
    if not any(shares.values()):
        raise InvalidResults(
            "a figure of transfers takes kernel times and end-to-end times of the same products: "
            "--mm-measure kernel,end-to-end"
        )
    look = looks([key.label for key in times], ("kernel", *MEMORIES))
    sizes = {n for found in shares.values() for n in found}

    def times_panel(axes: Axes) -> None:
        for index, (key, ways) in enumerate(times.items()):
            for way, ms in ways.items():
                draw_line(axes, ms, f"{key.label}: {_NAMES[way]}", look[key.label, way], index)
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(plain)
        label_sizes(axes, sizes, "ms")

    def shares_panel(axes: Axes) -> None:
        for index, ((key, memory), found) in enumerate(shares.items()):
            draw_line(axes, found, f"{key.label}: {_NAMES[memory]}", look[key.label, memory], index // len(MEMORIES))
        label_sizes(axes, sizes, "%")
        axes.set_ylim(0, 100)

    return Drawing(
        "transfers",
        heading(results, f"Copies and kernel against {span(sizes)}"),
        "m = n = k. End-to-end time is from the first copy in to the end of the last copy out.",
        caption(results),
        (Panel("time of a product", times_panel, 3.3), Panel("share of the copies", shares_panel, 3.3)),
        columns=2,
    )


def times_by_key(results: Results) -> dict[Key, Times]:
    """Kernel times, and end-to-end times beside them, of every kernel and config of square products."""
    found = {
        key: {"kernel": {entry.cell.n: milliseconds(entry) for entry in entries}}
        for key, entries in by_key(kernel_entries(results)).items()
    }
    for entry in results.entries:
        if entry.cell.is_square and entry.cell.measure == "end-to-end" and Key.of(entry) in found:
            found[Key.of(entry)].setdefault(entry.cell.how, {})[entry.cell.n] = milliseconds(entry)
    return {key: times for key, times in found.items() if len(times) > 1}


def shares_of(times: Times) -> Times:
    """The share of the copies in the end-to-end time, in percent, by memory and n."""
    kernel = times["kernel"]
    return {
        memory: {n: share(kernel[n], times[memory][n]) for n in sorted(kernel.keys() & times[memory].keys())}
        for memory in MEMORIES
        if memory in times
    }
