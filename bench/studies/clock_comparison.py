"""mmcore's kernel times beside CUPTI's, in one run on one GPU: how far the clock can be believed.

``python -m bench.studies.clock_comparison RESULTS.json`` measures and writes the figures; it needs a GPU and the
package cupti-python (``pip install 'mmcore-cuda[cupti]'``). The table in docs/measuring.md is made from the committed
results by ``python -m bench.studies.tables``.
"""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from cuda.core import Device as Gpu

from bench.studies.cupti_timer import CuptiTimer, recorder
from mmcore.api import kernels
from mmcore.devices.base import BoundLaunch, Device, Timer
from mmcore.devices.loaded_kernel import LoadedKernel
from mmcore.executor.choose_device import open_device
from mmcore.planning.plan import plan
from mmcore.verify.inputs import draw
from mmcore.verify.verify_launches import verify_launches
from mmcore_cuda.event_timer import elapsed
from mmcore_cuda.module import CudaModule
from mmcore_pytest.saved_results import describe

Measure = Callable[[CudaModule, Sequence[BoundLaunch]], dict[str, float]]

CASES = (
    ("upc.kernel01", 128, 16),
    ("upc.kernel11", 128, 16),
    ("poznan.v5", 640, 16),
    ("upc.kernel11", 640, 32),
    ("upc.kernel01", 640, 32),
    ("lezione9.kernel2", 640, 32),
    ("upc.kernel11", 2048, 32),
)
REPETITIONS = 9
READING_SECONDS = 1e-2


def main(path: Path) -> None:
    """Measure every case and write the results.

    All readings from events come first: once CUPTI is started, launches in CUDA graphs take longer.
    """
    opened = open_device("cuda")
    by_events = [_measured(opened, case, _by_events) for case in CASES]
    by_cupti = [_measured(opened, case, _by_cupti) for case in CASES]
    results = [
        {"kernel": kernel, "n": n, "block": block, **events, **cupti}
        for (kernel, n, block), events, cupti in zip(CASES, by_events, by_cupti, strict=True)
    ]
    machine: dict[str, Any] = {}
    describe(machine, opened.facts)
    path.write_text(json.dumps({"machine_info": machine, "microseconds": results}, indent=1) + "\n")
    for row in results:
        print(json.dumps(row))


def _measured(opened: Device, case: tuple[str, int, int], measure: Measure) -> dict[str, float]:
    """Medians in µs by method, of the case's kernel once it is verified."""
    name, n, block = case
    kernel = kernels()[name]
    problem = kernel.problem(n, n, n)
    with LoadedKernel(plan(kernel, problem, kernel.config(block), opened.properties), opened) as loaded:
        if not verify_launches(loaded, problem, draw(problem, 1)).right:
            raise SystemExit(f"{name} at {n} is wrong; nothing was timed")
        assert isinstance(loaded.module, CudaModule)
        times = measure(loaded.module, loaded.launches)
    return {method: round(seconds * 1e6, 3) for method, seconds in times.items()}


def _by_events(program: CudaModule, calls: Sequence[BoundLaunch]) -> dict[str, float]:
    gpu, launches = Gpu(0), program.bind(calls)
    stream = gpu.create_stream()
    single = [elapsed(gpu, stream, lambda: launches(stream)) for _ in range(51)]
    warm, cold = program.timer(calls), program.timer(calls, cold=True)
    return {"events_around_one": statistics.median(single), **_medians({"mmcore_warm": warm, "mmcore_cold": cold})}


def _by_cupti(program: CudaModule, calls: Sequence[BoundLaunch]) -> dict[str, float]:
    found, gpu, launches = recorder(), Gpu(0), program.bind(calls)
    if isinstance(found, str):
        raise SystemExit(f"CUPTI cannot be used here: {found}; pip install 'mmcore-cuda[cupti]'")
    stream = gpu.create_stream()
    scratch = gpu.allocate(2 * gpu.properties.l2_cache_size, stream=stream)
    warm = CuptiTimer(found, stream, launches, len(calls), None)
    cold = CuptiTimer(found, stream, launches, len(calls), lambda target: scratch.fill(0, stream=target))
    return _medians({"cupti_warm": warm, "cupti_cold": cold})


def _medians(timers: Mapping[str, Timer]) -> dict[str, float]:
    """The methods take turns, so that all see the same state of the GPU."""
    readings: dict[str, list[float]] = {method: [] for method in timers}
    for _ in range(REPETITIONS):
        for method, timer in timers.items():
            count = max(round(READING_SECONDS / max(timer.seconds(1), 1e-5)), 1)
            readings[method].append(timer.seconds(count) / count)
    for timer in timers.values():
        timer.close()
    return {method: statistics.median(values) for method, values in readings.items()}


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit("usage: python -m bench.studies.clock_comparison RESULTS.json")
    main(Path(sys.argv[1]))
