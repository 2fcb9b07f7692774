"""What an axis shows: times and rates where a device measured them, counts where an emulator counted."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from mmcore_plots.results import Entry, Results

SECTOR_BYTES = 32


@dataclass(frozen=True)
class Quantity:
    """Something that every entry of some results has.

    Attributes:
        name: what it is, for a heading.
        label: the same for an axis, with its unit.
        text: how to read it, in a sentence.
        of: its value.
    """

    name: str
    label: str
    text: str
    of: Callable[[Entry], float]


def milliseconds(entry: Entry) -> float:
    """The median time."""
    return 1e3 * (entry.seconds or 0.0)


def intensity(entry: Entry) -> float:
    """Useful floating-point operations, 2·m·n·k, per byte of the global sectors."""
    return entry.cell.flops / (SECTOR_BYTES * (entry.sectors or math.inf))


RATE = Quantity("GFLOP/s", "GFLOP/s", "Higher is better.", lambda entry: entry.gflops)
TIME = Quantity("Time", "time of a product, ms", "Lower is better.", milliseconds)
INTENSITY = Quantity(
    "Counted, not timed: useful flop per byte",
    "flop per byte of sectors,\nas emulated",
    "Useful operations (2·m·n·k) for each byte of the sectors of global memory that warps' requests touch.",
    intensity,
)
SECTORS = Quantity(
    "Counted, not timed: global sectors",
    "global sectors of a product,\nas emulated",
    "Sectors of global memory that warps' requests touch.",
    lambda entry: entry.sectors or 0.0,
)


def rate(results: Results) -> Quantity:
    """What is the better the more of it there is."""
    return INTENSITY if results.emulated else RATE


def cost(results: Results) -> Quantity:
    """What is the better the less of it there is."""
    return SECTORS if results.emulated else TIME


def heading(results: Results, shown: str) -> str:
    """The title of a figure: the experiment's own where these are all of its results and times; else what is shown."""
    return shown if results.quick or results.emulated or not results.title else results.title


def span(sizes: Iterable[int]) -> str:
    """The smallest and the largest size: "n from 128 to 640"."""
    sizes = sorted(sizes)
    return f"n from {sizes[0]} to {sizes[-1]}"


def caption(results: Results) -> str:
    """What was measured on what, when and how, for below a figure."""
    machine = results.machine
    quick = "; reduced form (--quick)" if results.quick else ""
    if results.emulated:
        return (
            f"EMULATED COUNTS, NOT TIMES: mmcore's emulator ran the compiled code on {results.date}{quick}. Nothing "
            f"here says how fast a GPU would be. Sectors are 32-byte pieces of global memory that requests touch."
        )
    device = results.device
    if "multiprocessors" in machine and "clock_mhz" in machine:
        device += f" ({machine['multiprocessors']} multiprocessors, up to {machine['clock_mhz']} MHz)"
    clock = str(machine.get("clock", "device seconds")).partition(" (")[0]
    parts = [f"Medians of verified products, timed by {clock}"]
    parts += [f"{name} {machine[key]}" for name, key in _VERSIONS if key in machine]
    return f"{device}, {results.date}{quick}. {', '.join(parts)}."


_VERSIONS = (("driver", "driver"), ("CUDA", "cuda"), ("NVRTC", "nvrtc"), ("mmcore", "mmcore"))
