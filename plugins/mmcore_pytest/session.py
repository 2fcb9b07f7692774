"""The state of a pytest run: its options, device, benchmarks and results."""

from __future__ import annotations

import contextlib
import functools
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, wait
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from mmcore.cell import Cell
from mmcore.executor import IN_PROCESS, end_workers, measure_cell, run
from mmcore.executor.choose_device import chosen, device_name, device_properties
from mmcore.kernel.properties import DeviceProperties
from mmcore.messages import visible
from mmcore.registry import registry
from mmcore.result import Result
from mmcore_engines.file_locks import Lock, LockFailed
from mmcore_pytest.benchmark_internals import measures, saved_runs
from mmcore_pytest.collection import Benchmark, Collection, find_benchmarks
from mmcore_pytest.counts import CountComparison, compared_counts
from mmcore_pytest.fixture import CellBenchmark, DeviceClock, options_of
from mmcore_pytest.options import Selection
from mmcore_pytest.run_comparison import RunComparison, compared_runs
from mmcore_pytest.verdicts import Ahead, Verdicts, with_hazards, with_reading

if TYPE_CHECKING:
    from mmcore_pytest.measuring import Measuring

# Device time of all rounds of a cell, and the rounds of a launch that takes longer, without pytest-benchmark's options.
_USUAL = {"max_time": 0.7, "min_rounds": 2}
_PATIENCE_SECONDS = 2.0  # until a terminal shows the awaited cell


