"""pytest as the head: its seconds, memory and files for so many cells, whose results are there at once."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bench.studies.scale.stand_in import ROUNDS
from tests.command_line import install

CONFIGS = 10  # of two kernels, which are compared for each size
_SELECTION = ("--mm-kernel", "upc.kernel01,upc.kernel11", "--mm-block", "2,4,8,16,32", "--mm-size")


def measured(case: Mapping[str, Any]) -> dict[str, Any]:
    """What a run of pytest costs.

    Args:
        case: ``{"pytest", "cells", "workers", "rounds"}``: "collect" or "measure"; how many cells, workers
            that answer at once, and rounds of a result.
    """
    rounds = case.get("rounds", ROUNDS)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        install(
            folder / "site", "instant-engine", "instant", "from bench.studies.scale.stand_in import mmcore_engines\n"
        )
        (folder / "test_kernels.py").write_text("def test_kernel(mm_benchmark):\n    mm_benchmark()\n")
        saved = folder / "results.json"
        options = [*_SELECTION, f"1:{case['cells'] // CONFIGS}", "-q"]
        if case["pytest"] == "collect":
            options += ["--collect-only", "--mm-device", "emulator"]
        else:
            options += ["--mm-engine", "instant", "--mm-engine-address", f"{case['workers']},{rounds}"]
            options += [f"--benchmark-json={saved}", "--mm-baseline", "none"]
        path = os.pathsep.join([str(folder / "site"), str(Path(__file__).parents[3])])
        began = time.monotonic()
        run = subprocess.Popen(
            [sys.executable, "-m", "pytest", "test_kernels.py", *options],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": path},
            stdout=subprocess.DEVNULL,
        )
        _, status, usage = os.wait4(run.pid, 0)
        if status:
            raise SystemExit(f"pytest failed: {case}")
        count = case["cells"]
        return {
            "seconds": time.monotonic() - began,
            "head_cpu_ms": 1e3 * (usage.ru_utime + usage.ru_stime) / count,
            "peak_mib": usage.ru_maxrss / 1024,
            "saved_bytes": saved.stat().st_size / count if saved.exists() else 0,
        }
