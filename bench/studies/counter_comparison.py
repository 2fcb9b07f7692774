"""The emulator's counters beside ncu's; it needs a GPU and NVIDIA's ncu.

By default it counts every lecture kernel in each of its blocks, at 640 or the next size allowed. With ``--tensor`` it
counts the six kernels of bench/studies/tensor_kernels, and writes further metrics of ncu's. It prints the names of
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
#: Metrics of tensor cores, shared memory and asynchronous copies, whose names differ between GPUs.
FURTHER = "|".join((
    r"sm__inst_executed_pipe_(tensor|tma)\w*",
    r"sm__ops_path_tensor_src_\w+",
    r"smsp__(sass_)?inst_executed_op_(ldsm|stsm|ldgsts|shared|tma)\w*",
    r"(l1tex_|smsp__sass_l1tex)_data_(pipe_lsu_wavefronts|bank_conflicts_pipe_lsu)_mem_shared\w*",
    r"smsp__sass_l1tex_t_(requests|sectors)_pipe_lsu_mem_global_op_ldgsts\w*",
    r"l1tex__m_(xbar2l1tex_read|l1tex2xbar_write)_bytes(_mem_global_op_tma_\w+|_mem_dshared\w*|_pipe_tma)?",
    r"lts__t_(bytes|(sectors|requests)_srcunit_tex_op_(read|write))",
))  # fmt: skip


def main(results: Path, *, tensor: bool = False) -> None:
    """Count, print the counters and write the results."""
    cells, further = (tensor_cells(), FURTHER) if tensor else (lecture_cells(), "")
    rows = compared(cells, further)
    write(results, machine_info(open_device("cuda").facts), emulator_and_ncu=rows)


def lecture_cells() -> list[Cell]:
    """Return a cell for every registered kernel with a source and each of its blocks."""
    configs = [(kernel, config) for kernel in kernels().values() for config in kernel.usual_configs]
    sizes = [kernel.square_problem(SIZE, config).n for kernel, config in configs]
    return [
        Cell(kernel.name, n, n, n, config=config.to_json()) for (kernel, config), n in zip(configs, sizes, strict=True)
    ]


def tensor_cells() -> list[Cell]:
    """Return a cell for each of the six kernels, named so that another process can import it."""
    found = []
    for name, kernel in vars(tensor_kernels).items():
        if name.isupper() and isinstance(kernel, Kernel):
            config, sizes = kernel.usual_configs[0].to_json(), (TENSOR_SIZE,) * 3
            found.append(Cell(f"{tensor_kernels.__name__}:{name}", *sizes, config=config))
    return found


def compared(cells: Sequence[Cell], further: str = "") -> list[dict[str, Any]]:
    """Return a row for each cell: pairs of the emulator's counters and ncu's, and ncu's further metrics.

    Counters that are 0 in every cell are omitted.
    """
    rows = []
    with ProcessPoolExecutor(mp_context=multiprocessing.get_context("spawn")) as pool:
        # The slowest to emulate come first: those of poznan.v1, whose one block walks over all of C.
        order = sorted(cells, key=lambda cell: "v1" not in str(cell.kernel))
        emulated = {id(cell): pool.submit(_emulated, cell) for cell in order}
        counted = profiles_by_ncu(cells, further)
        if unknown := unknown_metrics(counted[0]):
            print("ncu does not know these metrics, which are omitted:", *unknown, sep="\n  ", flush=True)
        for cell, profile in zip(cells, counted, strict=True):
            ours, theirs = emulated[id(cell)].result(), profile.counts(profile.counters)
            both = {name: [ours[name], theirs[name]] for name in COUNTERS}
            case = (profile.launched.kernel, cell.n, (cell.config or {})["block"][0])
            row: dict[str, Any] = {"kernel": case[0], "n": case[1], "block": case[2], **both}
            measured = profile.launches[0].measured
            rows.append(row | ({"metrics": measured.metrics} if further and measured else {}))
            shown = {name: pair for name, pair in both.items() if any(pair) and (further or pair[0] != pair[1])}
            print(*case, *(f"\n  {name}: {pair[0]} / {pair[1]}" for name, pair in shown.items()), flush=True)
    silent = [name for name in COUNTERS if not any(any(row[name]) for row in rows)]
    return [{name: value for name, value in row.items() if name not in silent} for row in rows]


def _emulated(cell: Cell) -> dict[str, int | None]:
    profile = profile_cell(cell, Emulator())
    return profile.counts(profile.counters)