@dataclass
class Session:
    """The state of a run."""

    config: pytest.Config
    clock: DeviceClock = field(default_factory=DeviceClock)  # pytest-benchmark's timer
    items: int = 0  # number of tests that measure a cell
    benchmarks: dict[str, CellBenchmark] = field(default_factory=dict)  # the fixtures in use, by test
    verdicts: Verdicts | None = None  # of cells that no engine measures and whose hazards count
    reported: set[str] = field(default_factory=set)  # tests that have finished
    interrupted: bool = False  # by Ctrl-C
    regressed: bool = False  # a cell is slower than --benchmark-compare-fail allows
    counts: CountComparison = field(default_factory=CountComparison)  # with the results of --benchmark-compare
    times: RunComparison = field(default_factory=RunComparison)  # with the results of --benchmark-compare
    vanished: list[str] = field(default_factory=list)  # cells of the compared run that this run does not have
    problems: list[str] = field(default_factory=list)  # warnings for the summary
    unsaved: list[str] = field(default_factory=list)  # reasons why results could not be written
    lock: Lock | None = None  # on the device, taken before the first measurement

    @functools.cached_property
    def selection(self) -> Selection:
        return Selection.of(self.config)

    @functools.cached_property
    def engine(self) -> Measuring | None:
        """The engine that measures the cells; None for a single worker process."""
        if not self.selection.engine:
            return None
        from mmcore_pytest.measuring import Measuring  # only a run of several workers needs engines

        return Measuring(self.selection, self.say)

    @property
    def results(self) -> dict[str, tuple[Benchmark, Result]]:
        """The benchmarks that pytest-benchmark has recorded, with their results, by test."""
        used = self.benchmarks.items()
        return {test: (each.benchmark, each.result) for test, each in used if each.recorded and each.result}

    def compare_saved(self) -> None:
        """Compare the results with the runs that ``--benchmark-compare`` selects: counts with the last of them."""
        saved = saved_runs(self.config)
        source, benchmarks = next(reversed(saved.items()), ("", {}))
        results = {test: result for test, (_, result) in self.results.items()}
        self.times = compared_runs(results, saved)
        self.counts = compared_counts(results, benchmarks, source, self.config.getoption("mm_allow_growth"))
        self.regressed |= self.counts.regressed

    @property
    def can_resume(self) -> bool:
        """True if the same command can resume this run after an interruption."""
        return bool("engine" in vars(self) and self.engine and self.engine.can_resume)

    @functools.cached_property
    def device(self) -> str:
        """The device's name; the value of ``--mm-device`` for several devices. Raises NoDevice if it does not exist."""
        return self.engine.device if self.engine else device_name(self.selection.device)

    @functools.cached_property
    def supports_timing(self) -> bool:
        if name := self._name:
            return chosen(name)[0].supports_timing
        return bool(self.described["supports_timing"])

    @functools.cached_property
    def _name(self) -> str:
        """The name of the local device that selects configs; empty if only the workers know their devices."""
        return self.engine.local if self.engine else self.device

    @functools.cached_property
    def findings(self) -> str:
        """The provider's description of the device, in parentheses; the device is not opened."""
        text = ""
        with contextlib.suppress(Exception):  # a plugin may raise anything
            text = chosen(self.device)[0].findings().get(self.device, "")
        return f" ({text})" if text else ""

    @functools.cached_property
    def described(self) -> Mapping[str, Any]:
        """The description of the device by its worker process. Raises MmcoreError if the device cannot be opened."""
        if self.engine:
            return self.engine.described
        description: Mapping[str, Any] = run(self.device, "mmcore_engines.device_worker:describe")
        return description

    @functools.cached_property
    def collection(self) -> Collection:
        """The benchmarks that the options select. Raises MmcoreError if an option names something unknown."""

        @functools.cache
        def device() -> DeviceProperties:
            # Collecting tests opens no device, unless only the engine's workers know theirs.
            if name := self._name:
                return device_properties(name)
            return DeviceProperties.from_json(self.described["properties"])

        return find_benchmarks(self.selection, registry(), supports_timing=self.supports_timing, device=device)

    def cell(self, benchmark: Benchmark, marker: Mapping[str, Any]) -> Cell:
        """Return the cell of a benchmark; ``marker`` contains the keyword arguments of its test's mark."""
        config = self.config
        environment = os.environ.get("PYTEST_ADDOPTS", "").split()
        words = [*config.invocation_params.args, *config.getini("addopts"), *environment]
        given = {str(word).partition("=")[0] for word in words}
        usual = {name: value for name, value in _USUAL.items() if f"--benchmark-{name.replace('_', '-')}" not in given}
        timing = options_of(config, marker, benchmark.timing, usual)
        selection = self.selection
        against = registry().source_revision(benchmark.kernel, selection.against)
        compared = {"baseline": selection.baseline, "against": against}
        return benchmark.cell(self.device, timing, timeout=selection.timeout, **compared)

    def begin(self, test: str, benchmark: Benchmark, marker: Mapping[str, Any], fixture: Any) -> CellBenchmark:
        """Create the fixture of a test from its mark's keyword arguments and pytest-benchmark's fixture."""
        # The first test of a file starts a new line.
        last = next(reversed(self.benchmarks), "")
        begin = "" if last.partition("::")[0] == test.partition("::")[0] else "\n"
        count = len(self.benchmarks) + (test not in self.benchmarks)
        prefix = f"{begin}[{count}/{self.items}]"
        cell, measure = self.cell(benchmark, marker), self._measure(test, benchmark)
        self.benchmarks[test] = CellBenchmark(benchmark, cell, fixture, self.clock, prefix, measure)
        return self.benchmarks[test]

    def _measure(self, test: str, benchmark: Benchmark) -> Callable[[Cell], Result]:
        """Return the function that measures the cell of a test."""
        if verdicts := self.verdicts:
            return lambda cell: verdicts.result(test)
        measure = functools.partial(self.engine.result, test) if self.engine else measure_cell
        complete = with_reading if self.selection.allow_hazards else with_hazards
        return lambda cell: complete(measure(cell), benchmark.kernel)

    def measure_all(self, cells: Mapping[str, tuple[Cell, Benchmark]], folder: Path | None) -> None:
        """Prepare to measure all cells, by test, in order; ``folder`` contains the journals of interrupted runs."""
        if self.engine:
            self.engine.submit({test: (cell, each.group) for test, (cell, each) in cells.items()}, folder)
        elif not self.selection.allow_hazards and os.environ.get(IN_PROCESS) != "1":
            kernels = {test: (cell, each.kernel) for test, (cell, each) in cells.items()}
            ahead = Ahead.on_device(supports_timing=self.supports_timing)
            self.verdicts = Verdicts(kernels, ahead, self._wait, self.described)

    def _wait(self, test: str, future: Future[Result]) -> Result:
        """Return a future's result; after two seconds, a terminal shows the awaited cell."""
        if wait([future], _PATIENCE_SECONDS).done:
            return future.result()
        with self._shown(f" {self.benchmarks[test].benchmark.id}: verifying it, and looking for hazards"):
            return future.result()

    @contextlib.contextmanager
    def _shown(self, text: str) -> Iterator[None]:
        """Show a text behind the terminal's cursor, which stays where it is, and erase it at the end."""
        terminal, capture = map(self.config.pluginmanager.get_plugin, ("terminalreporter", "capturemanager"))
        if terminal is None or not (terminal.isatty and terminal.hasmarkup):
            yield
            return

        def write(codes: str) -> None:
            with capture.global_and_fixture_disabled() if capture else contextlib.nullcontext():
                print(end=codes, file=sys.stdout, flush=True)

        # The cursor is saved and restored; between, a long line is cut instead of wrapped.
        write(f"\x1b7\x1b[?7l{visible(text)}\x1b[?7h\x1b8")
        try:
            yield
        finally:
            write("\x1b[K")

    def hold_device(self) -> None:
        """Lock a device that supports timing until the end of this run; wait while another run uses it."""
        what = f"{self.device} ({self.described['description']})"
        if self.engine or self.lock is not None or not self.supports_timing or not measures(self.config):
            return
        self.lock = Lock(f"device-{self.described['identity']}")
        waiting = f"mmcore: {what} is being measured by {{}}; waiting until it is free"
        try:
            self.lock.take(lambda holder: self.say(waiting.format(holder)))
        except LockFailed as error:
            self.say(f"mmcore: warning: another run on this device would go unnoticed: {error}")

    def say(self, text: str) -> None:
        """Write a line to the terminal, even while pytest captures output."""
        terminal, capture = map(self.config.pluginmanager.get_plugin, ("terminalreporter", "capturemanager"))
        if terminal is not None:
            with capture.global_and_fixture_disabled() if capture else contextlib.nullcontext():
                terminal.write_line(visible(text))
                terminal.flush()

    def close(self) -> None:
        if "engine" in vars(self) and self.engine:
            self.engine.close(self.reported)
        if self.verdicts:
            self.verdicts.close()
        end_workers()
        if self.lock is not None:
            self.lock.release()
