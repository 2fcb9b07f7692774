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

from mmcore import Cell, kernels
from mmcore.executor.choose_device import open_device
from mmcore_emulator.device import Emulator
from mmcore_emulator.profiler.profile import profile_cell
from mmcore_ncu.ncu import COUNTERS, profiles_by_ncu

SIZE = 640


def main(path: Path) -> None:
    """Count, and write the results."""
    configs = [(kernel, config) for kernel in kernels().values() for config in kernel.usual_configs]
    sizes = [kernel.square_problem(SIZE, config).n for kernel, config in configs]
    cells = [
        Cell(kernel.name, n, n, n, config=config.to_json()) for (kernel, config), n in zip(configs, sizes, strict=True)
    ]
    rows = []
    with ProcessPoolExecutor(mp_context=multiprocessing.get_context("spawn")) as pool:
        # Those that take longest to emulate, one block walking over all of C, come first.
        order = sorted(cells, key=lambda cell: "v1" not in str(cell.kernel))
        emulated = {id(cell): pool.submit(_emulated, cell) for cell in order}
        for cell, counted in zip(cells, profiles_by_ncu(cells), strict=True):
            ours, theirs = emulated[id(cell)].result(), counted.counts(counted.counters)
            both = {name: [ours[name], theirs[name]] for name in COUNTERS}
            case = (cell.kernel, cell.n, cell.config["block"][0])
            rows.append({"kernel": case[0], "n": case[1], "block": case[2], **both})
            differing = {name: pair for name, pair in both.items() if pair[0] != pair[1]}
            print(*case, json.dumps(differing), flush=True)
    machine: dict[str, Any] = {"mmcore": dict(open_device("cuda").facts)}
    lines = ",\n".join(f"  {json.dumps(row)}" for row in rows)
    head = json.dumps({"machine_info": machine}, indent=1).removesuffix("\n}")
    path.write_text(f'{head},\n "emulator_and_ncu": [\n{lines}\n ]\n}}\n')


def _emulated(cell: Cell) -> dict[str, int | None]:
    found = profile_cell(cell, Emulator())
    return found.counts(found.counters)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit("usage: python bench/counter_comparison.py RESULTS.json")
    main(Path(sys.argv[1]))
