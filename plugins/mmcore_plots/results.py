"""Saved results, as pytest-benchmark writes them: read, checked, and put together by what was measured on what."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

from mmcore.errors import InvalidResults
from mmcore_plots.fields import Fields

KEY = "mmcore"
COUNTS = ("flops", "global_load_sectors", "global_store_sectors")
"""What an emulated result must have been counted to do, if it is to be drawn."""


class Cell(NamedTuple):
    """What was measured: a kernel, a product, a block, and a way of measuring.

    ``measure`` is "kernel" or "global"; ``how`` is "warm" or "cold" for the one, "pageable" or "pinned" for the other.
    """

    kernel: str
    m: int
    n: int
    k: int
    block: tuple[int, ...]
    measure: str
    how: str

    @property
    def edge(self) -> str:
        """The block as a user writes it: "16" for 16×16."""
        return edge(self.block)

    @property
    def size(self) -> str:
        """The product's sizes, one number where all are the same."""
        return size(self.m, self.n, self.k)


@dataclass(frozen=True)
class Entry:
    """One result.

    Attributes:
        cell: what was measured.
        dtype: element type of A and B.
        seconds: median time of a product; None from a device that keeps no time.
        gflops: 2·m·n·k over it.
        spread_percent: distance between the quartiles of the rounds.
        percent_of_peak: the rate beside the device's highest; None where that is not known.
        registers, shared_bytes: per thread, per block.
        verification: how the product was judged before it was timed.
        counts: what an emulator counted, by the counters' names; empty where nothing did.
    """

    cell: Cell
    dtype: str
    seconds: float | None
    gflops: float | None
    spread_percent: float | None
    percent_of_peak: float | None
    registers: int
    shared_bytes: int
    verification: str
    counts: Mapping[str, int]


class Refusal(NamedTuple):
    """A cell that was not measured, and why."""

    kernel: str
    problem: str
    block: str
    reason: str


@dataclass(frozen=True)
class Results:
    """What was measured on one device for one purpose.

    Attributes:
        experiment: the experiment's name; empty for a plain run of benchmarks.
        quick: whether it was a reduced form.
        title: what the experiment varies, in a line; empty likewise.
        shows: what its results are to show, in a sentence; empty likewise.
        machine: facts about the device, its name under "name".
        date: day of the latest run, as YYYY-MM-DD.
        entries: the results, in the files' order.
        refused: what the launch rules or the device refused.
        failed: what was run and has no time.
        left_out: what of the experiment was not tried, and why, a sentence each.
    """

    experiment: str
    quick: bool
    title: str
    shows: str
    machine: Mapping[str, Any]
    date: str
    entries: tuple[Entry, ...]
    refused: tuple[Refusal, ...]
    failed: tuple[Refusal, ...]
    left_out: tuple[str, ...]

    @property
    def device(self) -> str:
        """The device's name."""
        return str(self.machine["name"])

    @property
    def emulated(self) -> bool:
        """Whether there are counts only, and no times."""
        return all(entry.seconds is None for entry in self.entries)


def chosen(results: Results, kernels: Sequence[str], blocks: Sequence[str]) -> Results:
    """The results of some kernels and blocks alone.

    Args:
        results: all results.
        kernels: names or patterns such as "upc.*"; all where empty.
        blocks: as a user writes them, "16" or "256x1"; all where empty.

    Raises:
        InvalidResults: nothing is left.
    """
    edges = [block.lower().replace("x", "×") for block in blocks]

    def is_wanted(kernel: str, block: str) -> bool:
        named = not kernels or any(fnmatchcase(kernel, pattern) for pattern in kernels)
        return named and (not edges or block in edges)

    entries = tuple(entry for entry in results.entries if is_wanted(entry.cell.kernel, entry.cell.edge))
    if not entries:
        there = ", ".join(sorted({f"{entry.cell.kernel} b={entry.cell.edge}" for entry in results.entries}))
        raise InvalidResults(f"there are no results of these kernels and blocks; there are some of {there}")
    refused, failed = (
        tuple(each for each in group if is_wanted(each.kernel, each.block))
        for group in (results.refused, results.failed)
    )
    return replace(results, entries=entries, refused=refused, failed=failed)


def size(m: int, n: int, k: int) -> str:
    """A product's sizes, one number where all are the same."""
    return str(n) if m == n == k else f"{m}×{n}×{k}"


