"""The times of every kernel on this machine's GPU, and of libraries: most tables in docs/ come from them.

It needs a GPU. The run "libraries" also needs nvmath-python and PyTorch: cuBLASLt's heuristic and tuned product take
turns with PyTorch, and kernels with themselves.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.studies.study import ROOT, machine_info, write
from mmcore.api import kernels
from mmcore.cell import Cell, Timing
from mmcore.devices.base import Device
from mmcore.executor.choose_device import open_device
from mmcore.measure import measure

SIZES = "640,641,1024,2048,3200"
EVERYTHING = ("--mm-size", SIZES, "--mm-measure", "kernel,end-to-end", "--mm-memory", "pageable,pinned")

RUNS = {
    # Kernel and end-to-end times of all kernels except poznan.v1, whose one block takes half a minute at 3200.
    "baseline": (*EVERYTHING, "-k", "test_kernel and not poznan.v1", "--benchmark-max-time=0.2"),
    "poznan-v1": (*EVERYTHING, "--mm-kernel", "poznan.v1", "-k", "test_kernel", "--benchmark-min-rounds=1",
                  "--benchmark-max-time=0.2"),
    # The sizes at which the lectures published figures and the baseline has none.
    "lectures": ("--mm-size", "128,176,256,352,384,500,512,528", "--mm-kernel", "poznan.*,unsa.*", "-k", "test_kernel",
                 "--benchmark-max-time=0.2"),
    # The lectures' kernels in percent of the library.
    "of-cublas": ("--mm-size", "640,3200", "--mm-kernel", "hpsee.*,lezione9.*,poznan.*,unsa.*,upc.*",
                  "-k", "test_kernel and not poznan.v1", "--benchmark-max-time=0.2"),
    "cold": ("--mm-size", "640", "--mm-cold", "-k", "test_kernel and not poznan.v1"),
}  # fmt: skip
LIBRARIES = "libraries"

TYPES = ("float32", "tf32", "float64", "float16", "bfloat16")
LIBRARY_SIZES = (1024, 4096, 8192)
# Kernels that take turns with a copy of their own source, and the sizes.
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


def main(folder: Path, names: Sequence[str] = (*RUNS, LIBRARIES)) -> None:
    """Make the runs of these names, all by default, and write a file for each into the folder."""
    for name in names:
        path = folder / f"{name}.json"
        if name == LIBRARIES:
            libraries(path)
        else:
            pytest_run(name, path)


def pytest_run(name: str, path: Path) -> None:
    """Make a run of pytest; write a benchmark on each line, without rounds and without the host's checkout.

    Raises:
        SystemExit: a cell failed; the others are written nevertheless.
    """
    with tempfile.TemporaryDirectory() as temporary:
        raw = Path(temporary) / "raw.json"
        command = [sys.executable, "-m", "pytest", "bench", *RUNS[name], f"--benchmark-json={raw}"]
        status = subprocess.run([*command, "--benchmark-columns=median,iqr,rounds"], cwd=ROOT, check=False).returncode
        document = json.loads(raw.read_text())
    benchmarks = document.pop("benchmarks")
    for benchmark in benchmarks:
        benchmark["stats"].pop("data", None)
    write(path, {**document, "commit_info": {}}, benchmarks=benchmarks)
    if status:
        raise SystemExit(status)


def libraries(path: Path) -> None:
    """Compare libraries with each other and kernels with themselves, and write the figures."""
    opened = open_device("cuda")
    pairs = [
        _compared(opened, kernel, n, baseline=other)
        for n in LIBRARY_SIZES
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
    write(path, machine_info(opened.facts), libraries=pairs, themselves=themselves)


def _compared(device: Device, kernel: str, n: int, **other: str) -> dict[str, Any]:
    """Return a kernel's rate, and its comparison with the kernel that it takes turns with."""
    result = measure(Cell(kernel, n, n, n, timings=(TIMING,), **other), device)  # type: ignore[arg-type]
    if not result.verified or len(result.compared) != 1 or result.compared[0].time is None:
        raise SystemExit(f"{result}: {result.failures()} {result.compared}")
    (found,) = result.compared
    row = {"kernel": kernel, "n": n, "gflops": result.kernel_gflops, "other": found.kernel}
    row |= {"faster": found.faster, "interval": found.interval}
    print(json.dumps(row), flush=True)
    return row
