"""The fixture ``mm_benchmark``: a cell is measured, and pytest-benchmark told its rounds."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn, TypeAlias

import pytest

from mmcore.cell import Cell, Timing
from mmcore.errors import ConstraintViolation, MmcoreError, Unsupported
from mmcore.executor import measure_cell
from mmcore.messages import visible
from mmcore.result import Result
from mmcore_emulator.adapter.launch_facts import launch_command
from mmcore_pytest.collection import Benchmark

Measured: TypeAlias = tuple[Benchmark, Result, dict[str, Any]]  # the dictionary is what pytest-benchmark stores


class DeviceClock:
    """pytest-benchmark's timer: read before and after a round, it moves on by what the device measured, in seconds."""

    __name__ = "DeviceClock"  # in pytest-benchmark's results

    def __init__(self) -> None:
        self.replay(())

    def replay(self, rounds: Iterable[float]) -> None:
        """Tell these seconds, a round each, from now on."""
        self._rounds = iter(rounds)
        self._value = 0.0
        self._in_round = False

    def __call__(self) -> float:
        if self._in_round:
            self._value += next(self._rounds, 0.0)
        self._in_round = not self._in_round
        return self._value


@dataclass
class CellBenchmark:
    """The fixture: called once, it verifies and measures the cell, and hands the rounds to pytest-benchmark."""

    benchmark: Benchmark
    cell: Cell  # the same, with its device and for how long
    fixture: Any  # pytest-benchmark's own, with the clock for its timer
    clock: DeviceClock
    keep: Callable[[Measured], None]
    prefix: str  # of the test's line while the run goes on
    measure: Callable[[Cell], Result] = measure_cell
    result: Result | None = None  # None before it is called, and where the cell cannot be measured
    duration: float = 0.0  # host seconds of set-up, call and teardown together

    def __call__(self) -> Result:
        """Verify, measure and record; what is wrong fails the test, what the device's limits forbid is skipped."""
        __tracebackhide__ = True
        reason, skipped = "", False
        try:
            result = self.result = self.measure(self.cell)
        except ConstraintViolation as violation:
            reason, skipped = "; ".join(violation.reasons), True
        except Unsupported as error:
            reason, skipped = str(error), True
        except MmcoreError as error:
            reason = str(error)
        reason = visible(reason)
        if skipped:
            pytest.skip(reason)
        if reason:
            self._fail(reason)
        if not result.verified:
            self._fail(visible(_what_is_wrong(result, self.cell.timeout)))
        # Where there is no device time, the host's of the one launch that was verified.
        time = result.times[0] if result.times else None
        rounds, iterations = (time.rounds, time.iterations) if time else ((result.host_seconds,), 1)
        self.clock.replay(seconds * iterations for seconds in rounds)
        self.fixture.pedantic(lambda: None, rounds=len(rounds), iterations=iterations)
        if self.fixture.stats is not None:  # it is with --benchmark-disable
            self.fixture.extra_info.update(self.benchmark.extra_info(result))
            self.keep((self.benchmark, result, self.fixture.extra_info))
        return result

    def _fail(self, reason: str) -> NoReturn:
        """Fail the test, and have pytest-benchmark know that there is nothing to show or save."""
        __tracebackhide__ = True

        def fail() -> None:
            raise MmcoreError(reason)

        with contextlib.suppress(MmcoreError):
            self.fixture.pedantic(fail)
        pytest.fail(reason, pytrace=False)


def options_of(config: pytest.Config, marker: Mapping[str, Any], timing: Timing, max_seconds: float | None) -> Timing:
    """How long a cell is timed, by pytest-benchmark's options and the keyword arguments of the test's mark.

    ``max_seconds`` is the usual device time of all rounds together; None where the user gives one.
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
    """The report of a wrong product; or that the time limit was reached, which says nothing of it."""
    cell = result.cell
    name, device = f"{result.kernel} {cell.m}×{cell.n}×{cell.k}", result.device
    if result.timed_out:
        limit = f"the limit of {timeout:g} s was reached, which --mm-timeout sets"
        return "\n".join([f"{name} was not finished on {device}: {limit}", *result.failures()])
    what = "failed" if result.verification is None else "is wrong"
    again = f"to see it again: {launch_command('run', cell)}"
    return "\n".join([f"{name} {what} on {device}; no time is reported", *result.failures(), again])
