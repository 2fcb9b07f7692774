"""The fixture ``mm_benchmark``: measures a cell and passes the rounds to pytest-benchmark."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

import pytest

from mmcore.cell import Cell, Timing
from mmcore.errors import ConstraintViolation, MmcoreError, Unsupported
from mmcore.messages import visible
from mmcore.result import Result
from mmcore_emulator.adapter.launch_facts import launch_command
from mmcore_pytest.collection import Benchmark

_PRECISION = 0.005  # of the median, at which the rounds end
_LEAST_SHARE = 1 / 7  # of the usual time, in which a GPU's clock settles


class DeviceClock:
    """A timer for pytest-benchmark that advances in each round by the device seconds of that round."""

    __name__ = "DeviceClock"  # in pytest-benchmark's results

    def __init__(self) -> None:
        self.replay(())

    def replay(self, rounds: Iterable[float]) -> None:
        """Start again from zero with these rounds, in seconds."""
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
    """A function without arguments that verifies and measures a cell for pytest-benchmark."""

    benchmark: Benchmark
    cell: Cell
    fixture: Any  # pytest-benchmark's fixture, whose timer is the clock
    clock: DeviceClock
    prefix: str  # of the test's line of progress
    measure: Callable[[Cell], Result]  # returns the result, with hazards if these are looked for
    result: Result | None = None  # None before the call, and if the cell cannot be measured
    recorded: bool = False  # True if pytest-benchmark has the rounds
    duration: float = 0.0  # host seconds of set-up, call and teardown

    def __call__(self) -> Result:
        """Verify, measure and record the cell; fail a wrong one, skip one that the device's limits forbid."""
        __tracebackhide__ = True
        try:
            self.result = result = self.measure(self.cell)
        except ConstraintViolation as violation:
            pytest.skip(visible("; ".join(violation.reasons)))
        except Unsupported as error:
            pytest.skip(visible(str(error)))
        except MmcoreError as error:
            self._fail(visible(str(error)))
        if not result.verified:
            self._fail(visible(_what_is_wrong(result, self.cell.timeout)))
        # Without device times, record the host's time of the verified launch.
        time = result.times[0] if result.times else None
        rounds, iterations = (time.rounds, time.iterations) if time else ((result.host_seconds,), 1)
        self.clock.replay(seconds * iterations for seconds in rounds)
        self.fixture.pedantic(lambda: None, rounds=len(rounds), iterations=iterations)
        if self.fixture.stats is not None:  # None with --benchmark-disable
            self.fixture.extra_info.update(self.benchmark.extra_info(result))
            self.recorded = True
        return result

    def _fail(self, reason: str) -> NoReturn:
        """Fail the test, and make pytest-benchmark neither show nor save it."""
        __tracebackhide__ = True

        def fail() -> None:
            raise MmcoreError(reason)

        with contextlib.suppress(MmcoreError):
            self.fixture.pedantic(fail)
        # pytest would print the cause too, with any control characters in it.
        raise pytest.fail.Exception(reason, pytrace=False) from None


def options_of(config: pytest.Config, marker: Mapping[str, Any], timing: Timing, usual: Mapping[str, float]) -> Timing:
    """Return a timing with the limits of the test's mark and of pytest-benchmark's options.

    ``usual`` are mmcore's own "max_time" and "min_rounds", as far as no option of the command replaces them. Within
    mmcore's own time, the rounds end early when their median is precise.
    """

    def option(name: str) -> Any:
        return marker.get(name, usual.get(name, config.getoption(f"benchmark_{name}", None)))

    seconds = float(option("max_time"))
    if timing.how == "cold" and "max_time" not in marker:
        # Emptying the cache takes many times as long as a short kernel, so measure a tenth of the time.
        seconds /= 10
    ends_early = usual.keys() - marker.keys() >= {"max_time", "min_rounds"} and not option("precision")
    early: dict[str, Any] = (
        {"median_precision": _PRECISION, "min_seconds": seconds * _LEAST_SHARE} if ends_early else {}
    )
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
        **early,
    )


def _what_is_wrong(result: Result, timeout: float | None) -> str:
    """Return the report of a wrong result, or of a time limit that was reached."""
    cell = result.cell
    name, device = f"{result.kernel} {cell.m}×{cell.n}×{cell.k}", result.device
    if result.timed_out:
        limit = f"the limit of {timeout:g} s, which --mm-timeout sets"
        return "\n".join([f"{name} takes longer on {device} than {limit}", *result.failures()])
    what = "failed" if result.verification is None else "is wrong"
    again = f"to see it again: {launch_command('run', cell)}"
    return "\n".join([f"{name} {what} on {device}; no time is reported", *result.failures(), again])
