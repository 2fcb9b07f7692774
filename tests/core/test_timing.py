"""Rounds and iterations of a time, with timers that return made-up readings."""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from mmcore.cell import BRIEFLY, Timing
from mmcore.errors import DeviceError, KernelError
from mmcore.timing import Time, measure_times
from tests.timed_emulator import ScriptedTimer

Reading = Callable[[int, int], float]
"""A function from a number of launches and the number of the reading to seconds."""


def measured(reading: Reading, **options: Any) -> tuple[Time, list[int]]:
    """Return the time that results from these readings, and the number of launches of each reading."""
    timer = ScriptedTimer(reading)
    module = SimpleNamespace(timer=lambda calls, cold: timer)
    try:
        return measure_times([SimpleNamespace(module=module, calls=())], Timing(**options))[0], timer.counts  # type: ignore[list-item]
    finally:
        assert timer.closed


def in_turns(readings: Sequence[Reading], **options: Any) -> tuple[list[Time], list[tuple[int, int]]]:
    """Return the times of several kernels, and the kernel and number of launches of each reading."""
    made: list[tuple[int, int]] = []

    def noting(number: int, reading: Reading) -> Reading:
        def read(count: int, index: int) -> float:
            made.append((number, count))
            return reading(count, index)

        return read

    timers = [ScriptedTimer(noting(number, reading)) for number, reading in enumerate(readings)]
    loaded: Any = [
        SimpleNamespace(module=SimpleNamespace(timer=lambda calls, cold: calls), calls=each) for each in timers
    ]
    try:
        return measure_times(loaded, Timing(**options)), made
    finally:
        assert all(timer.closed for timer in timers)


def each_takes(seconds: float) -> Reading:
    return lambda count, number: count * seconds


@pytest.mark.parametrize("seconds", [1e-6, 3e-5, 1e-3])
def test_a_round_lasts_ten_times_the_timers_resolution(seconds: float) -> None:
    time, counts = measured(each_takes(seconds), max_seconds=0.05)
    assert counts[0] == 1
    assert len(counts) <= len(time.rounds) + 3
    assert 1e-3 <= time.iterations * seconds <= 1.3e-3
    assert time.seconds == pytest.approx(seconds)
    assert 0.05 <= sum(counts) * seconds * 1.0001 < 0.05 + time.iterations * seconds


def test_a_round_lasts_as_long_as_is_asked_for() -> None:
    assert measured(each_takes(1e-6), resolutions=50)[0].iterations == pytest.approx(5000, rel=0.2)
    assert measured(each_takes(1e-6), min_round_seconds=0.1)[0].iterations == pytest.approx(100_000, rel=0.2)


@pytest.mark.parametrize(("seconds", "launches"), [(0.9, 4), (1.0, 3)])
def test_a_long_launch_is_made_once_a_round_and_once_before_if_there_is_time(seconds: float, launches: int) -> None:
    time, counts = measured(each_takes(seconds), max_seconds=1.0, min_rounds=3)
    assert counts == [1] * launches
    assert time.rounds == (seconds,) * 3


def test_there_are_no_more_rounds_than_asked_for() -> None:
    assert len(measured(each_takes(1e-3), max_rounds=7)[0].rounds) == 7
    assert len(measured(each_takes(1e-3), max_rounds=7, min_rounds=9)[0].rounds) == 9
    assert len(measured(each_takes(1e-3), max_rounds=1, min_rounds=1)[0].rounds) == 1
    # There is no further round once the seconds are spent.
    assert len(measured(each_takes(0.5), max_seconds=1.0, min_rounds=1)[0].rounds) == 1


def test_a_slow_first_launch_is_neither_a_round_nor_what_is_calibrated_by() -> None:
    time, counts = measured(lambda count, number: 0.5 if number == 0 else count * 1e-5, max_seconds=1.0)
    assert time.iterations >= 100
    assert [min(time.rounds), max(time.rounds)] == pytest.approx([1e-5, 1e-5])
    assert counts[:2] == [1, 1]


def test_launches_that_warm_up_come_first_and_are_no_round() -> None:
    time, counts = measured(lambda count, number: 9.0 if number == 0 else count * 1e-3, warmup_launches=42)
    assert counts[0] == 42
    assert max(time.rounds) == pytest.approx(1e-3)


def test_rounds_end_when_the_mean_is_precise() -> None:
    noise = itertools.cycle((0.995, 0.995, 0.995, 1.03))

    def reading(count: int, number: int) -> float:
        return count * 1e-3 * next(noise)

    def margin(rounds: Sequence[float]) -> float:
        return 2.5758293 * statistics.stdev(rounds) / math.sqrt(len(rounds)) / statistics.fmean(rounds)

    exact, precise, coarse = (
        measured(reading, max_seconds=10.0, min_rounds=4, precision=precision)[0].rounds
        for precision in (0.0, 0.003, 0.1)
    )
    assert (len(exact) > 1000, len(coarse)) == (True, 4)
    assert 150 <= len(precise) <= 190
    assert margin(precise) <= 0.003 < min(margin(precise[:n]) for n in range(4, len(precise)))
    assert measured(each_takes(1e-3), min_rounds=1, precision=0.1)[0].rounds == (1e-3, 1e-3)


