"""One cell's run: verified, measured by pytest-benchmark, and held against what the device can do at most."""

from __future__ import annotations

import contextlib
import dataclasses
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pytest_benchmark.fixture import BenchmarkFixture, FixtureAlreadyUsed

from mmcore.auditing import audit, confirm
from mmcore.pytest_plugin.cells import Cell, Point
from mmcore.pytest_plugin.timer import DeviceClock, HostTimer
from mmcore.pytest_plugin.result import Result
from mmcore.errors import MmcoreError, UnknownCapability
from mmcore.experiment import Experiment
from mmcore.devices.base import Device
from mmcore_occupancy.compiled import launch_occupancies
from mmcore.devices.timer import Timer
from mmcore.outcome import Outcome
from mmcore.reproduce import launch_command

# A clock reading may be this much short before a time counts as impossible.
_CLOCK_ERROR = 0.02


class Bench:
    """What a session measures on: the device, and the point that was prepared and verified last.

    Cells of one point follow each other, so that its kernel time and its global times share one verification.

    Args:
        device: the device.
        seconds: the host's time that each cell has.
    """

    def __init__(self, device: Device, seconds: float) -> None:
        self.device = device
        self._seconds = seconds
        self._point: Point | None = None
        self._experiment: Experiment | None = None
        self._outcome: Outcome | None = None

    def begin(self) -> None:
        """Let a cell's time begin."""
        self.device.deadline.set(self._seconds)

    def verified(self, point: Point, phases: Phases) -> tuple[Experiment, Outcome]:
        """The point, prepared, run once and audited.

        Raises:
            MmcoreError: it cannot be run.
        """
        if self._experiment is None or self._outcome is None or point != self._point:
            self.close()
            with phases.measured("compile"):
                self._experiment = Experiment(*point, self.device)
            self._point = point
            with phases.measured("verify"):
                self._outcome = self._experiment.verify()
                if self._outcome.verified:
                    self._outcome = audit(self._experiment, self._outcome)
        return self._experiment, self._outcome

    def fail(self) -> None:
        """Prepare the point anew for its next cell, unless that would only fail again."""
        if self._outcome is None or self._outcome.verified:
            self.close()

    def close(self) -> None:
        """Free the device's memory."""
        experiment, self._experiment, self._outcome = self._experiment, None, None
        if experiment is not None:
            experiment.__exit__(None, None, None)


