"""The measurement of a time: how many launches, how often, as pytest-benchmark's options ask."""

from __future__ import annotations

import math
import statistics

from mmcore.cell import Timing
from mmcore.devices.base import Timer
from mmcore.devices.loaded_kernel import LoadedKernel
from mmcore.errors import DeviceError
from mmcore.result import Time

_MOST_ITERATIONS = 1 << 20


def measure_time(loaded: LoadedKernel, timing: Timing) -> Time:
    """Device seconds of one product, in rounds of as many launches as the timer's resolution asks for.

    Raises KernelError if the launches fail, and DeviceError if the timer says that they took no time.
    """
    if timing.what == "kernel":
        timer = loaded.module.timer(loaded.calls, cold=timing.how == "cold")
    else:
        timer = loaded.module.end_to_end_timer(loaded.calls, *loaded.copies(), pinned=timing.how == "pinned")
    assert timer is not None, "the device supports timing"
    try:
        if timing.warmup_launches:
            timer.seconds(timing.warmup_launches)
        iterations, readings = _calibrate(timer, timing)
        spent, rounds = sum(readings), [readings[-1] / iterations]
        while not _done(rounds, spent, timing):
            seconds = timer.seconds(iterations)
            _check(seconds, iterations)
            spent += seconds
            rounds.append(seconds / iterations)
        return Time(timing, tuple(rounds), iterations, timer.method)
    finally:
        timer.close()


def _calibrate(timer: Timer, timing: Timing) -> tuple[int, list[float]]:
    """How many launches take long enough together; and all that was read, the slow first launch at the beginning."""
    least = max(timing.min_round_seconds, timing.resolutions * timer.resolution)
    count, readings = 1, [timer.seconds(1), timer.seconds(1)]
    while readings[-1] < least and count < _MOST_ITERATIONS:
        count = min(math.ceil(1.1 * count * least / max(readings[-1], least / 100)), _MOST_ITERATIONS)
        readings.append(timer.seconds(count))
    _check(readings[-1], count)
    return count, readings


def _done(rounds: list[float], spent: float, timing: Timing) -> bool:
    """Whether the seconds are spent, the rounds are made, or the mean is as precise as asked."""
    if len(rounds) < timing.min_rounds:
        return False
    if spent >= timing.max_seconds or 0 < timing.max_rounds <= len(rounds):
        return True
    if not timing.precision or len(rounds) < 2:
        return False
    normal = statistics.NormalDist().inv_cdf(0.5 + timing.confidence / 2)
    margin = normal * statistics.stdev(rounds) / math.sqrt(len(rounds))
    return margin <= timing.precision * statistics.fmean(rounds)


def _check(seconds: float, count: int) -> None:
    if seconds <= 0:
        raise DeviceError(f"the device's timer says that {count} launches took {seconds:.3g} s")
