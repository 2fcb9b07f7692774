"""mmcore's kernel times beside CUPTI's, in one run on one GPU: how far the clock can be believed.

``python bench/clock_comparison.py RESULTS.json`` measures and writes the figures; it needs a GPU and the package
cupti-python (``pip install 'mmcore[cupti]'``). The table in docs/measuring.md is made from the committed results by
``python bench/tables.py``.
"""

from __future__ import annotations

import json
import statistics
import sys
from pathlib import Path
from typing import Any

from cuda.core import Device as Gpu

from mmcore.api import device, kernels
from mmcore.benchmarking.machine import describe
from mmcore.experiment import Experiment
from mmcore.launching.cuda.clock import elapsed
from mmcore.launching.cuda.device import CudaProgram
from mmcore.launching.stopwatch import Stopwatch

CASES = (
    ("upc.kernel01", 128, 16),
    ("upc.kernel11", 128, 16),
    ("poznan.v5", 640, 16),
    ("upc.kernel11", 640, 32),
    ("upc.kernel01", 640, 32),
    ("lezione9.kernel2", 640, 32),
    ("upc.kernel11", 2048, 32),
)
REPETITIONS = 7
READING_SECONDS = 5e-3


def main(path: Path) -> None:
    """Measure every case and write the results."""
    opened = device("cuda")
    machine: dict[str, Any] = {}
    results = []
    for name, n, block in CASES:
        kernel = kernels()[name]
        with Experiment(kernel, kernel.problem(n, n, n), kernel.block(block), opened) as experiment:
            if not experiment.verify().verified:
                raise SystemExit(f"{name} at {n} is wrong; nothing was timed")
            row = {"kernel": name, "n": n, "block": block, **_times(experiment)}
        results.append(row)
        print(json.dumps(row))
    describe(machine, opened)
    path.write_text(json.dumps({"machine_info": machine, "microseconds": results}, indent=1) + "\n")


def _times(experiment: Experiment) -> dict[str, float]:
    """Medians in µs by method, the methods taking turns so that all see the same state of the GPU."""
    program, calls = experiment.prepared.program, experiment.prepared.calls
    assert isinstance(program, CudaProgram)
    stopwatches: dict[str, Stopwatch] = {}
    for cold in (False, True):
        cupti = program.cupti_stopwatch(calls, cold=cold)
        if cupti is None:
            raise SystemExit("CUPTI cannot be used here: pip install 'mmcore[cupti]', and mmcore doctor")
        state = "cold" if cold else "warm"
        stopwatches[f"cupti_{state}"] = cupti
        stopwatches[f"mmcore_{state}"] = program.event_stopwatch(calls, cold=cold)
    gpu, launches = Gpu(0), program.bind(calls)
    stream = gpu.create_stream()
    single = statistics.median(elapsed(gpu, stream, lambda: launches(stream)) for _ in range(50))
    count = max(round(READING_SECONDS / stopwatches["cupti_warm"].seconds(1)), 1)
    readings: dict[str, list[float]] = {method: [] for method in stopwatches}
    for _ in range(REPETITIONS):
        for method, stopwatch in stopwatches.items():
            readings[method].append(stopwatch.seconds(count) / count)
    for stopwatch in stopwatches.values():
        stopwatch.close()
    times = {method: statistics.median(values) for method, values in readings.items()}
    return {method: round(seconds * 1e6, 3) for method, seconds in {**times, "events_around_one": single}.items()}


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit("usage: python bench/clock_comparison.py RESULTS.json")
    main(Path(sys.argv[1]))
