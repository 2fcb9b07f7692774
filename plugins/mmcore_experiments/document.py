"""A preset's results as one pytest-benchmark JSON document."""

from __future__ import annotations

import platform
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, TypeAlias, cast

import pytest_benchmark
from pytest_benchmark.stats import Stats

from mmcore.cell import Cell, Timing
from mmcore.pytest_plugin.cells import Benchmark
from mmcore.pytest_plugin.machine import describe
from mmcore.pytest_plugin.record import record
from mmcore.registry import Registry
from mmcore.result import Result
from mmcore.saved import KEY
from mmcore_experiments.preset import UNTIMED, Preset
from mmcore_experiments.store import CELL_KEY, Record

Missing: TypeAlias = tuple[Benchmark, str]
"""A benchmark without a result, and why."""


@dataclass(frozen=True)
class Form:
    """The form in which a preset is run.

    Attributes:
        preset: what is run.
        quick: whether that is the reduced form.
        timed: whether the device supports timing; where it does not, there are no times but figures.
        left_out: what of the declaration is not run, and why, a sentence each.
    """

    preset: Preset
    quick: bool
    timed: bool
    left_out: tuple[str, ...] = ()

    @classmethod
    def of(cls, preset: Preset, quick: bool, timed: bool) -> Form:
        """The form on a device that supports timing or does not: without, there are neither copies nor caches."""
        asked = preset.reduced if quick else preset
        if timed or asked.measures == (UNTIMED,):
            return cls(asked, quick, timed)
        left_out = " and ".join(measure for measure in asked.measures if measure != UNTIMED)
        reason = f"{left_out}: the device supports no timing"
        return cls(replace(asked, measures=(UNTIMED,)), quick, timed, (reason,))

    @property
    def name(self) -> str:
        """What the results are called."""
        return f"{self.preset.name}-quick" if self.quick else self.preset.name

    @property
    def title(self) -> str:
        """The preset's title, which is true of its full form with times; else what was measured."""
        if self.timed and not self.quick:
            return self.preset.title
        problems = self.preset.problems
        if all(m == n == k for m, n, k in problems):
            least, most = min(problems)[0], max(problems)[0]
            sizes = f"n = {least}" if least == most else f"n = {least} to {most}"
        else:
            sizes = ", ".join("×".join(map(str, sizes)) for sizes in problems)
        blocks = ", ".join(self.preset.block_texts)
        what = "Times" if self.timed else "Counts, no times,"
        return f"{what} of {', '.join(self.preset.kernels)} at {sizes}" + (f" in blocks of {blocks}" if blocks else "")

    def benchmarks(self, registry: Registry) -> Iterator[Benchmark]:
        """Every kernel, config, size and measure, whether it can be launched or not.

        Raises:
            UnknownKernel: there is no such kernel.
            InvalidConfig: a kernel has no such parameter.
        """
        preset = self.preset
        length: dict[str, Any] = {"max_seconds": preset.max_time, "min_rounds": preset.min_rounds}
        timings = [Timing(what, how, **length) for what, _, how in (each.rpartition("-") for each in preset.measures)]
        for kernel in map(registry.kernel, preset.kernels):
            found = [config for each in preset.parameters for config in kernel.matching_configs(**each)]
            for config in dict.fromkeys(found or kernel.usual_configs):
                for sizes in preset.problems:
                    for timing in timings:
                        yield Benchmark(kernel, kernel.problem(*sizes), config, timing)

    def cell(self, benchmark: Benchmark, device: str, timeout: float) -> Cell:
        """The cell of a benchmark on a device."""
        cell = benchmark.cell(device, timeout, benchmark.timing)
        return cell if self.timed else replace(cell, timings=())


def benchmark_record(benchmark: Benchmark, result: Result, key: str) -> Record:
    """What pytest-benchmark's JSON says of one benchmark; of an untimed one, the time is the host's.

    Names and groups are those that pytest gave them in mmcore 0.1, so that results can be compared.
    """
    time = next(iter(result.times), None)
    stats = cast(Any, Stats)()  # it has no types
    stats.data = [result.host_seconds] if time is None else [*time.rounds]
    name = f"test_cell[{benchmark.id}]"
    return {
        "group": f"{benchmark.group}, on {result.device_description}",
        "name": name,
        "fullname": f"test_cells.py::{name}",
        "params": dict(zip(("mm_kernel", "mm_size", "mm_config", "mm_measure"), benchmark.parameters, strict=True)),
        "param": benchmark.id,
        "extra_info": {**record(result, benchmark.timing), CELL_KEY: key},
        "options": {"max_time": benchmark.timing.max_seconds, "min_rounds": benchmark.timing.min_rounds},
        "stats": {**stats.as_dict(), "iterations": 1 if time is None else time.iterations},
    }


def machine_info(facts: Mapping[str, Any]) -> dict[str, Any]:
    """What was measured on: the device's facts, and the versions of what compiled and measured."""
    found: dict[str, Any] = {"python_version": platform.python_version(), "system": platform.system()}
    describe(found, facts)
    return found


def document(
    form: Form,
    machine: Mapping[str, Any],
    records: Sequence[Record],
    refused: Sequence[Missing],
    failed: Sequence[Missing],
) -> dict[str, Any]:
    """The document; under "mmcore" stands what was asked for and what came of it."""
    preset = form.preset
    return {
        "machine_info": machine,
        "commit_info": {},
        "datetime": datetime.now(UTC).isoformat(),
        "version": pytest_benchmark.__version__,
        KEY: {
            "experiment": preset.name,
            "quick": form.quick,
            "timed": form.timed,
            **preset.to_json(),
            "title": form.title,
            "benchmark_options": {"max_time": preset.max_time, "min_rounds": preset.min_rounds},
            "left_out": list(form.left_out),
            "refused": [{**_point(benchmark), "reason": reason} for benchmark, reason in refused],
            "failed": [{**_point(benchmark), "reason": reason} for benchmark, reason in failed],
        },
        "benchmarks": _with_best(records),
    }


def _point(benchmark: Benchmark) -> dict[str, Any]:
    problem, config = benchmark.problem, benchmark.config
    return {
        "kernel": benchmark.kernel.name,
        "problem": {"m": problem.m, "n": problem.n, "k": problem.k},
        "block": list(config.block),
        "config": config.to_json(),
        "config_id": config.id,
        "measure": str(benchmark.timing),
    }


def _with_best(records: Sequence[Record]) -> list[Record]:
    """The records, each with its group's fastest time as a share of its own: some may be of an earlier run."""
    best: dict[str, float] = {}
    for each in records:
        best[each["group"]] = min(best.get(each["group"], float("inf")), each["stats"]["median"])
    found: list[Record] = []
    for each in records:
        timed = each["extra_info"]["gflops"] is not None
        percent = 100 * best[each["group"]] / each["stats"]["median"] if timed else None
        found.append({**each, "extra_info": {**each["extra_info"], "percent_of_best": percent}})
    return found
