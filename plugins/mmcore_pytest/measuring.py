"""Measurement of a run's cells by an engine: the first test submits all cells, and each test waits for its cell."""

from __future__ import annotations

import functools
import hashlib
import queue
import time
from collections.abc import Callable, Mapping, Set
from concurrent.futures import Future, wait
from pathlib import Path
from typing import Any

from mmcore.cell import Cell, Timing
from mmcore.result import Result
from mmcore_engines import Request, Scheduler, connect
from mmcore_engines.engine import engine_named
from mmcore_engines.scheduler import NotMeasured
from mmcore_pytest.options import Selection

REFERENCE = Cell("upc.kernel11", 2048, 2048, 2048, timings=(Timing(max_seconds=0.2),), timeout=60)
"""The cell that each card measures first, so that cards can be compared."""

_PATIENCE_SECONDS = 10.0  # between two messages about the number of measured cells
_POLL_SECONDS = 0.5


class Measuring:
    """The engine of a run. It starts when a worker is needed.

    Its ``local`` device is the first of the workers' on this machine; empty if only the workers know their devices.
    Raises MmcoreError if the engine or a device of this machine does not exist.
    """

    def __init__(self, selection: Selection, say: Callable[[str], None]) -> None:
        self.device = selection.device
        self._ignores_groups = selection.spread
        self._engine = selection.engine
        self._request = Request("all" if selection.device == "auto" else selection.device, selection.engine_address)
        is_local = getattr(engine_named(self._engine), "local", False)
        self.local = self._request.local_devices()[0] if is_local else ""
        # pytest's thread prints the messages; another thread's output could be captured as a test's.
        self._messages: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._say = say
        self._futures: dict[str, Future[Any]] = {}
        self._printed, self._last = 0, time.monotonic()

    @functools.cached_property
    def _scheduler(self) -> Scheduler:
        return Scheduler(connect(self._engine, self._request), self._messages.put, REFERENCE)

    @functools.cached_property
    def described(self) -> Mapping[str, Any]:
        """The description of the first worker's device. Raises MmcoreError if there is no worker."""
        try:
            description: Mapping[str, Any] = self._wait_for(self._scheduler.start())
        except BaseException:  # Ctrl-C too
            self._scheduler.close()
            raise
        return description

    def submit(self, cells: Mapping[str, tuple[Cell, str]], folder: Path | None) -> None:
        """Start to measure cells with groups, by test; ``folder`` contains the journals of interrupted runs."""
        for test, (cell, group) in cells.items():
            self._futures[test] = self._scheduler.add(cell, test if self._ignores_groups else group)
        self._scheduler.start()
        run = hashlib.sha256("\n".join(sorted(cells)).encode()).hexdigest()[:16]
        self._scheduler.begin(folder and folder / f"{run}.jsonl")

    def result(self, test: str, cell: Cell) -> Result:
        if test not in self._futures:
            self._futures[test] = self._scheduler.add(cell, test)
        result: Result = self._wait_for(self._futures[test])
        return result

    def _wait_for(self, future: Future[Any]) -> Any:
        """Wait for a future while printing messages and progress, and return its result."""
        while wait([future], timeout=_POLL_SECONDS).not_done:
            self._print_messages()
            # Cells are not measured in the order of the tests.
            if time.monotonic() > self._last + _PATIENCE_SECONDS and (done := self._done) > self._printed:
                self._printed, self._last = done, time.monotonic()
                self._say(f"mmcore: {done} of {len(self._futures)} cells are measured")
        self._print_messages()
        return future.result()

    def _print_messages(self) -> None:
        while not self._messages.empty():
            self._say(f"mmcore: {self._messages.get()}")

    @property
    def can_resume(self) -> bool:
        """True if the same command can resume this run after an interruption."""
        return "_scheduler" in vars(self) and self._scheduler.can_resume

    @property
    def _done(self) -> int:
        """The number of cells that are measured, or cannot be."""
        done = (future for future in self._futures.values() if future.done())
        return sum(not isinstance(future.exception(), NotMeasured) for future in done)

    def report(self) -> list[str]:
        """Return sentences on the cells of each worker, and on how much the cards differ."""
        self._print_messages()
        return self._scheduler.report()

    def close(self, reported: Set[str]) -> None:
        """End all workers, and keep the journal unless all tests have been ``reported``."""
        if "_scheduler" not in vars(self):
            return
        done = self._done
        complete = self._futures.keys() <= reported and done == len(self._futures)
        if not complete:
            rest = "; the same command resumes from there" if self.can_resume else ""
            self._say(f"mmcore: {done} of {len(self._futures)} cells are measured{rest}")
        self._scheduler.close(complete=complete)
