"""The key of a cell: a digest of everything that its time depends on, so that no cell is measured twice."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import mmcore
from mmcore.cell import Cell
from mmcore.compile.compiler import compiler_of
from mmcore.devices.base import Device
from mmcore.measure import Phases
from mmcore.planning.plan import plan_cell


def cell_key(device: Device, phases: Phases, values: Mapping[str, Any]) -> str:
    """Return a digest of code, launches, compiler, device, timing and baseline. Raises MmcoreError for no plan.

    The compiler's inputs identify the code, and the device's facts the device. Another GPU of the same name, clock and
    driver is the same device, as in every comparison of results.
    """
    cell = Cell.from_json(values)
    with phases("plan"):
        planned = plan_cell(cell, device.properties)
        kernel, problem = planned.kernel, cell.problem(planned.kernel)
        compiler = compiler_of(kernel)
        parts = [
            *(kernel.name, kernel.accumulator, problem, planned.config.to_json()),
            *(compiler.name, compiler.version(), compiler.inputs(planned, device.architecture), planned.entries),
            *([launch, planned.arguments(launch)] for launch in planned.launches),
            *(dict(device.facts), mmcore.__version__, [asdict(timing) for timing in cell.timings]),
            cell.baseline,
            *([cell.figures] if cell.figures else []),
        ]
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=repr).encode()).hexdigest()
