"""What an axis shows: times and rates where a device measured them, counts where an emulator counted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from mmcore_plots.results import Entry, Results
from mmcore_emulator.profiler.counters import SECTOR_BYTES


@dataclass(frozen=True)
class Quantity:
    """Something that every entry of some results has.

    Attributes:
        name: what it is, for a heading.
        label: the same for an axis, with its unit.
        of: its value.
    """

    name: str
    label: str
    of: Callable[[Entry], float]


def _gflops(entry: Entry) -> float:
    return entry.gflops or 0.0


def milliseconds(entry: Entry) -> float:
    """The median time."""
    return 1e3 * (entry.seconds or 0.0)


def sectors(entry: Entry) -> int:
    """Sectors of global memory that the loads and stores of one product touch."""
    return entry.counts["global_load_sectors"] + entry.counts["global_store_sectors"]


def intensity(entry: Entry) -> float:
    """Floating-point operations per byte of those sectors."""
    return entry.counts["flops"] / (SECTOR_BYTES * sectors(entry))


RATE = Quantity("GFLOP/s", "GFLOP/s", _gflops)
TIME = Quantity("Time", "time of a product, ms", milliseconds)
INTENSITY = Quantity("Flop per byte", "flop per byte of sectors,\nas emulated", intensity)
SECTORS = Quantity("Sectors", "global sectors of a product,\nas emulated", sectors)


def rate(results: Results) -> Quantity:
    """What is the better the more of it there is."""
    return INTENSITY if results.emulated else RATE


def cost(results: Results) -> Quantity:
    """What is the better the less of it there is."""
    return SECTORS if results.emulated else TIME


def heading(results: Results, usual: str) -> str:
    """What stands above a figure: the experiment's own title, unless that speaks of times where there are none."""
    return usual if results.emulated or not results.title else results.title


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
