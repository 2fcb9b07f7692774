"""The emulator's counters beside ncu's; it needs a GPU and NVIDIA's ncu.

By default it counts every lecture kernel in each of its blocks, at 640 or the next size allowed. With ``--tensor`` it
counts the six kernels of bench/studies/tensor_kernels. It prints the names of
metrics that ncu does not know.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from bench.studies import tensor_kernels
from bench.studies.study import machine_info, write
from mmcore import Cell, Kernel, kernels
from mmcore.executor.choose_device import open_device
from mmcore_cuda.ncu.ncu import COUNTERS, profiles_by_ncu, unknown_metrics
from mmcore_emulator.adapter.device import Emulator
from mmcore_emulator.adapter.profile import profile_cell

SIZE, TENSOR_SIZE = 640, 256


def main(results: Path, *, tensor: bool = False) -> None:
    """Count, print the counters and write the results."""
    rows = compared(tensor_cells() if tensor else lecture_cells(), every=tensor)
    write(results, machine_info(open_device("cuda").facts), emulator_and_ncu=rows)


def lecture_cells() -> list[Cell]:
    """Return a cell for every registered kernel with a source and each of its blocks."""
    pairs = [(kernel, config) for kernel in kernels().values() for config in kernel.usual_configs]
    return [
        Cell(kernel.name, *3 * (kernel.square_problem(SIZE, config).n,), config=config.to_json())
        for kernel, config in pairs
    ]


def tensor_cells() -> list[Cell]:
    """Return a cell for each of the six kernels, named so that another process can import it."""
    found = []
    for name, kernel in vars(tensor_kernels).items():
        if name.isupper() and isinstance(kernel, Kernel):
            config, sizes = kernel.usual_configs[0].to_json(), (TENSOR_SIZE,) * 3
            found.append(Cell(f"{tensor_kernels.__name__}:{name}", *sizes, config=config))
    return found


def compared(cells: Sequence[Cell], *, every: bool) -> list[dict[str, Any]]:
    """Return a row for each cell: pairs of the emulator's counters and ncu's.

    Counters that are 0 in every cell are omitted. It prints ``every`` pair that is not 0, or only pairs that differ.
    """
    rows: list[dict[str, Any]] = []
    with ProcessPoolExecutor(mp_context=multiprocessing.get_context("spawn")) as pool:
        # The slowest to emulate come first: those of poznan.v1, whose one block walks over all of C.
        order = sorted(cells, key=lambda cell: "v1" not in str(cell.kernel))
        emulated = {id(cell): pool.submit(_emulated, cell) for cell in order}
        counted = profiles_by_ncu(cells)
        if unknown := unknown_metrics(counted[0]):
            print("ncu does not know these metrics, which are omitted:", *unknown, sep="\n  ", flush=True)
        for cell, profile in zip(cells, counted, strict=True):
            ours, theirs = emulated[id(cell)].result(), profile.counts(profile.counters)
            both = {name: [ours[name], theirs[name]] for name in COUNTERS}
            case = (profile.launched.kernel, cell.n, (cell.config or {})["block"][0])
            rows.append({"kernel": case[0], "n": case[1], "block": case[2], **both})
            shown = {name: pair for name, pair in both.items() if any(pair) and (every or pair[0] != pair[1])}
            print(*case, *(f"\n  {name}: {pair[0]} / {pair[1]}" for name, pair in shown.items()), flush=True)
    silent = [name for name in COUNTERS if not any(any(row[name]) for row in rows)]
    return [{name: value for name, value in row.items() if name not in silent} for row in rows]


def _emulated(cell: Cell) -> dict[str, int | None]:
    profile = profile_cell(cell, Emulator())
    return profile.counts(profile.counters)
