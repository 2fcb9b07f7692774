"""One case, measured in its own process: ``python -m bench.studies.scale.case CASE``; case and figures are JSON."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from bench.studies.scale import stand_in
from bench.studies.study import ROOT
from mmcore.result import Result
from mmcore_engines import Engine, Request, Scheduler, connect
from mmcore_engines.tasks import MEASURE
from tests.command_line import install

AT_ONCE = "bench.studies.scale.stand_in:at_once"
CONFIGS = 10  # of two kernels, which are compared for each size
_SELECTION = ("--mm-kernel", "upc.kernel01,upc.kernel11", "--mm-block", "2,4,8,16,32", "--mm-size")


def main() -> None:
    """Measure the case of the command line and print its figures."""
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    case = json.loads(sys.argv[1])
    print(json.dumps(of_pytest(case) if "pytest" in case else of_engine(case)))


def of_engine(case: Mapping[str, Any]) -> dict[str, Any]:
    """Return the head's costs of a case with an engine, whose workers measure groups of so many cells together."""
    engine, target = _engine(case)
    spread = Scheduler(engine, lambda text: print(text, file=sys.stderr))
    spread.start().result()
    while spread.workers < case["workers"]:
        time.sleep(0.01)
    several = stand_in.cells(case["cells"])
    futures = [spread.add(cell, str(number // case["group"]), target) for number, cell in enumerate(several)]
    queued = _resident()
    with tempfile.TemporaryDirectory() as folder:
        journal = Path(folder) / "journal.jsonl"
        began, processor = time.monotonic(), time.process_time()
        spread.begin(journal)
        results = [future.result() for future in futures]
        ended, spent = time.monotonic(), time.process_time() - processor
        kept = journal.stat().st_size
        resident = _resident()
        spread.close()
    count = len(results)
    found = {
        "seconds": ended - began,
        "head_cpu_ms": 1e3 * spent / count,
        "held_kib": (resident - queued) / count / 1024,
        "peak_mib": _peak_kib() / 1024,
        "journal_bytes": kept / count,
    }
    return found | (_of_gpus(case, results, began) if case["engine"] == "stand-ins" else {})


def of_pytest(case: Mapping[str, Any]) -> dict[str, Any]:
    """Return the costs of pytest as the head, which only collects, or has workers that answer at once."""
    rounds = case.get("rounds", stand_in.ROUNDS)
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
        path = os.pathsep.join([str(folder / "site"), str(ROOT)])
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


def _engine(case: Mapping[str, Any]) -> tuple[Engine, str]:
    if case["engine"] == "stand-ins":
        seconds = stand_in.durations(case["cells"], case.get("slower", 1))
        return stand_in.RayStandIns(case["workers"], seconds), MEASURE
    if case["engine"] == "instant":
        rounds = case.get("rounds", stand_in.ROUNDS)
        return stand_in.Instant(Request(address=f"{case['workers']},{rounds}")), MEASURE
    if case["engine"] == "ray":
        import ray

        ray.init(num_cpus=case["workers"], include_dashboard=False, log_to_driver=False, logging_level="ERROR")
        return connect("ray", Request("emulator")), AT_ONCE
    return connect(case["engine"], Request(",".join(["emulator"] * case["workers"]))), AT_ONCE


def _of_gpus(case: Mapping[str, Any], results: Sequence[Result], began: float) -> dict[str, Any]:
    """Return the makespan, and the time from a GPU's becoming free to its next cell."""
    free = [1e3 * value for result in results if (value := result.figures["free"])]
    return {
        "makespan": max(float(result.figures["ended"] or 0) for result in results) - began,
        "free_ms": median(free),
        "free_ms_95": sorted(free)[int(0.95 * len(free))],
    }


def _peak_kib() -> int:
    """Return the peak memory of this process; getrusage would include its parent's at the fork."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM:")))


def _resident() -> int:
    """Return the resident bytes of this process."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * resource.getpagesize()


if __name__ == "__main__":
    main()
