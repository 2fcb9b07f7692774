"""The ladder's highest rungs with configs that were tuned on another card.

Each takes turns with cuBLAS in products that a default config does not suit: once with the config that mmcore chooses
on this card, once with the kernel's default. This needs a GPU and the extra ``cublas``. Exit status: 1 = a product is
wrong.
"""

from __future__ import annotations

import itertools
from pathlib import Path

from bench.studies.study import write
from mmcore.cell import BRIEFLY, LIBRARY, Cell, Timing
from mmcore.executor import end_workers, measure_cell
from mmcore.registry import registry

KERNELS = (
    *("ladder.f32.09_any", "ladder.f32.11_bf16x6", "ladder.f64.03_ring", "ladder.tf32.02_any"),
    *("ladder.f16.02_any", "ladder.bf16.12_any", "ladder.e4m3.01_any"),
)
SIZES = ((512, 512, 512), (1000, 1000, 1000), (1024, 1024, 1024), (16, 4096, 4096), (128, 4096, 14336))


def main(results: Path) -> int:
    """Measure, print and write."""
    timings, rows = (Timing("kernel", "warm", **BRIEFLY),), []
    try:
        for name, (m, n, k), which in itertools.product(KERNELS, SIZES, ("chosen", "default")):
            kernel = registry().kernels[name].item
            config = kernel.fitting_config(kernel.problem(m, n, k)).to_json() if which == "default" else {}
            cell = Cell(name, m, n, k, config=config, device="cuda", timings=timings, baseline=LIBRARY, seed=1)
            result = measure_cell(cell)
            row = {"kernel": name, "m": m, "n": n, "k": k, "config": which, "origin": result.config_origin}
            row |= {"verified": result.verified, "seconds": result.kernel_seconds}
            rows.append(row | {"of_cublas": result.baseline and result.baseline.faster})
            print(*rows[-1].values(), flush=True)
    finally:
        end_workers()
    write(results, {"device": result.device_description}, rows=rows)
    return int(not all(row["verified"] for row in rows))
