"""The launches of a registered kernel on the emulator, and the functions that they run."""

from __future__ import annotations

from dataclasses import replace

from mmcore.cell import Cell
from mmcore.kernel.declaration import Kernel
from mmcore.planning.plan import Plan, plan_cell
from mmcore_emulator.adapter.conversions import capability_properties
from mmcore_emulator.isa.architectures import CAPABILITIES


def emulated_plan(cell: Cell, kernel: Kernel) -> Plan:
    """Return the plan of a cell on the emulator. Raises MmcoreError if its launch is refused."""
    return plan_cell(cell, capability_properties(CAPABILITIES["emulator"]), kernel)


def launched_functions(planned: Plan) -> list[Kernel]:
    """Return the kernel with the name and the arguments of each of its launched functions, each function once."""
    arguments = {planned.entry(launch): planned.arguments(launch) for launch in planned.launches}
    return [replace(planned.kernel, entry=entry, arguments=each) for entry, each in arguments.items()]
