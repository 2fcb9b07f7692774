"""An experiment's results as one pytest-benchmark JSON document."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mmcore.pytest_plugin.cells import Cell, Refusal
from mmcore.kernel.geometry import Dim3
from mmcore.kernel.problem import Problem
from mmcore_experiments.store import Record
from mmcore_experiments.preset import Sweep


@dataclass(frozen=True)
class Failure:
    """A cell that was run and has no time, and why."""

    cell: Cell
    reason: str


@dataclass(frozen=True)
class Form:
    """In what form an experiment was run.

    Attributes:
        sweep: what was run.
        quick: whether that is the reduced form.
        timed: whether the device keeps time; the times of one that does not are those of emulation.
        left_out: what of the declaration was not tried, and why, a sentence each.
    """

    sweep: Sweep
    quick: bool
    timed: bool
    left_out: tuple[str, ...]

    @property
    def name(self) -> str:
        """What the results are called."""
        return f"{self.sweep.name}-quick" if self.quick else self.sweep.name


def section(form: Form, refused: Sequence[Refusal], failed: Sequence[Failure]) -> dict[str, Any]:
    """What the key "mmcore" of the document says: what was asked for, what came of it, what to compare it with."""
    sweep = form.sweep
    return {
        "experiment": sweep.name,
        "quick": form.quick,
        "timed": form.timed,
        "title": sweep.title,
        "lecture": sweep.lecture,
        "shows": sweep.shows,
        "kernels": list(sweep.kernels),
        "sizes": [list(sizes) for sizes in sweep.problems],
        "blocks": list(sweep.block_texts),
        "measures": list(sweep.measures),
        "benchmark_options": {"max_time": sweep.max_time, "min_rounds": sweep.min_rounds},
        "left_out": list(form.left_out),
        "refused": [{**_point(*refusal.point), "reason": refusal.reason} for refusal in refused],
        "failed": [
            {**_point(*failure.cell.point), "measure": str(failure.cell.measure), "reason": failure.reason}
            for failure in failed
        ],
    }


def _point(kernel: Any, problem: Problem, block: Dim3) -> dict[str, Any]:
    return {
        "kernel": kernel.name,
        "problem": {"m": problem.m, "n": problem.n, "k": problem.k},
        "block": list(block),
    }


def with_best(records: Iterable[Record]) -> list[Record]:
    """The records, each with the fastest time of its group over its own: some may be of an earlier run."""
    records = list(records)
    best: dict[str, float] = {}
    for record in records:
        best[record["group"]] = min(best.get(record["group"], float("inf")), _median(record))
    return [_held_against(record, best[record["group"]]) for record in records]


def _held_against(record: Record, best: float) -> Record:
    info: Mapping[str, Any] = record["extra_info"]
    percent = None if info["gflops"] is None else 100 * best / _median(record)
    return {**record, "extra_info": {**info, "percent_of_best": percent}}


def _median(record: Record) -> float:
    return float(record["stats"]["median"])
