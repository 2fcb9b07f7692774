"""The process that ncu watches: ``python -m mmcore_cuda.ncu.under_ncu CELLS.json LAUNCHED.json``.

It makes the launches of each cell once. ncu only counts between the profiler's start and stop, so that the preparation
of a launch is not counted.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from cuda.bindings import driver

from mmcore.cell import Cell
from mmcore.devices.base import Device
from mmcore.errors import KernelError, MmcoreError
from mmcore.executor.choose_device import open_device
from mmcore.measure import prepared_cell
from mmcore_emulator.adapter.launch_facts import Launched


def main(cells_file: Path, launched_file: Path) -> None:
    """Make every launch of every cell, and write the launches or the error."""
    try:
        cells = map(Cell.from_json, json.loads(cells_file.read_text()))
        answer: dict[str, Any] = {"launched": [launch(cell, open_device(cell.device)) for cell in cells]}
    except MmcoreError as error:
        answer = {"error": str(error)}
    launched_file.write_text(json.dumps(answer))


def launch(cell: Cell, device: Device) -> dict[str, Any]:
    """Launch one product under the profiler, and return the launch."""
    with prepared_cell(cell, device) as loaded:
        driver.cuProfilerStart()
        violations = loaded.run()
        driver.cuProfilerStop()
        launched = Launched.of(loaded)
    if violations:
        raise KernelError(f"{launched.kernel}: {violations[0]}")
    return {**launched.to_json(), "device_description": f"{device.description}, counted by ncu"}


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
