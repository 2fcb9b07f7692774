"""The form in which a preset is run, and its results as one pytest-benchmark JSON document."""

from __future__ import annotations

import platform
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, cast

import pytest_benchmark
from pytest_benchmark.stats import Stats

from mmcore.cell import Timing
from mmcore.pytest_plugin.cells import Benchmark
from mmcore.registry import Registry
from mmcore.result import Result
from mmcore.saved import KEY, describe
from mmcore_experiments.preset import UNTIMED, Preset
from mmcore_experiments.store import CELL_KEY, Record


@dataclass(frozen=True)
class Form:
    """The form; ``left_out`` says what of the declaration is not run, and why, a sentence each."""

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
        preset, problems = self.preset, self.preset.problems
        if self.timed and not self.quick:
            return preset.title
        sizes = ", ".join("×".join(map(str, each)) for each in problems)
        if all(m == n == k for m, n, k in problems):
            sizes = "n = " + " to ".join(map(str, sorted({min(problems)[0], max(problems)[0]})))
        blocks = f" in blocks of {', '.join(preset.block_texts)}" if preset.blocks else ""
        return f"{'Times' if self.timed else 'Counts, no times,'} of {', '.join(preset.kernels)} at {sizes}{blocks}"

    def benchmarks(self, registry: Registry) -> Iterator[Benchmark]:
        """Every kernel, config, size and measure, whether it can be launched or not.

        Raises UnknownKernel where there is no such kernel, InvalidConfig where it has no such parameter.
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


def benchmark_record(benchmark: Benchmark, result: Result, key: str) -> Record:
    """What pytest-benchmark's JSON says of one benchmark; the time of an untimed one is the host's.

    Its name is the one that pytest gave it in mmcore 0.1, so that results can be compared.
    """
    time = next(iter(result.times), None)
    stats = cast(Any, Stats)()  # it has no types
    stats.data = [result.host_seconds] if time is None else [*time.rounds]
    return {
        "group": f"{benchmark.group}, on {result.device_description}",
        "name": f"test_cell[{benchmark.id}]",
        "fullname": f"test_cells.py::test_cell[{benchmark.id}]",
        "params": dict(zip(("mm_kernel", "mm_size", "mm_config", "mm_measure"), benchmark.parameters, strict=True)),
        "param": benchmark.id,
        "extra_info": {**result.to_json(), "times": None, CELL_KEY: key},
        "options": {"max_time": benchmark.timing.max_seconds, "min_rounds": benchmark.timing.min_rounds},
        "stats": {**stats.as_dict(), "iterations": 1 if time is None else time.iterations},
    }


def missing_record(benchmark: Benchmark, reason: str) -> Record:
    """What results say of a benchmark that has none, and why."""
    return {
        "kernel": benchmark.kernel.name,
        "problem": {name: getattr(benchmark.problem, name) for name in "mnk"},
        "block": benchmark.config.block,
        "config": benchmark.config.to_json(),
        "config_id": benchmark.config.id,
        "measure": str(benchmark.timing),
        "reason": reason,
    }


def machine_info(facts: Mapping[str, Any]) -> dict[str, Any]:
    """What was measured on: the device's facts, and the versions of what compiled and measured."""
    found: dict[str, Any] = {"python_version": platform.python_version(), "system": platform.system()}
    describe(found, facts)
    return found


def document(
    form: Form, machine: Mapping[str, Any], records: Sequence[Record], **missing: Sequence[Record]
) -> dict[str, Any]:
    """The document; under "mmcore" stands what was asked for, and what was "refused" or "failed" of it."""
    preset = form.preset
    return {
        "machine_info": machine,
        "commit_info": {},
        "datetime": datetime.now(UTC).isoformat(),
        "version": pytest_benchmark.__version__,
        KEY: {
            **preset.to_json(),
            "experiment": preset.name,
            "quick": form.quick,
            "timed": form.timed,
            "title": form.title,
            "left_out": form.left_out,
            "benchmark_options": {"max_time": preset.max_time, "min_rounds": preset.min_rounds},
            **missing,
        },
        "benchmarks": _with_best(records),
    }


def _with_best(records: Sequence[Record]) -> list[Record]:
    """The records, each with its group's fastest time as a share of its own: some may be of an earlier run."""
    best: dict[str, float] = {}
    for each in records:
        best[each["group"]] = min(best.get(each["group"], float("inf")), each["stats"]["median"])

    def with_best(each: Record) -> Record:
        timed = each["extra_info"]["gflops"] is not None
        percent = 100 * best[each["group"]] / each["stats"]["median"] if timed else None
        return {**each, "extra_info": {**each["extra_info"], "percent_of_best": percent}}

    return [*map(with_best, records)]
