"""The key of a cell: a digest of everything that its time depends on, so that it is measured once and not twice."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import mmcore
from mmcore.cell import Cell
from mmcore.compile.compiler import compile_options
from mmcore.compile.fingerprint import fingerprint
from mmcore.compile.nvrtc import nvrtc_version
from mmcore.devices.base import Device
from mmcore.errors import ConstraintViolation, MmcoreError
from mmcore.measure import Phases
from mmcore.planning.plan import plan_cell


def cell_keys(device: Device, phases: Phases, cells: Sequence[Mapping[str, Any]]) -> list[tuple[str, str]]:
    """Of each cell ("key", its key), ("refused", why a constraint or the device forbids it), or ("failed", why)."""
    found = []
    for cell in map(Cell.from_json, cells):
        with phases("plan"):
            try:
                found.append(("key", cell_key(cell, device)))
            except ConstraintViolation as violation:
                found.append(("refused", "; ".join(violation.reasons)))
            except MmcoreError as error:
                found.append(("failed", str(error)))
    return found


def cell_key(cell: Cell, device: Device) -> str:
    """A digest of code, launches, compiler, device and timing; MmcoreError where the cell cannot be planned.

    The code is the text of the kernel's source, and what is known of the files that it can include. The device is known
    by its facts, as in every comparison of results: another GPU of the same name, clock and driver is the same device.
    """
    planned = plan_cell(cell, device.properties)
    kernel, problem = planned.kernel, cell.problem(planned.kernel)
    source, options = kernel.source_text(), compile_options(planned, device.architecture)
    known_by = [
        *(kernel.name, kernel.accumulator, problem, planned.config.to_json()),
        *(source, fingerprint(kernel.source, source, options), options, planned.entries),
        *([launch, planned.arguments(launch)] for launch in planned.launches),
        *(dict(device.facts), nvrtc_version(), mmcore.__version__, [asdict(timing) for timing in cell.timings]),
    ]
    return hashlib.sha256(json.dumps(known_by, sort_keys=True, default=repr).encode()).hexdigest()
