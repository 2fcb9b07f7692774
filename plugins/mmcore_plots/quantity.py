"""What an axis shows: times and rates where a device measured them, counts where an emulator counted."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import NamedTuple

from mmcore_plots.results import Entry, Results

_VERSIONS = {"driver": "driver", "CUDA": "cuda", "NVRTC": "nvrtc", "mmcore": "mmcore"}


class Quantity(NamedTuple):
    """Something that every entry of some results has.

    ``name`` is for a heading, ``label`` for an axis, with the unit; ``text`` says how to read it; ``of`` is its value.
    """

    name: str
    label: str
    text: str
    of: Callable[[Entry], float]


RATE = Quantity("GFLOP/s", "GFLOP/s", "Higher is better.", lambda entry: entry.gflops)
TIME = Quantity("Time", "time of a product, ms", "Lower is better.", lambda entry: entry.ms)
INTENSITY = Quantity(
    "Counted, not timed: useful flop per byte",
    "flop per byte of sectors,\nas emulated",
    "Useful operations (2·m·n·k) for each byte of the sectors of global memory that warps' requests touch.",
    lambda entry: entry.flop_per_byte,
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
    """The title of a figure: the experiment's own where it is true of these results; else what is shown."""
    return results.title if results.whole else shown


def span(sizes: Collection[int]) -> str:
    """The smallest and the largest size: "n from 128 to 640"."""
    return f"n from {min(sizes)} to {max(sizes)}"


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
    versions = "".join(f", {name} {machine[key]}" for name, key in _VERSIONS.items() if key in machine)
    return f"{device}, {results.date}{quick}. Medians of verified products, timed by {clock}{versions}."


def number(value: float | None, digits: int = 4) -> str:
    """So many digits, or all before the point, without a power of ten; nothing for what is not known."""
    if value is None:
        return ""
    if value >= 1000:
        return f"{value:.0f}"
    text = f"{value:.{digits}g}"
    return f"{value:.7f}".rstrip("0") if "e" in text else text
