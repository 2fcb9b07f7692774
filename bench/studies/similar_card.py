"""The ladder's highest rungs with configs that were tuned on another card.

Each takes turns with cuBLAS in products that a default config does not suit: once with the config that mmcore chooses
on this card, once with the kernel's default. This needs a GPU and the extra ``cublas``. Exit status: 1 = a product is
wrong.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.studies.study import write
from mmcore.cell import BRIEFLY, LIBRARY, Cell, Timing
from mmcore.executor import end_workers, measure_cell
from mmcore.registry import registry

KERNELS = (
    *("ladder.f32.09_any", "ladder.f32.11_bf16x6", "ladder.f64.03_ring", "ladder.tf32.02_any"),
    *("ladder.f16.02_any", "ladder.bf16.12_any", "ladder.e4m3.01_any"),
)
SIZES = ((512, 512, 512), (1000, 1000, 1000), (1024, 1024, 1024), (16, 4096, 4096), (128, 4096, 14336))
CHOSEN, DEFAULT = "chosen", "default"


def main(results: Path) -> int:
    """Measure, print and write."""
    rows = []
    try:
        for row in measured():
            rows.append(row)
            print(*row.values(), flush=True)
    finally:
        end_workers()
    write(results, {"device": rows[0].pop("device")}, rows=rows)
    return int(not all(row["verified"] for row in rows))


def measured() -> Iterator[dict[str, Any]]:
    """Yield a row for each kernel, size and config; the first row also has the name of the device."""
    timings = (Timing("kernel", "warm", **BRIEFLY),)
    for number, (name, (m, n, k), which) in enumerate(
        (name, size, which) for name in KERNELS for size in SIZES for which in (CHOSEN, DEFAULT)
    ):
        kernel = registry().kernels[name].item
        config = kernel.fitting_config(kernel.problem(m, n, k)).to_json() if which == DEFAULT else {}
        cell = Cell(name, m, n, k, config=config, device="cuda", timings=timings, baseline=LIBRARY, seed=1)
        result = measure_cell(cell)
        yield {
            **({} if number else {"device": result.device_description}),
            "kernel": name,
            "m": m,
            "n": n,
            "k": k,
            "config": which,
            "origin": result.config_origin,
            "verified": result.verified,
            "seconds": result.kernel_seconds,
            "of_cublas": result.baseline and result.baseline.faster,
        }
