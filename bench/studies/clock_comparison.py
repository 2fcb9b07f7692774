"""mmcore's kernel times beside CUPTI's, in one run on one GPU.

CUPTI is the clock of NVIDIA's profilers: it records the begin and end of each kernel. This needs a GPU and the package
cupti-python (``pip install 'mmcore-cuda[cupti]'``).
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from cuda.core import Device as Gpu
from cuda.core import Stream

from bench.studies.study import machine_info, write
from mmcore.api import kernels
from mmcore.devices.base import BoundLaunch, Device, Timer
from mmcore.devices.loaded_kernel import LoadedKernel
from mmcore.executor.choose_device import open_device
from mmcore.planning.plan import plan
from mmcore.verify.inputs import draw
from mmcore.verify.verify_launches import verify_launches
from mmcore_cuda.cuda_module import CudaModule
from mmcore_cuda.event_timer import GraphTimer, Work, elapsed

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
_BUFFER_BYTES = 8 << 20
_MOST_LAUNCHES = 2000
"""Launches of one recording, so that the records stay few."""


class Recorder:
    """CUPTI's records of kernels.

    The first recording starts CUPTI. From then on, every launch in a CUDA graph takes longer.
    """

    def __init__(self) -> None:
        from cupti import cupti

        self._cupti: Any = cupti
        self._records: list[tuple[int, int]] = []
        self._started = False

    def kernels(self, work: Callable[[], None]) -> list[tuple[int, int]]:
        """Return begin and end, in ns, of every kernel that runs on the GPU until ``work`` has returned.

        CUPTI raises its own error where the driver is too old, or another profiler uses it.
        """
        kind = self._cupti.ActivityKind.CONCURRENT_KERNEL
        self._records.clear()
        if not self._started:
            self._cupti.activity_register_callbacks(lambda: (_BUFFER_BYTES, 0), self._completed)
            self._started = True
        self._cupti.activity_enable(kind)
        try:
            work()
            self._cupti.activity_flush_all(1)
        finally:
            self._cupti.activity_disable(kind)
        return list(self._records)

    def _completed(self, activities: list[Any]) -> None:
        self._records += [(each.start, each.end) for each in activities]


class CuptiTimer:
    """A timer that adds up the durations of the kernels in ``work``, each after the untimed work of ``before``."""

    method = "CUPTI"
    # CUPTI counts in ns. The host's work on each record is the reason for longer readings.
    resolution = GraphTimer.resolution

    def __init__(self, recorder: Recorder, stream: Stream, work: Work, launches: int, before: Work | None) -> None:
        self._recorder = recorder
        self._stream = stream
        self._work = work
        self._launches = launches
        self._before = before

    def seconds(self, count: int) -> float:
        """Return the seconds of ``count`` repetitions.

        Raises:
            RuntimeError: CUPTI did not record every kernel.
        """
        full, rest = divmod(count, _MOST_LAUNCHES)
        return sum(self._recorded(part) for part in [_MOST_LAUNCHES] * full + [rest] * bool(rest))

    def close(self) -> None:
        """Do nothing: there is nothing to free."""

    def _recorded(self, count: int) -> float:
        def repeat() -> None:
            for _ in range(count):
                if self._before is not None:
                    self._before(self._stream)
                self._work(self._stream)
            self._stream.sync()

        records = self._recorder.kernels(repeat)
        if len(records) != count * self._launches:
            raise RuntimeError(f"CUPTI recorded {len(records)} of {count * self._launches} kernels")
        return sum(end - begin for begin, end in records) * 1e-9


def main(results: Path) -> None:
    """Measure every case and write the results.

    All readings from events come first: once CUPTI is started, launches in CUDA graphs take longer.
    """
    opened = open_device("cuda")
    by_events = [_measured(opened, case, _by_events) for case in CASES]
    with_cupti = partial(_by_cupti, Recorder())
    by_cupti = [_measured(opened, case, with_cupti) for case in CASES]
    rows = [
        {"kernel": kernel, "n": n, "block": block, **events, **cupti}
        for (kernel, n, block), events, cupti in zip(CASES, by_events, by_cupti, strict=True)
    ]
    write(results, machine_info(opened.facts), microseconds=rows)
    print(*map(json.dumps, rows), sep="\n")


def _measured(opened: Device, case: tuple[str, int, int], measure: Measure) -> dict[str, float]:
    """Return medians in µs by method, of the case's kernel once it is verified."""
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


def _by_cupti(recorder: Recorder, program: CudaModule, calls: Sequence[BoundLaunch]) -> dict[str, float]:
    gpu, launches = Gpu(0), program.bind(calls)
    stream = gpu.create_stream()
    scratch = gpu.allocate(2 * gpu.properties.l2_cache_size, stream=stream)
    warm = CuptiTimer(recorder, stream, launches, len(calls), None)
    cold = CuptiTimer(recorder, stream, launches, len(calls), lambda target: scratch.fill(0, stream=target))
    return _medians({"cupti_warm": warm, "cupti_cold": cold})


def _medians(timers: Mapping[str, Timer]) -> dict[str, float]:
    """Return each method's median; the methods take turns, so that all see the same state of the GPU."""
    readings: dict[str, list[float]] = {method: [] for method in timers}
    for _ in range(REPETITIONS):
        for method, timer in timers.items():
            count = max(round(READING_SECONDS / max(timer.seconds(1), 1e-5)), 1)
            readings[method].append(timer.seconds(count) / count)
    for timer in timers.values():
        timer.close()
    return {method: statistics.median(values) for method, values in readings.items()}
