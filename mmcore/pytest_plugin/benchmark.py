"""The fixture ``mm_benchmark``: a cell is measured, and pytest-benchmark told its rounds."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

import pytest

from mmcore.cell import Timing
from mmcore.errors import ConstraintViolation, MmcoreError
from mmcore.executor import measure_cell
from mmcore.pytest_plugin.cells import Benchmark
from mmcore.reproduce import launch_command
from mmcore.result import Result


class DeviceClock:
    """pytest-benchmark's timer: read before and after a round, it moves on by what the device measured."""

    # What pytest-benchmark calls it in its results.
    __name__ = "DeviceClock"

    def __init__(self) -> None:
        self._rounds: list[float] = []
        self._value = 0.0
        self._in_round = False

    def replay(self, rounds: Sequence[float]) -> None:
        """Tell these seconds, a round each, from now on."""
        self._rounds = list(reversed(rounds))
        self._value = 0.0
        self._in_round = False

    def __call__(self) -> float:
        """The timer's value, in seconds."""
        if self._in_round and self._rounds:
            self._value += self._rounds.pop()
        self._in_round = not self._in_round
        return self._value


class CellBenchmark:
    """The fixture: called once, it verifies and measures the cell, and hands the rounds to pytest-benchmark.

    Args:
        benchmark: what is measured.
        device: the device's name.
        timeout: seconds that the cell has.
        timing: how long it is timed.
        fixture: pytest-benchmark's own, with ``clock`` for its timer.
        clock: the timer.
        keep: takes the result.

    Attributes:
        result: what came of it; None before, and where the cell cannot be measured.
    """

    def __init__(
        self,
        benchmark: Benchmark,
        device: str,
        timeout: float,
        timing: Timing,
        fixture: Any,
        clock: DeviceClock,
        keep: Callable[[Result], None],
    ) -> None:
        self.benchmark = benchmark
        self.result: Result | None = None
        self._cell = benchmark.cell(device, timeout, timing)
        self._fixture = fixture
        self._clock = clock
        self._keep = keep

    def __call__(self) -> Result:
        """Verify, measure and record; return the result.

        A wrong product, a violation and an impossible time fail the test, and no time is recorded. What the device's
        limits forbid is skipped.
        """
        __tracebackhide__ = True
        reason, skipped = "", False
        try:
            result = self.result = measure_cell(self._cell)
        except ConstraintViolation as violation:
            reason, skipped = "; ".join(violation.reasons), True
        except MmcoreError as error:
            reason = str(error)
        if skipped:
            pytest.skip(reason)
        if reason:
            self._fail(reason)
        if not result.verified:
            self._fail(_what_is_wrong(result, self._cell.timeout))
        rounds, iterations = self._rounds(result)
        self._clock.replay([seconds * iterations for seconds in rounds])
        self._fixture.pedantic(lambda: None, rounds=len(rounds), iterations=iterations)
        if self._fixture.stats is not None:  # it is with --benchmark-disable
            # pytest-benchmark keeps the rounds itself.
            self._fixture.extra_info.update({**result.to_json(), "times": None})
            self._keep(result)
        return result

    @staticmethod
    def _rounds(result: Result) -> tuple[tuple[float, ...], int]:
        """Device seconds of each round; where there are none, the host's of the one launch that was verified."""
        if result.times:
            return result.times[0].rounds, result.times[0].iterations
        return (result.host_seconds,), 1

    def _fail(self, reason: str) -> NoReturn:
        """Fail the test, and have pytest-benchmark know that there is nothing to show or save."""
        __tracebackhide__ = True

        def fail() -> None:
            raise MmcoreError(reason)

        with contextlib.suppress(MmcoreError):
            self._fixture.pedantic(fail)
        pytest.fail(reason, pytrace=False)


def options_of(config: pytest.Config, marker: Mapping[str, Any], timing: Timing, max_seconds: float | None) -> Timing:
    """How long a cell is timed, by pytest-benchmark's options and the test's own mark.

    Args:
        config: pytest's.
        marker: keyword arguments of the mark.
        timing: what is timed.
        max_seconds: the usual device time of all rounds together, where the user does not say.
    """

    def option(name: str) -> Any:
        return marker.get(name, config.getoption(f"benchmark_{name}", None))

    seconds = float(option("max_time")) if max_seconds is None or "max_time" in marker else max_seconds
    if timing.how == "cold" and "max_time" not in marker:
        # Emptying the cache takes many times as long as a short kernel; a tenth of the rounds is enough.
        seconds /= 10
    return Timing(
        timing.what,
        timing.how,
        max_seconds=seconds,
        min_rounds=int(option("min_rounds")),
        min_round_seconds=float(option("min_time")),
        warmup_launches=int(option("warmup_iterations")) if option("warmup") else 0,
        resolutions=int(option("calibration_precision")),
        precision=float(option("precision") or 0.0),
        confidence=float(option("confidence") or 0.99),
    )


def _what_is_wrong(result: Result, timeout: float | None) -> str:
    """The lecture's report of a wrong product; or that the time limit was reached, which says nothing of it."""
    cell = result.cell
    sizes = f"{cell.m}×{cell.n}×{cell.k}"
    if result.timed_out:
        limit = f"the limit of {timeout:g} s was reached, which --mm-timeout sets"
        return "\n".join([f"{result.kernel} {sizes} was not finished on {result.device}: {limit}", *result.failures()])
    what = "failed" if result.verification is None else "is wrong"
    lines = [f"{result.kernel} {sizes} {what} on {result.device}; no time is reported", *result.failures()]
    return "\n".join([*lines, f"to see it again: {launch_command('run', cell)}"])
