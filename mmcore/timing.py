"""The rounds of a time: how many launches, how often, as pytest-benchmark's options ask."""

from __future__ import annotations

import math
import statistics

from mmcore.cell import Timing
from mmcore.devices.loaded import LoadedKernel
from mmcore.devices.timer import Timer
from mmcore.result import Time

# A round lasts this many times the timer's resolution at least: pytest-benchmark's calibration precision.
_RESOLUTIONS = 10


def timer_of(loaded: LoadedKernel, timing: Timing) -> Timer:
    """The device's timer of a loaded kernel: of its launches, or of copies in, launches and copies out."""
    module, calls = loaded.module, loaded.calls
    if timing.what == "kernel":
        found = module.timer(calls, cold=timing.how == "cold")
    else:
        found = module.end_to_end_timer(calls, *loaded.copies(), pinned=timing.how == "pinned")
    assert found is not None, "the device supports timing"
    return found


def measure_time(loaded: LoadedKernel, timing: Timing) -> Time:
    """Device seconds of one product, in rounds of as many launches as the timer's resolution asks for.

    Raises:
        KernelError: the launches fail.
    """
    timer = timer_of(loaded, timing)
    try:
        iterations, spent = _iterations(timer, max(timing.min_round_seconds, _RESOLUTIONS * timer.resolution))
        if timing.warmup_launches:
            timer.seconds(timing.warmup_launches)
        return Time(timing, tuple(_rounds(timer, timing, iterations, spent)), iterations, timer.method)
    finally:
        timer.close()


def _iterations(timer: Timer, least: float) -> tuple[int, float]:
    """Launches that take at least so many seconds together, and the device seconds it took to find out."""
    count, seconds = 1, timer.seconds(1)
    spent = seconds
    while seconds < least:
        # The first launches are slower than those that follow: a tenth more makes a further step rare.
        count = max(math.ceil(1.1 * count * least / max(seconds, least / 1000)), count + 1)
        seconds = timer.seconds(count)
        spent += seconds
    return count, spent


def _rounds(timer: Timer, timing: Timing, iterations: int, spent: float) -> list[float]:
    """Device seconds of a launch in each round, until ``max_seconds`` are spent or the mean is as precise as asked."""
    rounds: list[float] = []
    normal = statistics.NormalDist().inv_cdf(0.5 + timing.confidence / 200)
    while len(rounds) < timing.min_rounds or (
        spent < timing.max_seconds and not 0 < timing.max_rounds <= len(rounds)
    ):
        seconds = timer.seconds(iterations)
        spent += seconds
        rounds.append(seconds / iterations)
        if timing.precision and len(rounds) >= max(timing.min_rounds, 2):
            margin = normal * statistics.stdev(rounds) / math.sqrt(len(rounds)) / statistics.fmean(rounds)
            if margin <= timing.precision:
                break
    return rounds
