"""What a measured cell is known by: everything that its time depends on, so that it is measured once and not twice."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import mmcore
from mmcore.pytest_plugin.cells import Cell
from mmcore.compile.compiler import source_texts
from mmcore.devices.base import Device
from mmcore.compile.nvrtc import nvrtc_version
from mmcore.planning.plan import plan
from mmcore_experiments.preset import Sweep


def cell_key(cell: Cell, device: Device, sweep: Sweep) -> str:
    """A digest of code, launches, compiler, device and way of measuring.

    The code is the text of the kernel's source and of the headers beside it; of the launch rule it is what the rule
    comes to for this cell. The device is known by its facts, as in every comparison of results: another GPU of the same
    name, clock and driver is the same device.

    Raises:
        MmcoreError: the launch is refused, or the source cannot be read.
    """
    kernel, problem, block = cell.point
    planned = plan(kernel, problem, block, device.limits)
    known_by: Mapping[str, Any] = {
        "cell": cell.id,
        "dtypes": [kernel.dtype, kernel.accumulator, kernel.output, kernel.operation],
        "sources": source_texts(kernel),
        "entries": planned.entries,
        "arguments": kernel.arguments,
        "launches": [asdict(launch) for launch in planned.launches],
        "defines": {name: kernel.expand(value, problem, block) for name, value in kernel.defines.items()},
        "options": [kernel.expand(option, problem, block) for option in kernel.options],
        "architecture": kernel.architecture or device.architecture,
        "device": dict(device.facts),
        "nvrtc": nvrtc_version(),
        "mmcore": mmcore.__version__,
        "rounds": [sweep.max_time, sweep.min_rounds],
    }
    return hashlib.sha256(json.dumps(known_by, sort_keys=True, default=repr).encode()).hexdigest()
