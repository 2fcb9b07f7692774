"""Measuring of cells: in worker processes, or in this process."""

from __future__ import annotations

import os
from collections import defaultdict
from typing import Any

from mmcore.cell import Cell
from mmcore.deadline import left
from mmcore.devices.violations import Violation
from mmcore.errors import DeviceLost, TimeLimit
from mmcore.executor.choose_device import device_name
from mmcore.executor.worker import call
from mmcore.executor.worker_client import WorkerProcess
from mmcore.kernel.declaration import Kernel
from mmcore.measure import Phases
from mmcore.result import Result

IN_PROCESS = "MMCORE_IN_PROCESS"
"""The environment variable that, set to 1, has everything done in the command's own process, for a debugger's sake."""

_idle: defaultdict[str, list[WorkerProcess]] = defaultdict(list)  # by device
_busy: list[WorkerProcess] = []


def run(device: str, target: str, *arguments: Any, kernel: Kernel | None = None, timeout: float | None = None) -> Any:
    """Call a function in a worker process of a device, and return its result.

    Calls from several threads at the same time have a process each.

    The function "module:function" gets the open device, a :class:`~mmcore.measure.Phases`, and the JSON-ready
    arguments. A ``kernel`` that has no name is the last argument; everything then happens in this process.

    Raises TimeLimit, DeviceLost if the process died, and what the function raises, as MmcoreError.
    """
    timeout = left(timeout)
    if kernel is not None or os.environ.get(IN_PROCESS) == "1":
        nameless = [] if kernel is None else [kernel]
        return call(device, target, [*arguments, *nameless], timeout, Phases())
    worker = _taken(device)
    try:
        return worker.ask(target, list(arguments), timeout)
    finally:
        _busy.remove(worker)
        if worker.alive:
            _idle[device].append(worker)


def _taken(device: str) -> WorkerProcess:
    """Return the last used idle worker process of a device, or a new one, as a busy one."""
    while _idle[device]:
        if (worker := _idle[device].pop()).alive:
            break
    else:
        worker = WorkerProcess(device)
    _busy.append(worker)
    return worker


def measure_cell(cell: Cell, *, kernel: Kernel | None = None) -> Result:
    """Return the result of a cell, measured in its device's worker process. Raises MmcoreError if it cannot be.

    A time limit reached, and a kernel that takes its process down, are results that are not verified. A ``kernel`` that
    has no name is measured in this process.
    """
    return _measured(cell, "measure_json", kernel)


def try_cell(cell: Cell, *, kernel: Kernel | None = None) -> Result:
    """Return the result of a cell as :func:`measure_cell` does, ignoring what the kernel prints."""
    return _measured(cell, "measure_quietly", kernel)


def _measured(cell: Cell, function: str, kernel: Kernel | None) -> Result:
    cell = cell.on(device_name(cell.device))
    target = f"mmcore.executor.worker:{function}"
    try:
        return Result.from_json(run(cell.device, target, cell.to_json(), kernel=kernel, timeout=cell.timeout))
    except (TimeLimit, DeviceLost) as error:
        return unfinished(cell, error)


def unfinished(cell: Cell, error: TimeLimit | DeviceLost) -> Result:
    """Return the result of a cell whose time limit was reached, or whose process died."""
    kind = "timeout" if isinstance(error, TimeLimit) else "process-death"
    name = cell.kernel if isinstance(cell.kernel, str) else str(cell.kernel["file"])
    return Result(cell, name, violations=(Violation(kind, str(error), fatal=True),))


def end_workers() -> None:
    """End every worker process. Later requests start new ones."""
    for worker in (*_busy, *(worker for workers in _idle.values() for worker in workers)):
        worker.end()
    _idle.clear()