class Phases:
    """Where a cell's time goes, in host seconds."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextlib.contextmanager
    def measured(self, phase: str) -> Iterator[None]:
        """Count what happens inside to ``phase``."""
        begin = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[phase] = self.seconds.get(phase, 0.0) + time.perf_counter() - begin


class CellBenchmark:
    """The fixture ``mm_benchmark``: called once, it verifies the cell and has pytest-benchmark measure it.

    Args:
        cell: what to measure.
        bench: on what.
        benchmark: pytest-benchmark's own fixture, with ``clock`` for its timer.
        clock: the timer.
        keep: takes the result.
    """

    def __init__(
        self, cell: Cell, bench: Bench, benchmark: Any, clock: DeviceClock, keep: Callable[[Result], None]
    ) -> None:
        self.cell = cell
        self.phases = Phases()
        self._bench = bench
        self._benchmark = benchmark
        self._clock = clock
        self._keep = keep

    def __call__(self) -> Outcome:
        """Verify, measure and record; return what came of the run, time included.

        A wrong product, a violation and an impossible time fail the test, and no time is recorded.
        """
        __tracebackhide__ = True
        try:
            return self._measure()
        except MmcoreError as error:
            self._bench.fail()
            reason = error
        except BaseException:
            # An interrupted benchmark must not be saved with half its rounds.
            self._discard()
            raise
        self._reject(reason)
        pytest.fail(str(reason), pytrace=False)

    def _measure(self) -> Outcome:
        __tracebackhide__ = True
        self._bench.begin()
        experiment, outcome = self._bench.verified(self.cell.point, self.phases)
        if not outcome.verified:
            raise MmcoreError(_what_is_wrong(outcome))
        timer = self._timer(experiment)
        used = timer or HostTimer(experiment.prepared.run)
        self._clock.start(used)
        # What pytest-benchmark would find out by reading the clock for a second, in its versions before 5.3.
        getattr(BenchmarkFixture, "_precisions", {}).setdefault(self._clock, used.resolution)
        try:
            if timer is not None:
                self._benchmark(self._clock.ask)
            else:
                # Emulation takes long and means little: once is enough.
                self._benchmark.pedantic(self._clock.ask)
        finally:
            used.close()
        if self._benchmark.stats is None:  # --benchmark-disable
            return outcome
        self.phases.seconds["device"] = self._clock.measured
        with self.phases.measured("verify"):
            confirmed = confirm(experiment)
        if not confirmed.verified:
            raise MmcoreError(_what_is_wrong(confirmed))
        result = self._result(experiment, outcome, used)
        self._check_plausible(result)
        self._benchmark.extra_info.update(result.to_json())
        self._keep(result)
        return result.outcome

    def _timer(self, experiment: Experiment) -> Timer | None:
        what, how = self.cell.measure
        return experiment.timer(cold=how == "cold") if what == "kernel" else experiment.end_to_end_timer(how)

    def _result(self, experiment: Experiment, outcome: Outcome, used: Timer) -> Result:
        stats, device = self._benchmark.stats, self._bench.device
        median = float(stats["median"])
        if device.supports_timing:
            what, how = self.cell.measure
            memory = how if what == "global" else outcome.memory
            outcome = dataclasses.replace(outcome, memory=memory, **{f"{what}_seconds": median})  # type: ignore[arg-type]
        return Result(
            cell=self.cell,
            outcome=outcome,
            seconds=median,
            spread=float(stats["iqr"]) / median,
            rounds=int(stats["rounds"]),
            launches=int(stats["iterations"]),
            clock=used.method,
            occupancy=_occupancy(outcome, experiment, device),
            peak=None if device.peaks is None else device.peaks.flops[self.cell.point.problem.dtype],
        )

    def _check_plausible(self, result: Result) -> None:
        peaks = self._bench.device.peaks
        if peaks is None or result.gflops is None:
            return
        least = peaks.least_seconds(self.cell.point.problem, cold=self.cell.measure.how == "cold")
        if result.seconds < least * (1 - _CLOCK_ERROR):
            raise MmcoreError(
                f"implausible: {result.seconds * 1e6:.3g} µs for {self.cell.id}, which takes {least * 1e6:.3g} µs at "
                f"least at {self._bench.device.description}'s peak arithmetic and memory rates; "
                "the launch that was timed cannot have computed the product"
            )

    def _reject(self, error: MmcoreError) -> None:
        """Have pytest-benchmark know of the failure, before or after it measured."""
        if self._benchmark.stats is not None:
            self._discard()
            return

        def fail() -> None:
            raise error

        with contextlib.suppress(MmcoreError, FixtureAlreadyUsed):
            self._benchmark(fail)

    def _discard(self) -> None:
        """Have pytest-benchmark neither show nor save what it measured."""
        self._benchmark.has_error = True
        if self._benchmark.stats is not None:
            self._benchmark.stats.stats.data.clear()


def _occupancy(outcome: Outcome, experiment: Experiment, device: Device) -> float | None:
    """Of the launch that can keep the fewest warps active."""
    try:
        found = launch_occupancies(outcome.plan, experiment.prepared.code, device.limits.compute_capability)
    except UnknownCapability:
        return None
    return min(each.occupancy for each in found)


def _what_is_wrong(outcome: Outcome) -> str:
    """The lecture's report of a wrong product."""
    what = "failed" if outcome.verification is None else "is wrong"
    lines = [f"{outcome.plan.kernel.name} {outcome.problem} {what} on {outcome.device}; no time is reported"]
    command = launch_command(
        "run", outcome.plan.kernel.name, outcome.problem, outcome.plan.block, device=outcome.device, seed=outcome.seed
    )
    return "\n".join([*lines, *outcome.complaints(), f"to see it again: {command}"])
