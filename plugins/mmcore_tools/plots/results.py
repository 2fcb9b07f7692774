"""Saved results as values: the cells of one device, the quantities of an axis, and captions."""

from __future__ import annotations

import re
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from itertools import groupby
from operator import attrgetter
from typing import Any, NamedTuple

from mmcore.kernel.geometry import Dim3
from mmcore_tools.saved import InvalidResults

SECTOR_BYTES = 32


@dataclass(frozen=True)
class Entry:
    """A cell with its result; equal to every other entry of the same cell.

    Its numbers are times and counts by their names in a saved result. A GPU's have "median_ms" and "gflops", and
    "baseline_gflops" if a library took turns. An emulator's have "global_sectors" and "flop_per_byte".
    """

    kernel: str
    m: int
    n: int
    k: int
    block: Dim3
    parameters: str = ""  # the config's other ones, as in "BM=128, BN=64"
    measure: str = "kernel"  # or "end-to-end"
    how: str = "warm"  # or "cold" caches; "pageable" or "pinned" memory of copies
    dtype: str = field(default="", compare=False)  # the element type of A and B
    verification: str = field(default="", compare=False)
    numbers: Mapping[str, float] = field(default_factory=dict, compare=False)
    baseline: str = field(default="", compare=False)  # the label of the library that took turns, if any
    reason: str = field(default="", compare=False)  # why there are no numbers

    @property
    def edge(self) -> int | None:
        """The edge of a square block; None for any other block."""
        x, y, z = self.block
        return x if x == y and z == 1 else None

    @property
    def config(self) -> str:
        """The config in a legend: "b=32", "b=256×1, BM=128"."""
        return ", ".join(filter(None, (f"b={self.edge or self.block}", self.parameters)))

    @property
    def label(self) -> str:
        return f"{self.kernel}, {self.config}"

    @property
    def size(self) -> str:
        return str(self.n) if self.is_square else f"{self.m}×{self.n}×{self.k}"

    @property
    def is_square(self) -> bool:
        return self.m == self.n == self.k


class Quantity(NamedTuple):
    """A number of each entry, with its ``name`` in a heading and its ``label`` on an axis.

    ``text`` says how to read it, ``scale`` converts it to the unit of the label.
    """

    number: str
    name: str
    label: str
    text: str
    scale: float = 1.0

    def of(self, entry: Entry) -> float:
        return self.scale * entry.numbers[self.number]


RATE = Quantity("gflops", "GFLOP/s", "GFLOP/s", "Higher is better.")
TERA_RATE = Quantity("gflops", "TFLOP/s", "TFLOP/s", "Higher is better.", 1e-3)
BASELINE_RATE = Quantity("baseline_gflops", "TFLOP/s", "TFLOP/s", "Higher is better.", 1e-3)
TIME = Quantity("median_ms", "Time", "time of a product, ms", "Lower is better.")
INTENSITY = Quantity(
    "flop_per_byte",
    "Counted, not timed: useful flop per byte",
    "flop per byte of sectors,\nas emulated",
    "Useful operations (2·m·n·k) for each byte of the sectors of global memory that warps' requests touch.",
)
SECTORS = Quantity(
    "global_sectors",
    "Counted, not timed: global sectors",
    "global sectors of a product,\nas emulated",
    "Sectors of global memory that warps' requests touch.",
)


