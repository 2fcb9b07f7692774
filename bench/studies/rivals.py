"""The ladder's emulated products beside cuBLAS, cuBLAS's own emulation and GEMMul8, with errors and energy.

All of a size take turns in one run, on the same random inputs. This needs a GPU, the extra ``cublas`` and a build of
GEMMul8 (``python -m mmcore_libraries.gemmul8 CHECKOUT``); without one of them, rows say so. Exit status: 1 = a product
is wrong.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from bench.studies.study import facts_of, machine_info, write
from mmcore.cell import Cell, Timing
from mmcore.errors import MmcoreError
from mmcore.executor import end_workers, measure_cell
from mmcore.result import Result
from mmcore_ladder.experiments import RIVALS

KERNELS = ("ladder.f64.04_int8", "ladder.f32.12_int8", "ladder.f32.10_f16x3", "ladder.f32.11_bf16x6")
SIZES = (4096, 16384, 8192)
_TIMINGS = (Timing("kernel", "warm", max_seconds=0.5, min_rounds=9),)
_SECONDS = 300  # of a cell at most


def main(results: Path, kernels: Sequence[str] = KERNELS, *, sizes: str = ",".join(map(str, SIZES))) -> int:
    """Measure, print and write after each product.

    Args:
        results: the file to write.
        kernels: names of kernels.
        sizes: m = n = k, with commas.
    """
    rows: list[dict[str, Any]] = []
    head = machine_info(facts_of("cuda"))
    try:
        for n in map(int, sizes.split(",")):
            for kernel in kernels:
                cell = Cell(kernel, n, n, n, device="cuda", timings=_TIMINGS, baseline=RIVALS, timeout=_SECONDS)
                try:
                    new = [*_rows(measure_cell(Cell(**{**vars(cell), "figures": ("error", "energy")})))]
                except MmcoreError as error:
                    new = [{"n": n, "kernel": kernel, "reason": str(error)}]
                for row in new:
                    print(*row.values(), flush=True)
                rows += new
                write(results, head, rows=rows)
    finally:
        end_workers()
    return int(any(row.get("verified") is False for row in rows))


def _rows(result: Result) -> Iterator[dict[str, Any]]:
    """Yield a row for a kernel and each of its rivals; ``of`` names the kernel whose rounds took turns with it."""
    common = {"n": result.cell.n, "of": result.kernel}
    rate, conditions = result.kernel_gflops, result.conditions
    own = {
        "kernel": result.kernel,
        "config": result.config_id,
        "verified": result.verified,
        "tflops": rate and rate / 1e3,
        "share": 1.0,
    }
    own |= {"clock_mhz": conditions.get("clock_mhz"), "seconds": sum(result.phases.values())}
    yield {**common, **own, **result.figures, "reason": "; ".join(result.failures())}
    for each in result.compared:
        tflops = result.flops / each.time.seconds / 1e12 if each.time else None
        other = {"kernel": each.kernel, "tflops": tflops, "share": each.faster}
        yield {**common, **other, **each.figures, "reason": each.reason}
