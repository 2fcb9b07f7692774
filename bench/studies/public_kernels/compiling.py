"""Compiling a kernel in a worker process, so that a compiler that crashes costs only that kernel."""

from __future__ import annotations

from typing import Any

from mmcore.cell import Cell
from mmcore.compile.compiler import compile_plan
from mmcore.devices.base import Device
from mmcore.measure import Phases
from mmcore.planning.plan import plan_cell


def compiled(device: Device, phases: Phases, cell: dict[str, Any]) -> dict[str, Any]:
    """The registers, and the bytes spilled, of each function that a cell launches."""
    with phases("plan"):
        planned = plan_cell(Cell.from_json(cell), device.properties)
    with phases("compile"):
        module = compile_plan(planned, device.architecture)
    return {name: [function.registers, function.spill_bytes] for name, function in module.functions.items()}
