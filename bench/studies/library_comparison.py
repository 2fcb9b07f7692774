"""Libraries in turns with each other: cuBLASLt's heuristic and tuned product, PyTorch; and kernels with themselves.

``python -m bench.studies.library_comparison RESULTS.json`` measures and writes the figures; it needs a GPU,
nvmath-python and PyTorch. The tables in docs/measuring.md are made from the committed results by ``python -m
bench.studies.tables``.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

from mmcore.api import kernels
from mmcore.cell import Cell, Timing
from mmcore.devices.base import Device
from mmcore.executor.choose_device import open_device
from mmcore.measure import measure
from mmcore_pytest.saved_results import describe

TYPES = ("float32", "tf32", "float64", "float16", "bfloat16")
SIZES = (1024, 4096, 8192)
# Kernels held against a copy of their own source, with what they are measured at.
THEMSELVES = (
    ("upc.kernel01", 128),
    ("upc.kernel11", 640),
    ("upc.kernel11", 1024),
    ("poznan.v5", 640),
    ("lezione9.kernel2", 640),
    ("unsa.tiled", 2000),
)
REPETITIONS = 8
TIMING = Timing("kernel", "warm", max_seconds=0.5)


def main(path: Path) -> None:
    """Measure every pair and write the results."""
    opened = open_device("cuda")
    libraries = [
        _compared(opened, kernel, n, baseline=other)
        for n in SIZES
        for dtype in TYPES
        for kernel, other in (
            (f"cublas.{dtype}_heuristic", f"torch.{dtype}"),
            (f"cublas.{dtype}", f"cublas.{dtype}_heuristic"),
        )
    ]
    with tempfile.TemporaryDirectory() as folder:
        themselves = [
            _compared(opened, name, n, against=shutil.copy(kernels()[name].source, folder))
            for name, n in THEMSELVES
            for _ in range(REPETITIONS)
        ]
    machine: dict[str, Any] = {}
    describe(machine, opened.facts)
    document = {"machine_info": machine, "libraries": libraries, "themselves": themselves}
    path.write_text(json.dumps(document, indent=1) + "\n")


def _compared(device: Device, kernel: str, n: int, **other: str) -> dict[str, Any]:
    """A kernel's rate, and how it compares with another one, in turns."""
    result = measure(Cell(kernel, n, n, n, timings=(TIMING,), **other), device)  # type: ignore[arg-type]
    if not result.verified or len(result.compared) != 1 or result.compared[0].time is None:
        raise SystemExit(f"{result}: {result.failures()} {result.compared}")
    (found,) = result.compared
    values = {name: value for name, value in asdict(found).items() if name in ("faster", "interval")}
    row = {"kernel": kernel, "n": n, "gflops": result.kernel_gflops, "other": found.kernel, **values}
    print(json.dumps(row), flush=True)
    return row


if __name__ == "__main__":
    main(Path(sys.argv[1]))
