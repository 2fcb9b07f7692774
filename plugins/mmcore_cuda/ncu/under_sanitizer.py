"""The process that compute-sanitizer watches: ``python -m mmcore_cuda.ncu.under_sanitizer CELL.json LAUNCHED.json``.

It launches one cell. Its matrices have no guard zones, because accesses to those would look valid.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from mmcore.cell import Cell
from mmcore.errors import MmcoreError
from mmcore.executor.choose_device import open_device
from mmcore.measure import prepared_cell
from mmcore_cuda import guarded_memory
from mmcore_emulator.adapter.launch_facts import Launched


def main(cell_file: Path, launched_file: Path) -> None:
    """Launch the cell, and write the launch or the error."""
    guarded_memory.GUARD_BYTES = 0
    cell = Cell.from_json(json.loads(cell_file.read_text()))
    try:
        device = open_device(cell.device)
        with prepared_cell(cell, device) as loaded:
            answer: dict[str, Any] = Launched.of(loaded).to_json()
            launched_file.write_text(json.dumps(answer))
            loaded.run()
    except MmcoreError as error:
        if not launched_file.exists():
            launched_file.write_text(json.dumps({"error": str(error)}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
