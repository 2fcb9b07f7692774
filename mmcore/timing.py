"""The measurement of a time: how many launches, how often, as pytest-benchmark's options ask."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from typing import Any

from mmcore.cell import Timing
from mmcore.devices.base import Timer
from mmcore.devices.loaded_kernel import LoadedKernel
from mmcore.errors import DeviceError
from mmcore.median import LEAST, interval_of_median

_MOST_ITERATIONS = 1 << 20


@dataclass(frozen=True)
class Time:
    """A measured time.

    Attributes:
        timing: what was measured, and how often.
        rounds: device seconds of one product, in each round.
        iterations: products in a round.
        method: the way in which the timer reads the seconds, in words.
    """

    timing: Timing
    rounds: tuple[float, ...]
    iterations: int
    method: str

    @property
    def seconds(self) -> float:
        return statistics.median(self.rounds)

    @property
    def spread(self) -> float:
        """Distance between the quartiles of the rounds, as a share of the median."""
        if len(self.rounds) < 2:
            return 0.0
        first, _, third = statistics.quantiles(self.rounds, n=4, method="inclusive")
        return (third - first) / self.seconds

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Time:
        return cls(**{**values, "timing": Timing(**values["timing"]), "rounds": tuple(values["rounds"])})


def measure_times(several: Sequence[LoadedKernel], timing: Timing) -> list[Time]:
    """Return the times of one product of each kernel, in rounds of as many launches as the timer's resolution needs.

    The kernels take turns round by round; the first decides when it is precise enough, and the limits of time hold for
    all of them together. Raises KernelError if the launches fail, and DeviceError if the timer says that they took no
    time.
    """
    with ExitStack() as timers:
        made = [timers.enter_context(closing(_timer(loaded, timing))) for loaded in several]
        for timer in made if timing.warmup_launches else ():
            timer.seconds(timing.warmup_launches)
        begun = [_calibrate(timer, timing) for timer in made]
        spent = sum(sum(readings) for _, readings in begun)
        turns = [(timer, count, [readings[-1] / count]) for timer, (count, readings) in zip(made, begun, strict=True)]
        first = turns[0][2]
        while not _done(first, spent, timing):
            # Forth and back, so that none always follows the same one.
            for timer, count, rounds in turns if len(first) % 2 else reversed(turns):
                seconds = timer.seconds(count)
                _check(seconds, count)
                spent += seconds
                rounds.append(seconds / count)
        return [Time(timing, tuple(rounds), count, timer.method) for timer, count, rounds in turns]


def _timer(loaded: LoadedKernel, timing: Timing) -> Timer:
    if timing.what == "kernel":
        timer = loaded.module.timer(loaded.calls, cold=timing.how == "cold")
    else:
        timer = loaded.module.end_to_end_timer(loaded.calls, *loaded.copies(), pinned=timing.how == "pinned")
    assert timer is not None, "the device supports timing"
    return timer


def _calibrate(timer: Timer, timing: Timing) -> tuple[int, list[float]]:
    """Return the number of launches that take long enough, and all readings.

    The first reading is slow, and is only a round if a launch takes all the time that there is.
    """
    least = max(timing.min_round_seconds, timing.resolutions * timer.resolution)
    count, readings = 1, [timer.seconds(1)]
    if readings[0] < timing.max_seconds:
        readings.append(timer.seconds(1))
    while readings[-1] < least and count < _MOST_ITERATIONS:
        count = min(math.ceil(1.1 * count * least / max(readings[-1], least / 100)), _MOST_ITERATIONS)
        readings.append(timer.seconds(count))
    _check(readings[-1], count)
    return count, readings


def _done(rounds: list[float], spent: float, timing: Timing) -> bool:
    """Return whether the seconds are spent, the rounds are made, or the mean or the median is precise enough."""
    if len(rounds) < timing.min_rounds:
        return False
    if spent >= timing.max_seconds or 0 < timing.max_rounds <= len(rounds):
        return True
    return spent >= timing.min_seconds and (_mean_is_precise(rounds, timing) or _median_is_precise(rounds, timing))


def _mean_is_precise(rounds: list[float], timing: Timing) -> bool:
    if not timing.precision or len(rounds) < 2:
        return False
    normal = statistics.NormalDist().inv_cdf(0.5 + timing.confidence / 2)
    margin = normal * statistics.stdev(rounds) / math.sqrt(len(rounds))
    return margin <= timing.precision * statistics.fmean(rounds)


def _median_is_precise(rounds: list[float], timing: Timing) -> bool:
    """Return whether the interval of the median is narrow enough, and does not drift: both halves agree."""
    if not timing.median_precision or len(rounds) < LEAST:
        return False
    median, half = statistics.median(rounds), len(rounds) // 2
    bounds = (*interval_of_median(rounds), statistics.median(rounds[:half]), statistics.median(rounds[half:]))
    return all(abs(each - median) <= timing.median_precision * median for each in bounds)


def _check(seconds: float, count: int) -> None:
    if seconds <= 0:
        raise DeviceError(f"the device's timer says that {count} launches took {seconds:.3g} s")
