"""A run's cells on an engine: all are handed out when the first test begins, and each test waits for its own."""

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
"""What each card measures first, so that cards can be compared."""

_PATIENCE_SECONDS = 10.0  # after which the user is told how far the others are
_POLL_SECONDS = 0.5


class Measuring:
    """The engine of a run, which starts when something is asked of a worker.

    Attributes:
        device: what was asked for.
        local: the first of this machine's devices that its workers have; empty where the workers alone know theirs.

    Raises:
        MmcoreError: there is no such engine, or no such device of this machine.
    """

    def __init__(self, selection: Selection, say: Callable[[str], None]) -> None:
        self.device = selection.device
        self._spreads = selection.spread
        self._engine = selection.engine
        self._request = Request("all" if selection.device == "auto" else selection.device, selection.engine_address)
        is_local = getattr(engine_named(self._engine), "local", False)
        self.local = self._request.local_devices()[0] if is_local else ""
        # Told by pytest's own thread: from another it could end in what is captured of a test.
        self._said: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._say = say
        self._futures: dict[str, Future[Any]] = {}
        self._told, self._last = 0, time.monotonic()

    @functools.cached_property
    def _spread(self) -> Scheduler:
        return Scheduler(connect(self._engine, self._request), self._said.put, REFERENCE)

    @functools.cached_property
    def described(self) -> Mapping[str, Any]:
        """What the first worker says of its device; :class:`MmcoreError` where there is no worker."""
        try:
            found: Mapping[str, Any] = self._wait_for(self._spread.start())
        except BaseException:  # Ctrl-C too
            self._spread.close()
            raise
        return found

    def submit(self, cells: Mapping[str, tuple[Cell, str]], folder: Path | None) -> None:
        """Have cells measured, given with their groups by test; in ``folder`` lies what an interrupted run has."""
        for test, (cell, group) in cells.items():
            self._futures[test] = self._spread.add(cell, test if self._spreads else group)
        self._spread.start()
        run = hashlib.sha256("\n".join(sorted(cells)).encode()).hexdigest()[:16]
        self._spread.begin(folder and folder / f"{run}.jsonl")

    def result(self, test: str, cell: Cell) -> Result:
        """The result of a test's cell, as soon as it is measured."""
        if test not in self._futures:
            self._futures[test] = self._spread.add(cell, test)
        found: Result = self._wait_for(self._futures[test])
        return found

    def _wait_for(self, future: Future[Any]) -> Any:
        """What a future gives; meanwhile the user is told what the spread says, and how far it is."""
        while wait([future], timeout=_POLL_SECONDS).not_done:
            self._tell()
            # Cells are not measured in the order of the tests.
            if time.monotonic() > self._last + _PATIENCE_SECONDS and (done := self._done) > self._told:
                self._told, self._last = done, time.monotonic()
                self._say(f"mmcore: {done} of {len(self._futures)} cells are measured")
        self._tell()
        return future.result()

    def _tell(self) -> None:
        while not self._said.empty():
            self._say(f"mmcore: {self._said.get()}")

    @property
    def keeps(self) -> bool:
        """Whether the same command goes on from where this run is interrupted."""
        return "_spread" in vars(self) and self._spread.keeps

    @property
    def _done(self) -> int:
        """How many cells are measured, or cannot be."""
        done = (future for future in self._futures.values() if future.done())
        return sum(not isinstance(future.exception(), NotMeasured) for future in done)

    def report(self) -> list[str]:
        """A sentence each on who measured what, and how much the cards differ."""
        self._tell()
        return self._spread.report()

    def close(self, reported: Set[str]) -> None:
        """End all workers; what a run has measured stays where the next one finds it, unless it is whole.

        Args:
            reported: the tests that have been run.
        """
        if "_spread" not in vars(self):
            return
        done = self._done
        whole = self._futures.keys() <= reported and done == len(self._futures)
        if not whole:
            rest = "; the same command goes on from there" if self.keeps else ""
            self._say(f"mmcore: {done} of {len(self._futures)} cells are measured{rest}")
        self._spread.close(whole=whole)
