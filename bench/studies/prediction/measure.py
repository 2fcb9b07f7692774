"""Measuring the cells of the study on a GPU."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import mmcore
from bench.studies.prediction.rows import Row, card_named, key, rows_of, write_rows
from bench.studies.study import facts_of
from mmcore.cell import Cell, Timing
from mmcore.errors import MmcoreError
from mmcore.executor import measure_cell

_SIZES = (512, 1024, 2048, 4096)
_TIMING = Timing("kernel", "warm", max_seconds=0.12)
_LIBRARIES = ("cublas.", "torch.", "cutedsl.")  # kernels without a source that the emulator runs
_TUNED = ("ladder.", "triton.")  # kernels that are measured with their tuned config alone
_SECONDS = 30.0  # that a cell may take


def measure(results: Path, public: bool) -> None:
    """Measure each cell that has no time yet; the file is written after each. Only verified times are kept."""
    card = card_named(str(facts_of("cuda")["name"]))
    rows = rows_of(results)
    done = {key(row) for row in rows}
    for cell in sorted(_cells(public), key=lambda cell: cell.m * cell.n * cell.k):
        try:
            result = measure_cell(cell)
        except MmcoreError as error:
            print(f"{cell.kernel}: {error}", file=sys.stderr)
            continue
        row = {"kernel": cell.kernel, "m": cell.m, "n": cell.n, "k": cell.k, "config": dict(result.config)}
        if result.verified and result.kernel_seconds and key(row) not in done:
            rows.append({"card": card, **row, "seconds": float(f"{result.kernel_seconds:.6g}")})
            write_rows(results, rows)


def _cells(public: bool) -> Iterator[Cell]:
    """Yield the cells: registered kernels in their usual configs, and public ones at their sizes."""
    for name, kernel in mmcore.kernels().items():
        if name.startswith(_LIBRARIES) or name.endswith(("_nt", "_tn", "_tt")):
            continue
        for size in _SIZES:
            problem = kernel.square_problem(size)
            if name.startswith(_TUNED):
                yield _cell(name, (problem.m, problem.n, problem.k), {})
                continue
            for config in kernel.usual_configs:
                if not kernel.violations(problem, config):
                    yield _cell(name, (problem.m, problem.n, problem.k), config.to_json())
    if not public:
        return
    from bench.studies.public_kernels.corpus import KERNELS  # it asks for the checkouts

    for name, declared in KERNELS.items():
        if declared.wrong or declared.unsupported:
            continue
        for m, n, k in declared.measured_sizes(_SIZES, timed=True):
            for config in declared.kernel.usual_configs:
                if not declared.kernel.violations(declared.kernel.problem(m, n, k), config):
                    yield _cell(f"bench.studies.public_kernels.corpus:{name}", (m, n, k), config.to_json())


def _cell(kernel: str, sizes: tuple[int, int, int], config: Row) -> Cell:
    m, n, k = sizes
    return Cell(kernel, m, n, k, config=config, device="cuda", seed=1, timeout=_SECONDS, timings=(_TIMING,))
