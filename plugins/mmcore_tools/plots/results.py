"""Saved results as values: what was measured or counted on one device, what an axis shows of it, and its caption."""

from __future__ import annotations

import re
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from itertools import groupby
from operator import attrgetter
from typing import Any, NamedTuple

from mmcore.errors import MmcoreError
from mmcore.kernel.geometry import Dim3

SECTOR_BYTES = 32


class InvalidResults(MmcoreError):
    """A file of results is damaged or holds none, or its results do not make the figure that was asked for."""


@dataclass(frozen=True)
class Entry:
    """One cell, and what came of it; equal to every other of the same cell.

    Attributes:
        kernel, m, n, k, block: what was measured.
        parameters: those of the config beside the block, as in "BM=128, BN=64".
        measure, how: "kernel" with "warm" or "cold" caches, or "end-to-end" from "pageable" or "pinned" memory.
        dtype: element type of A and B.
        verification: how the product was verified before it was timed.
        numbers: what is known by the names of a saved result: "registers"; "median_ms" and "gflops" from a device that
            measures time, with "baseline_gflops" and "percent_of_baseline" where a library took turns;
            "global_sectors" and "flop_per_byte" from an emulator.
        baseline: what that library is called; empty where none took turns.
        reason: why there are no numbers.
    """

    kernel: str
    m: int
    n: int
    k: int
    block: Dim3
    parameters: str = ""
    measure: str = "kernel"
    how: str = "warm"
    dtype: str = field(default="", compare=False)
    verification: str = field(default="", compare=False)
    numbers: Mapping[str, float] = field(default_factory=dict, compare=False)
    baseline: str = field(default="", compare=False)
    reason: str = field(default="", compare=False)

    @property
    def edge(self) -> int | None:
        """The edge of a square block; None of any other block."""
        x, y, z = self.block
        return x if x == y and z == 1 else None

    @property
    def config(self) -> str:
        """The config in a legend: "b=32", "b=256×1, BM=128"."""
        return ", ".join(filter(None, (f"b={self.edge or self.block}", self.parameters)))

    @property
    def label(self) -> str:
        """The kernel and its config in a legend."""
        return f"{self.kernel}, {self.config}"

    @property
    def size(self) -> str:
        """m×n×k, or one number where all are the same."""
        return str(self.n) if self.is_square else f"{self.m}×{self.n}×{self.k}"

    @property
    def is_square(self) -> bool:
        """Whether m = n = k."""
        return self.m == self.n == self.k


class Quantity(NamedTuple):
    """What an axis shows: one of the numbers that each entry of some results has.

    ``name`` is for a heading, ``label`` for an axis, with the unit; ``text`` says how to read it.
    """

    number: str
    name: str
    label: str
    text: str
    scale: float = 1.0  # of the unit

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
    """What was measured on one device for one purpose: all with times, or all without.

    Attributes:
        experiment, title, shows: name, variation and purpose of the experiment; empty for a plain run of benchmarks.
        quick: whether it was run in its reduced form.
        machine: facts about the device, its name under "name".
        date: day of the latest run, as YYYY-MM-DD.
        entries: the results, in the files' order.
        skipped, failed: what constraints or the device did not allow, and what was run and has no time.
        left_out: what of the experiment was not run, and why, a sentence each.
        baseline: name or pattern of what each kernel of the experiment was to take turns with; empty where nothing was.
    """

    experiment: str
    quick: bool
    title: str
    shows: str
    machine: Mapping[str, Any]
    date: str
    entries: tuple[Entry, ...]
    skipped: tuple[Entry, ...]
    failed: tuple[Entry, ...]
    left_out: tuple[str, ...]
    baseline: str = ""

    @property
    def device(self) -> str:
        """The device's name."""
        return str(self.machine["name"])

    @property
    def emulated(self) -> bool:
        """Whether there are counts only, and no times."""
        return "median_ms" not in self.entries[0].numbers

    @property
    def whole(self) -> bool:
        """Whether these are all times of an experiment, so that its title is true of them."""
        return bool(self.title) and not self.quick and not self.emulated

    @property
    def rate(self) -> Quantity:
        """What is the better the more of it there is."""
        return INTENSITY if self.emulated else RATE

    @property
    def cost(self) -> Quantity:
        """What is the better the less of it there is."""
        return SECTORS if self.emulated else TIME

    @property
    def kernel_entries(self) -> list[Entry]:
        """Kernel times or counts of square products; warm ones where there are any, so that each cell is there once."""
        found = [entry for entry in self.entries if entry.measure == "kernel" and entry.is_square]
        return [entry for entry in found if entry.how == "warm"] or found

    def heading(self, shown: str) -> str:
        """The title of a figure: the experiment's own where it is true of these results; else what is shown."""
        return self.title if self.whole else shown

    @property
    def caption(self) -> str:
        """What was measured on what, when and how, for below a figure."""
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
    """The results of some kernels and configs alone; InvalidResults where nothing is left.

    Args:
        results: all results.
        kernels: names or patterns such as "upc.*"; all where empty.
        configs: parameters as legends show them, "b=16" or "BM=128"; any of one name, and each name; all where empty.
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
        there = "; ".join(sorted({entry.label for entry in results.entries}, key=natural))
        raise InvalidResults(f"there are no results of these kernels and configs; there are some of {there}")
    skipped, failed = (tuple(filter(is_wanted, group)) for group in (results.skipped, results.failed))
    return replace(results, title="", shows="", entries=entries, skipped=skipped, failed=failed)


def at_size(results: Results, n: int | None) -> list[Entry]:
    """Kernel results at one n, by default the largest of those with the most kernels; InvalidResults for none."""
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
    """Each kernel in the config that does best."""
    return list({entry.kernel: entry for entry in sorted(entries, key=quantity.of)}.values())


def by_type(entries: Iterable[Entry]) -> dict[str, list[Entry]]:
    """The entries by their element type, in the order in which the types come first."""
    found: dict[str, list[Entry]] = {}
    for entry in entries:
        found.setdefault(entry.dtype, []).append(entry)
    return found


def library_rate(entries: Iterable[Entry]) -> tuple[str, float] | None:
    """What the library that took turns is called, and its TFLOP/s: the median over the entries; None without one."""
    beside = [entry for entry in entries if entry.baseline]
    return (beside[0].baseline, statistics.median(map(BASELINE_RATE.of, beside))) if beside else None


def natural(label: str) -> list[tuple[int, str]]:
    """A sort key that puts "b=8" before "b=16"."""
    return [(int(part), "") if part.isdecimal() else (0, part) for part in re.split(r"(\d+)", label)]


def number(value: float | None, digits: int = 4) -> str:
    """So many digits, or all before the point, without a power of ten; nothing for what is not known."""
    if value is None:
        return ""
    if value >= 1000:
        return f"{value:.0f}"
    text = f"{value:.{digits}g}"
    return f"{value:.7f}".rstrip("0") if "e" in text else text
