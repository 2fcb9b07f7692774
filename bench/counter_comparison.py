"""The emulator's counters beside ncu's, for every lecture kernel in each of its blocks at 640 or the next size allowed.

``python bench/counter_comparison.py RESULTS.json`` counts and writes both; it needs a GPU and NVIDIA's ncu. The table
in docs/why.md is made from the committed results by ``python -m bench.tables``.
"""

from __future__ import annotations

import json
import multiprocessing
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from mmcore.api import device, kernels
from mmcore.pytest_plugin.machine import describe
from mmcore.kernel.geometry import dim3
from mmcore_ncu.ncu import COUNTERS, profiles_by_ncu
from mmcore_emulator.profiler.profile import profile_kernel

SIZE = 640


def main(path: Path) -> None:
    """Count, and write the results."""
    gpu = device("cuda")
    asked = [
        (kernel, kernel.square_problem(SIZE, dim3(block)), dim3(block))
        for kernel in kernels().values()
        for block in kernel.blocks
    ]
    cases = [(kernel.name, problem.n, block.x) for kernel, problem, block in asked]
    rows = []
    with ProcessPoolExecutor(mp_context=multiprocessing.get_context("spawn")) as pool:
        # Those that take longest to emulate, one block walking over all of C, come first.
        emulated = {case: pool.submit(_emulated, *case) for case in sorted(cases, key=lambda case: "v1" not in case[0])}
        for case, counted in zip(cases, profiles_by_ncu(asked, gpu), strict=True):
            ours, theirs = emulated[case].result(), counted.counts(counted.counters)
            both = {name: [ours[name], theirs[name]] for name in COUNTERS}
            rows.append({"kernel": case[0], "n": case[1], "block": case[2], **both})
            differing = {name: pair for name, pair in both.items() if pair[0] != pair[1]}
            print(*case, json.dumps(differing), flush=True)
    machine: dict[str, Any] = {}
    describe(machine, gpu)
    lines = ",\n".join(f"  {json.dumps(row)}" for row in rows)
    head = json.dumps({"machine_info": machine}, indent=1).removesuffix("\n}")
    path.write_text(f'{head},\n "emulator_and_ncu": [\n{lines}\n ]\n}}\n')


def _emulated(name: str, n: int, block: int) -> dict[str, int | None]:
    kernel = kernels()[name]
    found = profile_kernel(kernel, kernel.problem(n, n, n), kernel.block(block), device("emulator"), exact=True)
    return found.counts(found.counters)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit("usage: python bench/counter_comparison.py RESULTS.json")
    main(Path(sys.argv[1]))
