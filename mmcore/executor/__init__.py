"""Measuring of cells: in a worker process for each device, or in this process."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from mmcore.cell import Cell
from mmcore.devices.violations import Violation
from mmcore.errors import DeviceLost, TimeLimit
from mmcore.executor.choose_device import device_name
from mmcore.executor.worker import call
from mmcore.executor.worker_client import WorkerProcess
from mmcore.kernel.declaration import Kernel
from mmcore.result import Result

IN_PROCESS = "MMCORE_IN_PROCESS"
"""The environment variable that, set to 1, has everything done in the command's own process, for a debugger's sake."""

_workers: dict[str, WorkerProcess] = {}


def run(
    device: str,
    target: str,
    *arguments: Any,
    kernel: Kernel | None = None,
    timeout: float | None = None,
    begun: Callable[[str], None] | None = None,
) -> Any:
    """Call a function in the worker process of a device, and return its result.

    The function "module:function" gets the open device, a :class:`~mmcore.measure.Phases`, and the JSON-ready
    arguments. ``begun`` is called with the name of each phase as it begins. A ``kernel`` that has no name is the last
    argument; everything then happens in this process.

    Raises TimeLimit, DeviceLost if the process died, and what the function raises, as MmcoreError.
    """
    if kernel is not None or os.environ.get(IN_PROCESS) == "1":
        nameless = [] if kernel is None else [kernel]
        return call(device, target, [*arguments, *nameless], timeout, begun or (lambda phase: None))
    worker = _workers.get(device)
    if worker is None or not worker.alive:
        worker = _workers[device] = WorkerProcess(device)
    return worker.ask(target, list(arguments), timeout, begun)


def measure_cell(cell: Cell, begun: Callable[[str], None] | None = None, *, kernel: Kernel | None = None) -> Result:
    """Return the result of a cell, measured in its device's worker process. Raises MmcoreError if it cannot be.

    A time limit reached, and a kernel that takes its process down, are results that are not verified. A ``kernel`` that
    has no name is measured in this process.
    """
    cell = cell.on(device_name(cell.device))
    target = "mmcore.executor.worker:measure_json"
    try:
        values = run(cell.device, target, cell.to_json(), kernel=kernel, timeout=cell.timeout, begun=begun)
        return Result.from_json(values)
    except (TimeLimit, DeviceLost) as error:
        return unfinished(cell, error)


def unfinished(cell: Cell, error: TimeLimit | DeviceLost) -> Result:
    """Return the result of a cell whose time limit was reached, or whose process died."""
    kind = "timeout" if isinstance(error, TimeLimit) else "process-death"
    name = cell.kernel if isinstance(cell.kernel, str) else str(cell.kernel["file"])
    return Result(cell, name, violations=(Violation(kind, str(error), fatal=True),))


def end_workers() -> None:
    """End every worker process. Later requests start new ones."""
    for worker in _workers.values():
        worker.end()
    _workers.clear()
