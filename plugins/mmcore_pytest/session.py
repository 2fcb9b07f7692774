"""One pytest run's benchmarks: found when the first test that wants them is collected."""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from mmcore.cell import Cell
from mmcore.executor import end_workers, measure_cell, run
from mmcore.executor.choose_device import chosen, device_name, device_properties
from mmcore.kernel.properties import DeviceProperties
from mmcore.messages import visible
from mmcore.registry import registry
from mmcore_engines.file_locks import Lock, LockFailed
from mmcore_pytest.benchmark_internals import measures
from mmcore_pytest.collection import Benchmark, Found, find_benchmarks
from mmcore_pytest.fixture import CellBenchmark, DeviceClock, Measured, options_of
from mmcore_pytest.options import Selection

if TYPE_CHECKING:
    from mmcore_pytest.measuring import Measuring

_USUAL_SECONDS = 0.7  # of device time, for all rounds of a cell, where the user gives no --benchmark-max-time


@dataclass
class Session:
    """What the plugin knows of a run."""

    config: pytest.Config
    clock: DeviceClock = field(default_factory=DeviceClock)  # pytest-benchmark's timer
    items: int = 0  # how many tests measure a cell
    results: dict[str, Measured] = field(default_factory=dict)  # by test
    benchmarks: dict[str, CellBenchmark] = field(default_factory=dict)  # the fixtures that were used, by test
    reported: set[str] = field(default_factory=set)  # the tests that have been run
    interrupted: bool = False  # by Ctrl-C
    regressed: bool = False  # a cell is slower than --benchmark-compare-fail allows
    problems: list[str] = field(default_factory=list)  # what could not be done at the end
    unsaved: list[str] = field(default_factory=list)  # what results could not be written, and why
    lock: Lock | None = None  # on the device, once a cell is to be measured

    @functools.cached_property
    def selection(self) -> Selection:
        return Selection.of(self.config)

    @functools.cached_property
    def engine(self) -> Measuring | None:
        """What measures the cells where it is not one worker process; :class:`MmcoreError` where it has no worker."""
        if not self.selection.engine:
            return None
        from mmcore_pytest.measuring import Measuring  # only a run of several workers needs engines

        return Measuring(self.selection, self.say)

    @property
    def keeps(self) -> bool:
        """Whether the same command goes on from where this run is interrupted."""
        return bool("engine" in vars(self) and self.engine and self.engine.keeps)

    @functools.cached_property
    def device(self) -> str:
        """The device's name, of several as they were asked for. :class:`NoDevice` where there is none such."""
        return self.engine.device if self.engine else device_name(self.selection.device)

    @functools.cached_property
    def supports_timing(self) -> bool:
        """Whether the device measures device time."""
        if name := self._name:
            return chosen(name)[0].supports_timing
        return bool(self.described["supports_timing"])

    @functools.cached_property
    def _name(self) -> str:
        """The name of this machine's device for which benchmarks are found; empty where a worker must be asked."""
        return self.engine.local if self.engine else self.device

    @functools.cached_property
    def told(self) -> str:
        """What the device's provider says of it, in parentheses; nothing is opened."""
        said = ""
        with contextlib.suppress(Exception):  # a third party's may raise anything
            said = chosen(self.device)[0].findings().get(self.device, "")
        return f" ({said})" if said else ""

    @functools.cached_property
    def described(self) -> Mapping[str, Any]:
        """What the device's worker process says of it; :class:`MmcoreError` where it cannot be opened."""
        if self.engine:
            return self.engine.described
        found: Mapping[str, Any] = run(self.device, "mmcore.executor.worker:describe")
        return found

    @functools.cached_property
    def found(self) -> Found:
        """The benchmarks that the options select; :class:`MmcoreError` where they select nothing that is there."""

        @functools.cache
        def device() -> DeviceProperties:
            # Collecting tests opens no device, unless the workers of an engine alone know theirs.
            if name := self._name:
                return device_properties(name)
            return DeviceProperties.from_json(self.described["properties"])

        return find_benchmarks(self.selection, registry(), supports_timing=self.supports_timing, device=device)

    def cell(self, benchmark: Benchmark, marker: Mapping[str, Any]) -> Cell:
        """The cell of a benchmark, given the keyword arguments of its test's mark."""
        config = self.config
        environment = os.environ.get("PYTEST_ADDOPTS", "").split()
        words = [*config.invocation_params.args, *config.getini("addopts"), *environment]
        asked = any(str(word).startswith("--benchmark-max-time") for word in words)
        timing = options_of(config, marker, benchmark.timing, None if asked else _USUAL_SECONDS)
        selection = self.selection
        against = registry().source_revision(benchmark.kernel, selection.against)
        compared = {"baseline": selection.baseline, "against": against}
        return benchmark.cell(self.device, timing, timeout=selection.timeout, **compared)

    def begin(self, test: str, benchmark: Benchmark, marker: Mapping[str, Any], fixture: Any) -> CellBenchmark:
        """The fixture of a test, given its mark and pytest-benchmark's fixture."""
        # The first of a file gets a new line of its own.
        last = next(reversed(self.benchmarks), "")
        begin = "" if last.partition("::")[0] == test.partition("::")[0] else "\n"
        count = len(self.benchmarks) + (test not in self.benchmarks)
        prefix = f"{begin}[{count}/{self.items}]"
        keep = functools.partial(self.results.__setitem__, test)
        measure = functools.partial(self.engine.result, test) if self.engine else measure_cell
        cell = self.cell(benchmark, marker)
        self.benchmarks[test] = CellBenchmark(benchmark, cell, fixture, self.clock, keep, prefix, measure)
        return self.benchmarks[test]

    def hold_device(self) -> None:
        """Have a device that supports timing to this run alone, until it ends; wait while another run has it."""
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
        """Write a line to the terminal, past what captures output."""
        terminal, capture = map(self.config.pluginmanager.get_plugin, ("terminalreporter", "capturemanager"))
        if terminal is not None:
            with capture.global_and_fixture_disabled() if capture else contextlib.nullcontext():
                terminal.write_line(visible(text))
                terminal.flush()

    def close(self) -> None:
        """Free the device for others."""
        if "engine" in vars(self) and self.engine:
            self.engine.close(self.reported)
        end_workers()
        if self.lock is not None:
            self.lock.release()