def edge(block: Sequence[int]) -> str:
    """A block as a user writes it: "16" for 16×16, "256×1" for a row."""
    x, y, z = (*block, 1, 1)[:3]
    return str(x) if x == y and z == 1 else "×".join(map(str, (x, y, z) if z > 1 else (x, y)))


def read(paths: Iterable[Path]) -> list[Results]:
    """The results of some files, in their order; files of one experiment and device make one.

    Where a cell was measured more than once, its latest result counts.

    Raises:
        InvalidResults: a file cannot be read, is damaged, or holds no results of mmcore's; one sentence says which.
    """
    together: dict[tuple[str, str], list[Results]] = {}
    for path in paths:
        found = _read(path)
        together.setdefault((found.experiment, found.device), []).append(found)
    return [_merged(sorted(parts, key=lambda part: part.date)) for parts in together.values()]


def _merged(parts: Sequence[Results]) -> Results:
    latest = parts[-1]
    entries = {entry.cell: entry for part in parts for entry in part.entries}
    return replace(
        latest,
        quick=any(part.quick for part in parts),
        date=latest.date[:10],
        entries=tuple(entries.values()),
        refused=tuple(dict.fromkeys(each for part in parts for each in part.refused)),
        failed=tuple(dict.fromkeys(each for part in parts for each in part.failed)),
    )


def _read(path: Path) -> Results:
    document = _document(path)
    benchmarks = document.get("benchmarks")
    if not isinstance(benchmarks, list):
        raise InvalidResults(f"{path} holds no results: it is not what pytest-benchmark saves")
    if not benchmarks:
        raise InvalidResults(f"{path} holds no results: nothing was measured in that run")
    file = Fields(str(path), document)
    machine = file.inside("machine_info").mapping(KEY)
    about = file.inside(KEY) if KEY in document else Fields(str(path), {})
    return Results(
        experiment=about.text("experiment", ""),
        quick=about.truth("quick"),
        title=about.text("title", ""),
        shows=about.text("shows", ""),
        machine={**machine, "name": Fields(str(path), machine).text("name")},
        date=file.text("datetime"),
        entries=tuple(_entry(f"{path}: benchmark {number}", each) for number, each in enumerate(benchmarks, 1)),
        refused=_unmeasured(path, about, "refused"),
        failed=_unmeasured(path, about, "failed"),
        left_out=tuple(about.texts("left_out")),
    )


def _document(path: Path) -> Mapping[str, Any]:
    try:
        document = json.loads(path.read_text(encoding="utf-8"), parse_constant=_no_constant)
    except OSError as error:
        raise InvalidResults(f"{path} cannot be read: {error.strerror or error}") from None
    except (ValueError, RecursionError) as error:
        raise InvalidResults(f"{path} is damaged, or no JSON: {error}") from None
    if not isinstance(document, dict):
        raise InvalidResults(f"{path} holds no results: it is not what pytest-benchmark saves")
    return document


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not a number")


def _entry(where: str, benchmark: object) -> Entry:
    info = Fields(where, benchmark).inside("extra_info")
    problem, measure = info.inside("problem"), info.choice("measure", ("kernel", "global"))
    how = (
        info.choice("caches", ("warm", "cold"))
        if measure == "kernel"
        else info.choice("memory", ("pageable", "pinned"))
    )
    counts = info.counts("counts")
    gflops = info.number("gflops")
    if gflops is None and not counts.keys() >= set(COUNTS):
        raise InvalidResults(
            f"{where} has neither a kernel time nor counts: a plain run on the emulator leaves nothing to draw"
        )
    return Entry(
        cell=Cell(
            info.text("kernel"),
            *(problem.whole("m"), problem.whole("n"), problem.whole("k")),
            tuple(info.wholes("block")),
            measure,
            how,
        ),
        dtype=info.text("dtype"),
        seconds=None if gflops is None else info.needed_number("median_ms") / 1e3,
        gflops=gflops,
        spread_percent=info.number("spread_percent"),
        percent_of_peak=info.number("percent_of_peak"),
        registers=info.whole("registers", least=0),
        shared_bytes=info.whole("shared_bytes", least=0),
        verification=info.text("verification"),
        counts=counts,
    )


def _unmeasured(path: Path, about: Fields, name: str) -> tuple[Refusal, ...]:
    found = [Fields(f"{path}: {name} {number}", each) for number, each in enumerate(about.list(name), 1)]
    return tuple(
        Refusal(
            each.text("kernel"),
            size(*(each.inside("problem").whole(length) for length in ("m", "n", "k"))),
            edge(each.wholes("block")),
            each.text("reason").splitlines()[0],
        )
        for each in found
    )
