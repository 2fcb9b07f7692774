"""Names for worker processes: the function that compiles a kernel, and each kernel as an attribute, by its name.

A cell names a kernel by "module:attribute", and a compiler that crashes in a worker process costs only that kernel.
"""

from __future__ import annotations

from typing import Any

from mmcore import Kernel
from mmcore.cell import Cell
from mmcore.compile.compiler import compile_plan
from mmcore.devices.base import Device
from mmcore.measure import Phases
from mmcore.planning.plan import plan_cell


def compiled(device: Device, phases: Phases, cell: dict[str, Any]) -> dict[str, Any]:
    """Return the registers and the spilled bytes of each function that a cell launches."""
    with phases("plan"):
        planned = plan_cell(Cell.from_json(cell), device.properties)
    with phases("compile"):
        module = compile_plan(planned, device.architecture)
    return {name: [function.registers, function.spill_bytes] for name, function in module.functions.items()}


def __getattr__(name: str) -> Kernel:
    from bench.studies.public_kernels.corpus import KERNELS

    if name not in KERNELS:
        raise AttributeError(name)
    return KERNELS[name].located()
