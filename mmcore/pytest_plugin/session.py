"""One pytest run's benchmarks: found when the first test that wants them is collected."""

from __future__ import annotations

import contextlib
import functools
import os
from dataclasses import dataclass, field
from typing import Any

import pytest

from mmcore.cell import Timing
from mmcore.errors import LockFailed
from mmcore.executor import end_workers, run
from mmcore.executor.choose import chosen, device_name
from mmcore.locks import Lock
from mmcore.pytest_plugin.benchmark import CellBenchmark, DeviceClock, options_of
from mmcore.pytest_plugin.benchmark_session import measures
from mmcore.pytest_plugin.cells import Benchmark, Found, find_benchmarks
from mmcore.pytest_plugin.options import Selection
from mmcore.registry import registry
from mmcore.result import Result

# Device seconds of all rounds of a cell, where the user gives no --benchmark-max-time.
_USUAL_SECONDS = 0.7


@dataclass
class Session:
    """What the plugin knows of a run.

    Attributes:
        config: pytest's.
        clock: pytest-benchmark's timer.
        items: how many tests measure a cell.
        results: the cells' benchmarks and results, by test, and the dictionary that pytest-benchmark stores of each.
        benchmarks: the fixtures that were used, by test.
        prefixes: what stands before a test's line while the run goes on, by test.
        regressed: whether a cell is slower than ``--benchmark-compare-fail`` allows.
        problems: what could not be done at the end.
        durations: host seconds of set-up, call and teardown together, by test.
        lock: on the device, once a cell is to be measured.
    """

    config: pytest.Config
    clock: DeviceClock = field(default_factory=DeviceClock)
    items: int = 0
    results: dict[str, tuple[Benchmark, Result, dict[str, Any]]] = field(default_factory=dict)
    benchmarks: dict[str, CellBenchmark] = field(default_factory=dict)
    prefixes: dict[str, str] = field(default_factory=dict)
    regressed: bool = False
    problems: list[str] = field(default_factory=list)
    durations: dict[str, float] = field(default_factory=dict)
    lock: Lock | None = None

    @functools.cached_property
    def selection(self) -> Selection:
        """What the options select."""
        return Selection.of(self.config)

    @functools.cached_property
    def device(self) -> str:
        """The device's name; nothing is opened.

        Raises:
            NoDevice: there is no such device.
        """
        return device_name(self.selection.device)

    @functools.cached_property
    def supports_timing(self) -> bool:
        """Whether the device measures device time."""
        return chosen(self.device)[0].supports_timing

    @functools.cached_property
    def described(self) -> dict[str, Any]:
        """What the device's worker process says of it.

        Raises:
            MmcoreError: it cannot be opened.
        """
        found: dict[str, Any] = run(self.device, "mmcore.executor.worker:describe")
        return found

    @functools.cached_property
    def found(self) -> Found:
        """The benchmarks that the options select.

        Raises:
            MmcoreError: the options select nothing that is there.
        """
        return find_benchmarks(self.selection, registry(), supports_timing=self.supports_timing)

    def timing(self, benchmark: Benchmark, marker: dict[str, Any]) -> Timing:
        """How long a benchmark is timed."""
        ini = self.config.getini("addopts")
        words = [*self.config.invocation_params.args, *ini, *os.environ.get("PYTEST_ADDOPTS", "").split()]
        asked = any(str(word).startswith("--benchmark-max-time") for word in words)
        return options_of(self.config, marker, benchmark.timing, None if asked else _USUAL_SECONDS)

    def begin(self, test: str, used: CellBenchmark) -> None:
        """Note that a test's cell is about to be measured; the first of a file gets a new line of its own."""
        last = next(reversed(self.benchmarks), "")
        begin = "" if last.partition("::")[0] == test.partition("::")[0] else "\n"
        self.benchmarks[test] = used
        self.prefixes[test] = f"{begin}[{len(self.benchmarks)}/{self.items}]"

    def hold_device(self) -> None:
        """Have a device that supports timing to this run alone, until it ends; wait while another run has it."""
        description = self.described["description"]
        if self.lock is not None or not self.supports_timing or not measures(self.config):
            return
        self.lock = Lock(f"device-{self.described['identity']}")
        what = f"{self.device} ({description})"
        try:
            self.lock.take(
                lambda holder: self._say(f"mmcore: {what} is being measured by {holder}; waiting until it is free")
            )
        except LockFailed as error:
            self._say(f"mmcore: warning: another run on this device would go unnoticed: {error}")

    def _say(self, text: str) -> None:
        terminal, capture = map(self.config.pluginmanager.get_plugin, ("terminalreporter", "capturemanager"))
        if terminal is not None:
            with capture.global_and_fixture_disabled() if capture else contextlib.nullcontext():
                terminal.write_line(text)
                terminal.flush()

    def close(self) -> None:
        """Free the device for others."""
        end_workers()
        if self.lock is not None:
            self.lock.release()
