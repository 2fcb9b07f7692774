"""A run's cells on an engine: all are handed out when the first test begins, and each test waits for its own."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from concurrent.futures import Future, wait
from pathlib import Path
from typing import Any

from mmcore.cell import Cell, Timing
from mmcore.result import Result
from mmcore_engines import Request, Spread, connect
from mmcore_pytest.options import Selection

REFERENCE = Cell("upc.kernel11", 2048, 2048, 2048, timings=(Timing(max_seconds=0.2),), timeout=60)
"""What each card measures first, so that cards can be compared."""

_PATIENCE_SECONDS = 10.0  # after which the user is told how far the others are


class Measuring:
    """The engine of a run.

    Attributes:
        device: what was asked for.
        described: what the first worker says of its device.

    Raises:
        MmcoreError: there is no such engine, or it has no worker.
    """

    def __init__(self, selection: Selection, say: Callable[[str], None]) -> None:
        self.device = selection.device
        self._spreads = selection.spread
        request = Request("all" if selection.device == "auto" else selection.device, selection.engine_address)
        self._spread = Spread(connect(selection.engine, request), lambda text: say(f"mmcore: {text}"), REFERENCE)
        self._say = say
        self._futures: dict[str, Future[Any]] = {}
        self._told = 0
        self.described: Mapping[str, Any] = self._spread.start()

    def hand_out(self, cells: Mapping[str, tuple[Cell, str]], folder: Path | None) -> None:
        """Have cells measured, given with their groups by test; in ``folder`` lies what an interrupted run has."""
        for test, (cell, group) in cells.items():
            self._futures[test] = self._spread.add(cell, test if self._spreads else group)
        run = hashlib.sha256("\n".join(sorted(cells)).encode()).hexdigest()[:16]
        self._spread.begin(folder and folder / f"{run}.jsonl")

    def result(self, test: str, cell: Cell) -> Result:
        """The result of a test's cell, as soon as it is measured."""
        if test not in self._futures:
            self._futures[test] = self._spread.add(cell, test)
        while wait([self._futures[test]], timeout=_PATIENCE_SECONDS).not_done:
            # Cells are not measured in the order of the tests.
            if (done := self._done) > self._told:
                self._told = done
                self._say(f"mmcore: {done} of {len(self._futures)} cells are measured")
        found: Result = self._futures[test].result()
        return found

    @property
    def _done(self) -> int:
        return sum(future.done() for future in self._futures.values())

    def report(self) -> list[str]:
        """A sentence each on who measured what, and how much the cards differ."""
        return self._spread.report()

    def close(self, *, interrupted: bool) -> None:
        """End all workers; what an interrupted run has measured stays where the next one finds it."""
        done = self._done
        if interrupted:
            self._say(f"mmcore: {done} of {len(self._futures)} cells are measured; the same command goes on from there")
        self._spread.close(whole=not interrupted and done == len(self._futures))
