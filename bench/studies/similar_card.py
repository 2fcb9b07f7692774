"""Measure configs that were tuned on another card: ``python -m bench.studies.similar_card RESULTS.json``.

Each of the ladder's highest rungs is timed in turns with cuBLAS in products that a default config does not suit. It is
timed once with the config that is chosen on this card, and once with the kernel's default. This needs a GPU and the
extra ``cublas``.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from bench.studies.results_file import results_text
from mmcore.cell import BRIEFLY, LIBRARY, Cell, Timing
from mmcore.executor import end_workers, measure_cell
from mmcore.registry import registry

KERNELS = (
    *("ladder.f32.09_any", "ladder.f32.11_bf16x6", "ladder.f64.03_ring", "ladder.tf32.02_any"),
    *("ladder.f16.02_any", "ladder.bf16.12_any", "ladder.e4m3.01_any"),
)
SIZES = ((512, 512, 512), (1000, 1000, 1000), (1024, 1024, 1024), (16, 4096, 4096), (128, 4096, 14336))
CHOSEN, DEFAULT = "chosen", "default"


def main(arguments: Sequence[str]) -> int:
    """Measure, print and write; 1 if a product is wrong."""
    rows = []
    try:
        for row in measured():
            rows.append(row)
            print(*row.values(), flush=True)
    finally:
        end_workers()
    Path(arguments[0]).write_text(results_text({"device": rows[0].pop("device")}, rows=rows), encoding="utf-8")
    return int(not all(row["verified"] for row in rows))


def measured() -> Iterator[dict[str, Any]]:
    """Yield a row for each kernel, size and config; the first has the name of the device, too."""
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


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
