"""Faults planted in the kernels of tests/emulator/planted, as ``mmcore check`` and compute-sanitizer find them.

``python -m bench.studies.planted_faults RESULTS.json [--jobs N]`` looks at each with both; it needs a GPU. Kernels that
wait in vain on the GPU are ended at the time limit, and count as not judged. The table in docs/emulator.md is made from
the committed results by ``python -m bench.studies.tables``.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from bench.studies.results_file import results_text
from mmcore.cell import Cell
from mmcore.errors import MmcoreError, TimeLimit
from mmcore.executor.choose_device import open_device
from mmcore_cuda.ncu.compute_sanitizer import check_by_compute_sanitizer
from mmcore_pytest.saved_results import describe
from tests.emulator.planted.faults import FAULTS
from tests.emulator.planted.kernels import KERNELS, SIZES
from tests.emulator.test_planted import findings

LIMIT = 25
"""Seconds for each of compute-sanitizer's tools."""


def main() -> None:
    """Look, print a line for each fault, and write the rows."""
    parser = argparse.ArgumentParser(prog="python -m bench.studies.planted_faults", description=__doc__)
    parser.add_argument("results", type=Path)
    parser.add_argument("--jobs", type=int, default=1)
    asked = parser.parse_args()
    numbers = range(-len(KERNELS), len(FAULTS))
    rows = []
    with ProcessPoolExecutor(asked.jobs, mp_context=get_context("spawn")) as pool:
        for row in pool.map(looked_at, numbers):
            print(json.dumps(row), flush=True)
            rows.append(row)
    machine: dict[str, Any] = {}
    describe(machine, open_device("cuda").facts)
    asked.results.write_text(results_text({"machine_info": machine}, rows=rows), encoding="utf-8")


def looked_at(number: int) -> dict[str, Any]:
    """What both find of a fault, by its number; of a kernel as it is, by its number less their count."""
    with tempfile.TemporaryDirectory() as folder:
        if number < 0:
            kernel, kind, name = list(KERNELS.values())[number], "none", ""
        else:
            kernel, kind, name = FAULTS[number].planted(Path(folder)), FAULTS[number].kind, FAULTS[number].name
        short = kernel.name.partition(".")[2]
        row = {"kernel": short, "kind": kind, "fault": name, "check": sorted({each.kind for each in findings(kernel)})}
        module = Path(folder) / "planted_here.py"
        # Another process finds the kernel by this name.
        module.write_text(
            "from dataclasses import replace\nfrom pathlib import Path\n"
            "from tests.emulator.planted.kernels import KERNELS\n"
            f"KERNEL = replace(KERNELS[{short!r}], source=Path({str(kernel.source)!r}))\n"
        )
        row["sanitizer"] = _sanitized(f"{module.stem}:KERNEL", folder, SIZES[short])
    return row


def _sanitized(kernel: str, folder: str, sizes: tuple[int, int, int]) -> list[str] | str:
    """Kinds of what compute-sanitizer finds, or why it does not judge."""
    os.environ["PYTHONPATH"] = os.pathsep.join([folder, str(Path.cwd())])
    try:
        check = check_by_compute_sanitizer(Cell(kernel, *sizes, device="cuda:0", timeout=LIMIT))
    except TimeLimit:
        return "had not ended"
    except MmcoreError as error:
        return str(error).splitlines()[0]
    return sorted({each.kind for each in check.violations})


if __name__ == "__main__":
    main()
