"""The verdicts on a run's cells: one thread measures, another looks for hazards, and the tests wait for both."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace

from mmcore.cell import Cell
from mmcore.executor import measure_cell
from mmcore.kernel.declaration import Kernel
from mmcore.result import Result
from mmcore.verdict import judged

AHEAD = 8
"""The number of cells that are measured and judged before their tests begin, on a device without times."""


def with_hazards(result: Result, kernel: Kernel) -> Result:
    """Return a verified result with the hazards of its kernel, and with the host seconds of the search as a phase."""
    if not result.verified:
        return result
    begin = time.perf_counter()
    result = judged(result, kernel, "hazards")
    return replace(result, phases={**result.phases, "hazards": time.perf_counter() - begin})


class Verdicts:
    """The judged results of cells: one worker process measures them, another looks for hazards.

    Args:
        cells: the cells and their kernels, by test, in the order of the tests.
        ahead: the number of cells to begin before their tests; with 0, nothing runs beside a measurement.
        wait: waits for a future and returns its result; called with the test too.
    """

    def __init__(
        self, cells: Mapping[str, tuple[Cell, Kernel]], ahead: int, wait: Callable[[str, Future[Result]], Result]
    ) -> None:
        self._cells, self._ahead, self._wait = cells, ahead, wait
        self._tests = list(cells)
        self._measuring, self._judging = ThreadPoolExecutor(1, "measure"), ThreadPoolExecutor(1, "judge")
        self._begun: dict[str, Future[Result]] = {}

    def result(self, test: str) -> Result:
        """Return the judged result of a test's cell, and begin the next cells. Raises what measuring it raises."""
        first = self._tests.index(test)
        for each in self._tests[first : first + 1 + self._ahead]:
            if each not in self._begun:
                self._begun[each] = self._begin(*self._cells[each])
        return self._wait(test, self._begun.pop(test))

    def _begin(self, cell: Cell, kernel: Kernel) -> Future[Result]:
        measured = self._measuring.submit(measure_cell, cell)
        return self._judging.submit(lambda: with_hazards(measured.result(), kernel))

    def close(self) -> None:
        """Begin no more cells."""
        for threads in (self._measuring, self._judging):
            threads.shutdown(wait=False, cancel_futures=True)
