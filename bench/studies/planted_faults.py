"""Faults planted in the kernels of tests/emulator/planted, as ``mmcore check`` and compute-sanitizer find them.

It needs a GPU. A kernel that waits forever on the GPU is ended at the time limit, and counts as not judged.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

from bench.studies.study import machine_info, printed_rows, write
from mmcore.cell import Cell
from mmcore.errors import MmcoreError, TimeLimit
from mmcore.executor.choose_device import open_device
from mmcore_cuda.ncu.compute_sanitizer import check_by_compute_sanitizer
from tests.emulator.planted.faults import FAULTS
from tests.emulator.planted.kernels import KERNELS, SIZES
from tests.emulator.test_planted import findings

LIMIT = 25
"""The time limit of each of compute-sanitizer's tools, in seconds."""


def main(results: Path, *, jobs: int = 1) -> None:
    """Check each fault in both ways, print a line for it, and write the rows."""
    rows = list(printed_rows(checked, range(-len(KERNELS), len(FAULTS)), jobs))
    write(results, machine_info(open_device("cuda").facts), rows=rows)


def checked(number: int) -> dict[str, Any]:
    """Return what both find in a fault, by its number; negative numbers are the kernels without a fault."""
    with tempfile.TemporaryDirectory() as folder:
        if number < 0:
            kernel, kind, name = list(KERNELS.values())[number], "none", ""
        else:
            kernel, kind, name = FAULTS[number].planted(Path(folder)), FAULTS[number].kind, FAULTS[number].name
        short = kernel.name.partition(".")[2]
        row = {"kernel": short, "kind": kind, "fault": name, "check": sorted({each.kind for each in findings(kernel)})}
        module = Path(folder) / "planted_here.py"
        # Another process imports the kernel from this module.
        module.write_text(
            "from dataclasses import replace\nfrom pathlib import Path\n"
            "from tests.emulator.planted.kernels import KERNELS\n"
            f"KERNEL = replace(KERNELS[{short!r}], source=Path({str(kernel.source)!r}))\n"
        )
        row["sanitizer"] = _sanitized(f"{module.stem}:KERNEL", folder, SIZES[short])
    return row


def _sanitized(kernel: str, folder: str, sizes: tuple[int, int, int]) -> list[str] | str:
    """Return the kinds of compute-sanitizer's findings, or the reason why it has none."""
    os.environ["PYTHONPATH"] = os.pathsep.join([folder, str(Path.cwd())])
    try:
        check = check_by_compute_sanitizer(Cell(kernel, *sizes, device="cuda:0", timeout=LIMIT))
    except TimeLimit:
        return "had not ended"
    except MmcoreError as error:
        return str(error).splitlines()[0]
    return sorted({each.kind for each in check.violations})
