"""Saved results as values: what was measured or counted on one device for one purpose."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from mmcore.errors import MmcoreError
from mmcore.kernel.geometry import Dim3

SECTOR_BYTES = 32


class InvalidResults(MmcoreError):
    """A file of results is damaged or holds none, or its results do not make the figure that was asked for."""


class Cell(NamedTuple):
    """What was measured: a kernel in a config, a product, and a way of measuring.

    ``parameters`` are the config's beside the block, as in "BM=128, BN=64". ``measure`` is "kernel" or "end-to-end",
    ``how`` is "warm" or "cold" for the one, "pageable" or "pinned" for the other.
    """

    kernel: str
    m: int
    n: int
    k: int
    block: Dim3
    parameters: str = ""
    measure: str = "kernel"
    how: str = "warm"

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

    @property
    def flops(self) -> int:
        """Useful floating-point operations: 2·m·n·k."""
        return 2 * self.m * self.n * self.k


@dataclass(frozen=True)
class Entry:
    """One result.

    Attributes:
        dtype: element type of A and B.
        ms: median time of a product; 0 from a device that measures no time.
        spread_percent: distance between the quartiles of the rounds.
        percent_of_peak: the rate as a share of the device's peak; None where that is not known.
        registers, shared_bytes: per thread, per block.
        verification: how the product was verified before it was timed.
        instructions, sectors: what an emulator counted: instructions of warps, 32-byte sectors of global memory.
    """

    cell: Cell
    dtype: str
    ms: float
    spread_percent: float | None
    percent_of_peak: float | None
    registers: int
    shared_bytes: int
    verification: str
    instructions: float | None
    sectors: float | None

    @property
    def gflops(self) -> float:
        """2·m·n·k over the time; 0 where there is none."""
        return self.cell.flops / self.ms / 1e6 if self.ms else 0.0

    @property
    def flop_per_byte(self) -> float:
        """2·m·n·k over the bytes of the global sectors; 0 where none were counted."""
        return self.cell.flops / (SECTOR_BYTES * self.sectors) if self.sectors else 0.0


class Skipped(NamedTuple):
    """A cell that has no result, and why."""

    cell: Cell
    reason: str


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
    """

    experiment: str
    quick: bool
    title: str
    shows: str
    machine: Mapping[str, Any]
    date: str
    entries: tuple[Entry, ...]
    skipped: tuple[Skipped, ...]
    failed: tuple[Skipped, ...]
    left_out: tuple[str, ...]

    @property
    def device(self) -> str:
        """The device's name."""
        return str(self.machine["name"])

    @property
    def emulated(self) -> bool:
        """Whether there are counts only, and no times."""
        return not self.entries[0].ms

    @property
    def whole(self) -> bool:
        """Whether these are all times of an experiment, so that its title is true of them."""
        return bool(self.title) and not self.quick and not self.emulated


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

    def is_wanted(each: Entry | Skipped) -> bool:
        has = set(each.cell.config.split(", "))
        named = not kernels or any(fnmatchcase(each.cell.kernel, pattern) for pattern in kernels)
        return named and all(has & values for values in wanted.values())

    entries = tuple(filter(is_wanted, results.entries))
    if not entries:
        there = "; ".join(sorted({entry.cell.label for entry in results.entries}, key=natural))
        raise InvalidResults(f"there are no results of these kernels and configs; there are some of {there}")
    skipped, failed = (tuple(filter(is_wanted, group)) for group in (results.skipped, results.failed))
    return replace(results, title="", shows="", entries=entries, skipped=skipped, failed=failed)


def natural(label: str) -> list[tuple[int, str]]:
    """A sort key that puts "b=8" before "b=16"."""
    return [(int(part), "") if part.isdecimal() else (0, part) for part in re.split(r"(\d+)", label)]
