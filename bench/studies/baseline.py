"""Measure this machine's baseline: the results that are committed under bench/results/, and the tables' source.

``python -m bench.studies.baseline FOLDER`` runs everything below and writes one pytest-benchmark JSON each, without the
raw rounds; ``python -m bench.studies.baseline FOLDER NAME…`` runs only some. It needs a GPU.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from bench.studies.results_file import results_text

ROOT = Path(__file__).parents[2]
SIZES = "640,641,1024,2048,3200"
EVERYTHING = ("--mm-size", SIZES, "--mm-measure", "kernel,end-to-end", "--mm-memory", "pageable,pinned")

RUNS = {
    # Kernel and end-to-end times of everything but poznan.v1, whose one block takes half a minute at 3200.
    "baseline": (*EVERYTHING, "-k", "test_kernel and not poznan.v1", "--benchmark-max-time=0.2"),
    "poznan-v1": (*EVERYTHING, "--mm-kernel", "poznan.v1", "-k", "test_kernel", "--benchmark-min-rounds=1",
                  "--benchmark-max-time=0.2"),
    # The sizes at which the lectures published figures and the baseline has none.
    "lectures": ("--mm-size", "128,176,256,352,384,500,512,528", "--mm-kernel", "poznan.*,unsa.*", "-k", "test_kernel",
                 "--benchmark-max-time=0.2"),
    # How far the lectures' kernels are from the library.
    "of-cublas": ("--mm-size", "640,3200", "--mm-kernel", "hpsee.*,lezione9.*,poznan.*,unsa.*,upc.*",
                  "-k", "test_kernel and not poznan.v1", "--benchmark-max-time=0.2"),
    "cold": ("--mm-size", "640", "--mm-cold", "-k", "test_kernel and not poznan.v1"),
}  # fmt: skip


def measure(name: str, folder: Path) -> None:
    """One run, written to ``folder/name.json``.

    Raises:
        SystemExit: a cell failed; what was measured is written all the same.
    """
    with tempfile.TemporaryDirectory() as temporary:
        raw = Path(temporary) / "raw.json"
        command = [sys.executable, "-m", "pytest", "bench", *RUNS[name], f"--benchmark-json={raw}"]
        status = subprocess.run([*command, "--benchmark-columns=median,iqr,rounds"], cwd=ROOT, check=False).returncode
        document = json.loads(raw.read_text())
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.json").write_text(slim(document))
    if status:
        raise SystemExit(status)


def slim(document: dict[str, Any]) -> str:
    """The document without its rounds and the measuring host's checkout, a benchmark on each line."""
    benchmarks = document.pop("benchmarks")
    for benchmark in benchmarks:
        benchmark["stats"].pop("data", None)
    document["commit_info"] = {}
    return results_text(document, benchmarks=benchmarks)


def main(arguments: list[str]) -> None:
    """The command line."""
    unknown = [name for name in arguments[1:] if name not in RUNS]
    if not arguments or unknown:
        raise SystemExit(f"usage: python -m bench.studies.baseline FOLDER [{'|'.join(RUNS)}]…")
    for name in arguments[1:] or RUNS:
        measure(name, Path(arguments[0]))


if __name__ == "__main__":
    main(sys.argv[1:])
