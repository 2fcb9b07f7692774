"""The emulator's counters beside ncu's, for every lecture kernel in each of its blocks at 640 or the next size allowed.

``python bench/counter_comparison.py RESULTS.json`` counts and writes both; it needs a GPU and NVIDIA's ncu. The table
in docs/why.md is made from the committed results by ``python bench/tables.py``.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from mmcore.api import device, kernels
from mmcore.benchmarking.machine import describe
from mmcore.planning.geometry import dim3
from mmcore.profiling.ncu import COUNTERS, profiles_by_ncu
from mmcore.profiling.profile import profile_kernel

SIZE = 640


def main(path: Path) -> None:
    """Count, and write the results."""
    gpu, emulator = device("cuda"), device("emulator")
    asked = [
        (kernel, kernel.square_problem(SIZE, dim3(block)), dim3(block))
        for kernel in kernels().values()
        for block in kernel.blocks
    ]
    rows = []
    for (kernel, problem, block), counted in zip(asked, profiles_by_ncu(asked, gpu), strict=True):
        emulated = profile_kernel(kernel, problem, block, emulator, exact=True)
        ours, theirs = emulated.counts(emulated.counters), counted.counts(counted.counters)
        both = {name: [ours[name], theirs[name]] for name in COUNTERS}
        rows.append({"kernel": kernel.name, "n": problem.n, "block": block.x, **both})
        differing = {name: pair for name, pair in both.items() if pair[0] != pair[1]}
        print(kernel.name, problem, block, json.dumps(differing), flush=True)
    machine: dict[str, Any] = {}
    describe(machine, gpu)
    lines = ",\n".join(f"  {json.dumps(row)}" for row in rows)
    head = json.dumps({"machine_info": machine}, indent=1).removesuffix("\n}")
    path.write_text(f'{head},\n "emulator_and_ncu": [\n{lines}\n ]\n}}\n')


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit("usage: python bench/counter_comparison.py RESULTS.json")
    main(Path(sys.argv[1]))