@pytest.mark.parametrize(
    ("noise", "drift", "precision", "least", "rounds"),
    [
        (0.0, 0.0, 0.005, 0.0, range(6, 7)),  # from six rounds on the interval is one at 95 %
        (0.0, 0.0, 0.005, 0.1, range(30, 40)),  # the least time holds
        (0.0, 0.0, 0.0, 0.0, range(300, 341)),  # no precision was asked for
        (0.02, 0.0, 0.005, 0.0, range(7, 200)),
        (0.2, 0.0, 0.005, 0.0, range(300, 341)),  # all of the time does not make it precise
        (0.0, 0.005, 0.005, 0.0, range(200, 341)),  # a clock that falls makes the second half slower
    ],
)
def test_rounds_end_when_the_median_is_precise_and_does_not_drift(
    noise: float, drift: float, precision: float, least: float, rounds: range
) -> None:
    random = np.random.default_rng(1)

    def reading(count: int, number: int) -> float:
        return count * 1e-3 * (1 + noise * float(random.uniform(-1, 1)) + drift * number)

    options: dict[str, Any] = {"median_precision": precision, "min_seconds": least, "min_round_seconds": 2e-3}
    assert len(measured(reading, max_seconds=1.0, **options)[0].rounds) in rounds


@pytest.mark.parametrize(("milliseconds", "rounds", "iterations"), [(1, 17, 6), (5, 19, 1), (40, 3, 1), (1000, 3, 1)])
def test_brief_times_take_little_time(milliseconds: float, rounds: int, iterations: int) -> None:
    time, _ = measured(each_takes(1e-3 * milliseconds), **BRIEFLY)
    assert (len(time.rounds), time.iterations) == (rounds, iterations)


def test_cold_launches_are_timed_cold_and_copies_with_their_memory() -> None:
    module = SimpleNamespace(
        timer=lambda calls, cold: ScriptedTimer(each_takes(4e-3 if cold else 1e-3)),
        end_to_end_timer=lambda calls, up, down, pinned: ScriptedTimer(each_takes(2e-3 if pinned else 3e-3)),
    )
    loaded: Any = SimpleNamespace(module=module, calls=(), copies=lambda: ([], []))
    ways = [("kernel", "warm"), ("kernel", "cold"), ("end-to-end", "pageable"), ("end-to-end", "pinned")]
    assert [measure_times([loaded], Timing(*way))[0].seconds for way in ways] == [1e-3, 4e-3, 3e-3, 2e-3]


@pytest.mark.parametrize("seconds", [0.0, -1e-3])
def test_a_timer_that_never_advances_is_an_error(seconds: float) -> None:
    with pytest.raises(DeviceError, match=r"^the device's timer says that 1048576 launches took -?\d"):
        measured(lambda count, number: seconds, min_rounds=1, max_rounds=1)
    with pytest.raises(DeviceError, match="timer says"):
        measured(lambda count, number: count * 1e-3 if number < 5 else seconds)


def test_a_kernel_lost_in_the_noise_at_first_is_launched_more_often() -> None:
    time, _ = measured(lambda count, number: max(0.0, count * 1e-5 - 2e-4), max_seconds=0.1)
    assert time.iterations >= 100


@pytest.mark.parametrize("options", [{}, {"warmup_launches": 1}])
@pytest.mark.parametrize("failing", [0, 1])
def test_the_timers_are_closed_when_a_launch_fails(failing: int, options: dict[str, Any]) -> None:
    def fails(count: int, number: int) -> float:
        raise KernelError("the launch failed")

    with pytest.raises(KernelError):
        in_turns([fails if number == failing else each_takes(1e-3) for number in range(2)], **options)


# Several kernels.


def test_kernels_take_turns_forth_and_back_in_rounds_of_as_many_launches_as_each_needs() -> None:
    times, made = in_turns([each_takes(seconds) for seconds in (1e-3, 1e-5, 2e-4)], max_rounds=6, warmup_launches=42)
    assert made[:3] == [(0, 42), (1, 42), (2, 42)]
    assert [time.seconds for time in times] == pytest.approx([1e-3, 1e-5, 2e-4])
    assert [len(time.rounds) for time in times] == [6, 6, 6]
    for time, seconds in zip(times, (1e-3, 1e-5, 2e-4), strict=True):
        assert 1e-3 <= time.iterations * seconds <= 1.3e-3
    turns = [made[-15:][start : start + 3] for start in range(0, 15, 3)]
    assert all(sorted(turn) == [(number, times[number].iterations) for number in range(3)] for turn in turns)
    assert all(turn == following[::-1] for turn, following in itertools.pairwise(turns))


def test_the_limit_of_time_is_for_all_kernels_together() -> None:
    times, made = in_turns([each_takes(1e-3), each_takes(9e-3)], max_seconds=0.5)
    spent = sum(count * (1e-3, 9e-3)[number] for number, count in made)
    assert 0.5 - 1e-9 <= spent < 0.5 + 2e-2
    assert 40 < len(times[0].rounds) < 50


def test_the_first_kernel_decides_when_it_is_precise_enough() -> None:
    noise = itertools.cycle((0.5, 1.5))
    steady, noisy = each_takes(1e-3), lambda count, number: count * 1e-3 * next(noise)
    options: dict[str, Any] = {"max_seconds": 2.0, "min_rounds": 4, "precision": 0.001}
    assert len(in_turns([steady, noisy], **options)[0][1].rounds) == 4
    assert len(in_turns([noisy, steady], **options)[0][1].rounds) > 100
