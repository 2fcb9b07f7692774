"""The measurement of every case, a few times, each in its own process."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bench.studies.scale import stand_in
from bench.studies.study import write

REPETITIONS = 2
LARGE = 10_000  # cases with so many cells are measured once
CELLS_PER_GPU = 24
_COUNTS = (1, 2)
CASES: tuple[Mapping[str, Any], ...] = (
    *({"engine": "stand-ins", "workers": count, "cells": CELLS_PER_GPU * count, "group": 1} for count in (8, 64, 256)),
    # Cells that take twice as long, because two processors are not enough for 256 GPUs and their head.
    {"engine": "stand-ins", "workers": 256, "cells": CELLS_PER_GPU * 128, "group": 1, "slower": 2},
    {"engine": "stand-ins", "workers": 64, "cells": CELLS_PER_GPU * 64, "group": 8},
    *({"engine": "instant", "workers": count, "cells": 2000, "group": 1} for count in (8, 64, 256, 1000)),
    {"engine": "instant", "workers": 1000, "cells": 2000, "group": 20},
    {"engine": "instant", "workers": 8, "cells": 2000, "group": 1, "rounds": stand_in.USUAL_ROUNDS},
    *({"engine": "processes", "workers": count, "cells": 10_000, "group": 1} for count in _COUNTS),
    *({"engine": "ray", "workers": count, "cells": 10_000, "group": 1} for count in _COUNTS),
    *({"pytest": "collect", "cells": count, "workers": 0} for count in (1000, 10_000)),
    {"pytest": "measure", "cells": 1000, "workers": 8},
    *({"pytest": "measure", "cells": count, "workers": 8, "rounds": stand_in.USUAL_ROUNDS} for count in (1000, LARGE)),
)


def main(results: Path) -> None:
    """Measure the cases that the file does not have yet, and write it after each."""
    known = json.loads(results.read_text(encoding="utf-8"))["cases"] if results.exists() else []
    rows = {_key(row["case"]): row for row in known}
    for case in CASES:
        if _key(case) not in rows:
            rows[_key(case)] = _row(case)
            print(json.dumps(rows[_key(case)]), flush=True)
            ordered = [rows[_key(each)] for each in CASES if _key(each) in rows]
            write(results, {**_machine(), "bytes": _bytes()}, cases=ordered)


def _key(case: Mapping[str, Any]) -> str:
    return json.dumps(case, sort_keys=True)


def _row(case: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fastest repetition of a case, which was disturbed least."""
    found = []
    for _ in range(1 if case["cells"] >= LARGE else REPETITIONS):
        command = [sys.executable, "-m", "bench.studies.scale.case", json.dumps(case)]
        printed = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout
        found.append(json.loads(printed.splitlines()[-1]))  # Ray may print something before
    best = min(found, key=lambda each: each["seconds"])
    return {"case": case, **{name: float(f"{value:.5g}") for name, value in best.items()}}


def _bytes() -> dict[str, int]:
    """Return the sizes of a request with the next four cells, and of answers, as they are sent."""
    cell, *ahead = (each.to_json() for each in stand_in.cells(5))
    request = {"target": stand_in.__name__, "arguments": [cell], "timeout": 600, "ahead": ahead}
    answers = {f"answer, {rounds} rounds": {"result": stand_in.result_values(rounds)} for rounds in (0, 330, 1000)}
    return {name: len(json.dumps(each).encode()) for name, each in {"request": request, **answers}.items()}


def _machine() -> dict[str, Any]:
    import ray

    model = next(line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name"))
    software = {"python": platform.python_version(), "ray": ray.__version__}
    machine = {"processor": model.partition(": ")[2], "processors": os.cpu_count(), **software}
    return {"machine": machine, "figures": "of the fastest repetition"}
