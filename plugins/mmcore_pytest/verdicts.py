"""The verdicts on a run's cells: one thread measures, others look for hazards, and the tests wait for both."""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

from mmcore.cell import Cell
from mmcore.executor import measure_cell
from mmcore.kernel.declaration import Kernel
from mmcore.result import Result
from mmcore.verdict import judged
from mmcore_engines.device_worker import AHEAD as COMPILED
from mmcore_engines.device_worker import AheadCompiler

_CORES_OF_MEASURING = 4  # from which other processes do not disturb a measurement of device time


@dataclass(frozen=True)
class Ahead:
    """The work that is done before the tests of cells begin.

    Attributes:
        cells: the number of cells that are measured and judged; with 0, nothing runs beside a measurement.
        judges: the number of processes that look for hazards.
    """

    cells: int
    judges: int = 1

    @classmethod
    def on_device(cls, *, supports_timing: bool) -> Ahead:
        """Return as much as does not disturb the measurements on this machine."""
        cores = os.cpu_count() or 1
        if not supports_timing:
            return cls(8)
        return cls(32, min(cores // 4, 4)) if cores >= _CORES_OF_MEASURING else cls(0)


def with_hazards(result: Result, kernel: Kernel) -> Result:
    """Return a verified result with the hazards of its kernel, and with the host seconds of the search as a phase."""
    if not result.verified:
        return result
    begin = time.perf_counter()
    result = judged(result, kernel, "hazards")
    return replace(result, phases={**result.phases, "hazards": time.perf_counter() - begin})


def with_reading(result: Result, kernel: Kernel) -> Result:
    """Return a verified result with the verdict for the usual reading of its kernel's source, without hazards."""
    return judged(result, kernel, "product") if result.verified else result


class Verdicts:
    """The judged results of cells: a worker process measures them, others compile ahead and look for hazards.

    Args:
        cells: the cells and their kernels, by test, in the order of the tests.
        ahead: the work to do before the tests begin.
        wait: waits for a future and returns its result; called with the test too.
        described: the device, as :func:`mmcore_engines.device_worker.describe` returns it.
    """

    def __init__(
        self,
        cells: Mapping[str, tuple[Cell, Kernel]],
        ahead: Ahead,
        wait: Callable[[str, Future[Result]], Result],
        described: Mapping[str, Any],
    ) -> None:
        self._cells, self._ahead, self._wait = cells, ahead, wait
        self._tests = list(cells)
        self._measuring = ThreadPoolExecutor(1, "measure")
        self._judging = [ThreadPoolExecutor(1, "judge") for _ in range(ahead.judges)]
        # One judge has all cells of a kernel: after the first of them, it knows the code.
        kernels = dict.fromkeys(kernel.name for _, kernel in cells.values())
        self._judges = dict(zip(kernels, itertools.cycle(self._judging), strict=False))
        self._compiler = AheadCompiler()
        self._compiler.described = described
        self._begun: dict[str, Future[Result]] = {}

    def result(self, test: str) -> Result:
        """Return the judged result of a test's cell, and begin the next cells. Raises what measuring it raises."""
        first = self._tests.index(test)
        for each in self._tests[first : first + 1 + self._ahead.cells]:
            if each not in self._begun:
                self._begun[each] = self._begin(each)
        return self._wait(test, self._begun.pop(test))

    def _begin(self, test: str) -> Future[Result]:
        kernel = self._cells[test][1]
        measured = self._measuring.submit(self._measured, test)
        return self._judges[kernel.name].submit(lambda: with_hazards(measured.result(), kernel))

    def _measured(self, test: str) -> Result:
        """Measure a cell while the next ones are compiled."""
        if self._ahead.cells:
            place = self._tests.index(test)
            cells = [self._cells[each][0] for each in self._tests[place + 1 : place + 1 + COMPILED]]
            self._compiler.compile([each.to_json() for each in cells], cells[0].timeout if cells else None)
        cell = self._cells[test][0]
        self._compiler.wait_for(cell.to_json())
        return measure_cell(cell)

    def close(self) -> None:
        """Begin no more cells."""
        self._compiler.end()
        for threads in (self._measuring, *self._judging):
            threads.shutdown(wait=False, cancel_futures=True)
