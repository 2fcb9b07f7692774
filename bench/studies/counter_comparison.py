"""The emulator's counters beside ncu's; it needs a GPU and NVIDIA's ncu.

``python -m bench.studies.counter_comparison RESULTS.json`` counts every lecture kernel in each of its blocks at 640 or
the next size allowed, and writes both; ``python -m bench.studies.tables`` makes the table in docs/why.md of the
committed results. ``python -m bench.studies.counter_comparison RESULTS.json --tensor`` counts the six kernels of
bench/studies/tensor_kernels, and writes what else ncu reads of them, metric by metric. Metrics that ncu does not know
are named and left out.
"""

from __future__ import annotations

import argparse
import multiprocessing
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from bench.studies import tensor_kernels
from bench.studies.results_file import results_text
from mmcore import Cell, Kernel, kernels
from mmcore.executor.choose_device import open_device
from mmcore_cuda.ncu.ncu import COUNTERS, profiles_by_ncu, unknown_metrics
from mmcore_emulator.adapter.device import Emulator
from mmcore_emulator.adapter.profile import profile_cell

SIZE, TENSOR_SIZE = 640, 256
#: What else ncu tells of tensor cores, shared memory and asynchronous copies, under names that differ between GPUs.
FURTHER = "|".join((
    r"sm__inst_executed_pipe_(tensor|tma)\w*",
    r"sm__ops_path_tensor_src_\w+",
    r"smsp__(sass_)?inst_executed_op_(ldsm|stsm|ldgsts|shared|tma)\w*",
    r"(l1tex_|smsp__sass_l1tex)_data_(pipe_lsu_wavefronts|bank_conflicts_pipe_lsu)_mem_shared\w*",
    r"smsp__sass_l1tex_t_(requests|sectors)_pipe_lsu_mem_global_op_ldgsts\w*",
    r"l1tex__m_(xbar2l1tex_read|l1tex2xbar_write)_bytes(_mem_global_op_tma_\w+|_mem_dshared\w*|_pipe_tma)?",
    r"lts__t_(bytes|(sectors|requests)_srcunit_tex_op_(read|write))",
))  # fmt: skip


def main() -> None:
    """Count, print what was counted, and write the results."""
    parser = argparse.ArgumentParser(prog="python -m bench.studies.counter_comparison", description=__doc__)
    parser.add_argument("results", type=Path)
    parser.add_argument("--tensor", action="store_true", help="the six kernels of bench/studies/tensor_kernels")
    asked = parser.parse_args()
    cells, further = (tensor_cells(), FURTHER) if asked.tensor else (lecture_cells(), "")
    rows = compared(cells, further)
    machine: dict[str, Any] = {"mmcore": dict(open_device("cuda").facts)}
    asked.results.write_text(results_text({"machine_info": machine}, emulator_and_ncu=rows), encoding="utf-8")


def lecture_cells() -> list[Cell]:
    """Every registered kernel with a source, in each of its blocks."""
    configs = [(kernel, config) for kernel in kernels().values() for config in kernel.usual_configs]
    sizes = [kernel.square_problem(SIZE, config).n for kernel, config in configs]
    return [
        Cell(kernel.name, n, n, n, config=config.to_json()) for (kernel, config), n in zip(configs, sizes, strict=True)
    ]


def tensor_cells() -> list[Cell]:
    """The six kernels, which another process finds by the names that their module gives them."""
    names = [name for name, value in vars(tensor_kernels).items() if name.isupper() and isinstance(value, Kernel)]
    found = []
    for name in names:
        kernel: Kernel = getattr(tensor_kernels, name)
        config = kernel.usual_configs[0].to_json()
        found.append(Cell(f"{tensor_kernels.__name__}:{name}", TENSOR_SIZE, TENSOR_SIZE, TENSOR_SIZE, config=config))
    return found


def compared(cells: Sequence[Cell], further: str = "") -> list[dict[str, Any]]:
    """A row for each cell: every counter that is not 0 throughout as the emulator's and ncu's, and ncu's metrics."""
    rows = []
    with ProcessPoolExecutor(mp_context=multiprocessing.get_context("spawn")) as pool:
        # Those that take longest to emulate, one block walking over all of C, come first.
        order = sorted(cells, key=lambda cell: "v1" not in str(cell.kernel))
        emulated = {id(cell): pool.submit(_emulated, cell) for cell in order}
        counted = profiles_by_ncu(cells, further)
        if unknown := unknown_metrics(counted[0]):
            print("ncu does not know, and left out are:", *unknown, sep="\n  ", flush=True)
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
    found = profile_cell(cell, Emulator())
    return found.counts(found.counters)


if __name__ == "__main__":
    main()
