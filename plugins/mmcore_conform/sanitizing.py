"""A case on a device that watches every access: hazards, and how much of a declared over-read is needed."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from mmcore.cell import Cell
from mmcore.devices.base import Device
from mmcore.devices.choose import device_name
from mmcore.errors import MmcoreError
from mmcore.executor import run
from mmcore.kernel.arguments import MATRICES
from mmcore.measure import Phases
from mmcore.registry import registry
from mmcore_conform.running import planned_cell, property_of
from mmcore_emulator.sanitizer.check import check_cell
from mmcore_emulator.sanitizer.over_read import over_read_elements
from mmcore_emulator.sanitizer.protocols import CheckingDevice


@functools.cache
def sanitizing_device(device: str) -> str:
    """The device itself if it has a sanitizer, else the first here that has; empty where none has."""
    for spec in (device, *registry().providers):
        try:
            name = device_name(spec)
            if run(name, "mmcore_conform.sanitizing:can_sanitize"):
                return name
        except MmcoreError:
            continue
    return ""


def can_sanitize(device: Device, phases: Phases) -> bool:
    """Whether a device has a sanitizer."""
    return isinstance(device, CheckingDevice)


def sanitize_case(device: Device, phases: Phases, values: Mapping[str, Any]) -> dict[str, Any]:
    """Run a cell under a sanitizer.

    Returns:
        "failures", pairs of a property and a reason; "declared", elements that the launches declare to read past each
        matrix, if any; "needed", elements that they read there.

    Raises:
        MmcoreError: the device cannot run the kernel, or the time limit was reached.
    """
    cell = Cell.from_json(values)
    with phases("plan"):
        planned = planned_cell(cell, device)
    declared = {matrix: planned.over_read(matrix) for matrix in MATRICES if planned.over_read(matrix)}
    with phases("sanitize"):
        violations = check_cell(cell, device).violations
        needed = over_read_elements(planned, device, cell.seed or 0) if declared else {}
    failures = [(property_of(each.kind, each.array, planned), str(each)) for each in violations]
    return {"failures": failures, "declared": declared, "needed": needed}