@dataclass(frozen=True)
class Results:
    """The results of one device for one purpose: all with times, or all without."""

    experiment: str  # this, title and shows are empty for a plain run of benchmarks
    quick: bool  # True if the experiment was run in its reduced form
    title: str
    shows: str
    machine: Mapping[str, Any]  # facts about the device, its name under "name"
    date: str  # the day of the latest run, as YYYY-MM-DD
    entries: tuple[Entry, ...]  # the results, in the files' order
    skipped: tuple[Entry, ...]  # cells that could not be launched
    failed: tuple[Entry, ...]
    left_out: tuple[str, ...]  # a sentence about each part of the experiment that was not run
    baseline: str = ""  # the name or pattern of the experiment's baseline; empty if it has none

    @property
    def device(self) -> str:
        return str(self.machine["name"])

    @property
    def emulated(self) -> bool:
        """True if there are counts only, and no times."""
        return "median_ms" not in self.entries[0].numbers

    @property
    def whole(self) -> bool:
        """True if these are all times of an experiment, so that its title describes them."""
        return bool(self.title) and not self.quick and not self.emulated

    @property
    def rate(self) -> Quantity:
        return INTENSITY if self.emulated else RATE

    @property
    def cost(self) -> Quantity:
        return SECTORS if self.emulated else TIME

    @property
    def kernel_entries(self) -> list[Entry]:
        """Kernel times or counts of square products; only warm ones if there are any, so that each cell occurs once."""
        found = [entry for entry in self.entries if entry.measure == "kernel" and entry.is_square]
        return [entry for entry in found if entry.how == "warm"] or found

    def heading(self, shown: str) -> str:
        """Return the title of a figure: the experiment's own if it describes these results, else ``shown``."""
        return self.title if self.whole else shown

    @property
    def caption(self) -> str:
        """The device, date, method and versions, for the foot of a figure."""
        machine, quick = self.machine, "; reduced form (--quick)" if self.quick else ""
        if self.emulated:
            return (
                f"EMULATED COUNTS, NOT TIMES: mmcore's emulator ran the compiled code on {self.date}{quick}. Nothing "
                f"here says how fast a GPU would be. Sectors are 32-byte pieces of global memory that requests touch."
            )
        device = self.device
        if "multiprocessors" in machine and "clock_mhz" in machine:
            device += f" ({machine['multiprocessors']} multiprocessors, up to {machine['clock_mhz']} MHz)"
        clock = str(machine.get("clock", "device seconds")).partition(" (")[0]
        named = [name for name in ("driver", "CUDA", "NVRTC", "mmcore") if name.lower() in machine]
        versions = "".join(f", {name} {machine[name.lower()]}" for name in named)
        return f"{device}, {self.date}{quick}. Medians of verified products, timed by {clock}{versions}."


def chosen(results: Results, kernels: Sequence[str], configs: Sequence[str]) -> Results:
    """Return the results of some kernels and configs. Raises InvalidResults if nothing is left.

    Kernels are names or patterns such as "upc.*", configs parameters as in legends, "b=16" or "BM=128". None selects
    all; several values of one parameter are alternatives.
    """
    if not kernels and not configs:
        return results
    wanted: dict[str, set[str]] = {}
    for parameter in configs:
        wanted.setdefault(parameter.partition("=")[0], set()).add(parameter)

    def is_wanted(each: Entry) -> bool:
        has = set(each.config.split(", "))
        named = not kernels or any(fnmatchcase(each.kernel, pattern) for pattern in kernels)
        return named and all(has & values for values in wanted.values())

    entries = tuple(filter(is_wanted, results.entries))
    if not entries:
        known = "; ".join(sorted({entry.label for entry in results.entries}, key=natural))
        raise InvalidResults(f"there are no results of these kernels and configs; there are some of {known}")
    skipped, failed = (tuple(filter(is_wanted, group)) for group in (results.skipped, results.failed))
    return replace(results, title="", shows="", entries=entries, skipped=skipped, failed=failed)


def at_size(results: Results, n: int | None) -> list[Entry]:
    """Return the kernel results at one n, by default the largest n with the most kernels; InvalidResults for none."""
    by_n = attrgetter("n")
    found = {n: list(each) for n, each in groupby(sorted(results.kernel_entries, key=by_n), by_n)}
    if not found:
        raise InvalidResults("there are no kernel results of square products to draw")
    if n is None:
        n = max(found, key=lambda n: (len({entry.kernel for entry in found[n]}), n))
    if n not in found:
        raise InvalidResults(f"there are no kernel results at n = {n}; there are some at {', '.join(map(str, found))}")
    return found[n]


def best_configs(entries: Iterable[Entry], quantity: Quantity) -> list[Entry]:
    """Return each kernel in its best config."""
    return list({entry.kernel: entry for entry in sorted(entries, key=quantity.of)}.values())


def by_type(entries: Iterable[Entry]) -> dict[str, list[Entry]]:
    """Return the entries by element type, in the order of their first occurrence."""
    found: dict[str, list[Entry]] = {}
    for entry in entries:
        found.setdefault(entry.dtype, []).append(entry)
    return found


def library_rate(entries: Iterable[Entry]) -> tuple[str, float] | None:
    """Return the label of the library that took turns and the median of its TFLOP/s; None without one."""
    compared = [entry for entry in entries if entry.baseline]
    return (compared[0].baseline, statistics.median(map(BASELINE_RATE.of, compared))) if compared else None


def natural(label: str) -> list[tuple[int, str]]:
    """Return a sort key that puts "b=8" before "b=16"."""
    return [(int(part), "") if part.isdecimal() else (0, part) for part in re.split(r"(\d+)", label)]


def number(value: float | None, digits: int = 4) -> str:
    """Return a number with so many digits, or all before the point, without a power of ten; empty for None."""
    if value is None:
        return ""
    if value >= 1000:
        return f"{value:.0f}"
    text = f"{value:.{digits}g}"
    return f"{value:.7f}".rstrip("0") if "e" in text else text
