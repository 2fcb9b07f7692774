"""One pytest run's benchmarks: opened when the first test that wants them is collected."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from mmcore.pytest_plugin.cells import Cell, Cells, find_cells
from mmcore.pytest_plugin.timer import DeviceClock
from mmcore.pytest_plugin.exclusive import device_lock, waiting
from mmcore.pytest_plugin.measuring import Bench, CellBenchmark
from mmcore.pytest_plugin.result import Result
from mmcore.pytest_plugin.options import Selection
from mmcore.pytest_plugin.benchmark_session import measures
from mmcore.errors import LockFailed
from mmcore.devices.choose import open_device
from mmcore.locks import Lock
from mmcore.registry import registry


@dataclass
class Session:
    """What the plugin knows of a run.

    Attributes:
        config: pytest's.
        clock: pytest-benchmark's timer.
        items: how many tests measure a cell.
        results: what the cells came to, by test, and the dictionary that pytest-benchmark stores of each.
        benchmarks: the fixtures that were used, by test.
        prefixes: what stands before a test's line while the run goes on, by test.
        regressed: whether a cell is slower than ``--benchmark-compare-fail`` allows.
        complaints: what could not be done at the end.
        durations: host seconds of set-up, call and teardown together, by test.
        say: tells the user something while the run goes on; the terminal reporter does where it is None.
        lock: on the device, once a cell is to be measured.
    """

    config: pytest.Config
    clock: DeviceClock = field(default_factory=DeviceClock)
    items: int = 0
    results: dict[str, tuple[Result, dict[str, Any]]] = field(default_factory=dict)
    benchmarks: dict[str, CellBenchmark] = field(default_factory=dict)
    prefixes: dict[str, str] = field(default_factory=dict)
    regressed: bool = False
    complaints: list[str] = field(default_factory=list)
    durations: dict[str, float] = field(default_factory=dict)
    say: Callable[[str], None] | None = None
    lock: Lock | None = None

    @functools.cached_property
    def bench(self) -> Bench:
        """The device, open.

        Raises:
            MmcoreError: there is no such device.
        """
        selection = Selection.of(self.config)
        return Bench(open_device(selection.device, registry().providers), selection.timeout)

    @functools.cached_property
    def found(self) -> Cells:
        """The cells that the options select.

        Raises:
            MmcoreError: the options select nothing that is there.
        """
        return find_cells(Selection.of(self.config), registry(), self.bench.device)

    @property
    def cells(self) -> Mapping[tuple[str, ...], Cell]:
        """The cells, by the parameters of their tests."""
        return self.found.cells

    @property
    def opened(self) -> bool:
        """Whether anything asked for the device."""
        return "bench" in self.__dict__

    @property
    def warnings(self) -> list[str]:
        """What is wrong with the plugins."""
        return registry().complaints()

    def begin(self, test: str, used: CellBenchmark) -> None:
        """Note that a test's cell is about to be measured; the first of a file gets a new line of its own."""
        last = next(reversed(self.benchmarks), "")
        begin = "" if last.partition("::")[0] == test.partition("::")[0] else "\n"
        self.benchmarks[test] = used
        self.prefixes[test] = f"{begin}[{len(self.benchmarks)}/{self.items}]"

    def hold_device(self) -> None:
        """Have a device that keeps time to this run alone, until it ends; wait while another run has it."""
        if self.lock is not None or not self.bench.device.supports_timing or not measures(self.config):
            return
        self.lock = device_lock(self.bench.device)
        try:
            self.lock.take(lambda holder: self._say(waiting(self.bench.device, holder)))
        except LockFailed as error:
            self._say(f"mmcore: warning: another run on this device would go unnoticed: {error}")

    def _say(self, text: str) -> None:
        if self.say is not None:
            self.say(text)
            return
        terminal, capture = map(self.config.pluginmanager.get_plugin, ("terminalreporter", "capturemanager"))
        if terminal is not None:
            with capture.global_and_fixture_disabled() if capture else contextlib.nullcontext():
                terminal.write_line(text)
                terminal.flush()

    def close(self) -> None:
        """Free the device's memory, and the device for others."""
        if self.opened:
            self.bench.close()
        if self.lock is not None:
            self.lock.release()
