"""The ladder's kernels for any size beside the library: configs are tried, the fastest timed in turns with it.

``python -m bench.ladder RESULTS.json SECONDS [KERNEL…]`` tries, for each kernel (the fastest of each type, or those
that patterns select) and each shape, the configs below for a moment each, and times the fastest two in turns with
cuBLASLt's fastest candidate. Every product is verified before it is timed. What was measured is written after each
shape, and when the seconds are over the rest is left out; RESULTS.json is gone on with where it is there already. It
needs a GPU.
"""

from __future__ import annotations

import fnmatch
import json
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import mmcore
from bench.results_file import results_text
from mmcore import Kernel
from mmcore.cell import Cell, Timing
from mmcore.errors import MmcoreError
from mmcore.executor import end_workers, measure_cell
from mmcore.executor import run as executed
from mmcore.result import Result
from mmcore.saved_results import describe

SHAPES = (
    *((n, n, n) for n in (4096, 8192, 2048, 1024, 512, 1000, 4097)),
    *((4096, 14336, 4096), (8192, 1024, 8192), (128, 4096, 14336), (16, 4096, 4096)),
)
"""m, n and k."""
TOPS = (
    *("bf16.12_any_nt", "f32.11_bf16x6", "f32.10_f16x3", "f32.09_any"),
    *("tf32.02_any_nt", "e4m3.01_any_nt", "f64.02_dmma", "f16.02_any_nt"),
)
TRIED, COMPARED = Timing(max_seconds=0.05, min_rounds=3), Timing(max_seconds=0.5, min_rounds=15)
_NAMES = ("BM", "BN", "DEPTH_BYTES", "STAGES", "CONSUMERS", "CLUSTER", "GROUP")
_WGMMA = {
    "bf16.12": [(128, 256, 128, 4, 2, 2, 8), (128, 256, 128, 4, 2, 1, 8), (128, 256, 128, 4, 2, 2, 16),
                (256, 128, 128, 4, 2, 2, 8), (256, 128, 128, 4, 2, 1, 8), (128, 128, 128, 6, 2, 2, 8),
                (128, 128, 128, 6, 2, 1, 8), (128, 192, 128, 4, 2, 1, 8), (128, 64, 128, 8, 2, 1, 8),
                (64, 128, 128, 8, 1, 1, 8), (64, 64, 128, 8, 1, 1, 8)],
    "e4m3.01": [(256, 128, 128, 4, 2, 2, 8), (256, 128, 128, 4, 2, 1, 8), (128, 128, 128, 6, 2, 2, 8),
                (128, 128, 128, 6, 2, 1, 8), (128, 192, 128, 4, 2, 1, 8), (128, 192, 128, 4, 2, 2, 8),
                (128, 64, 128, 8, 2, 1, 8), (64, 64, 128, 8, 1, 1, 8)],
    "f32.10": [(128, 192, 64, 4, 2, 2, 8), (128, 192, 64, 4, 2, 1, 8), (128, 192, 128, 2, 2, 1, 8),
               (128, 128, 128, 3, 2, 1, 8), (128, 128, 128, 3, 2, 2, 8), (256, 128, 64, 4, 2, 2, 8),
               (256, 128, 128, 2, 2, 2, 8), (64, 64, 128, 5, 1, 1, 8)],
    "f32.11": [(128, 192, 64, 3, 2, 2, 8), (128, 192, 64, 3, 2, 1, 8), (128, 128, 128, 2, 2, 1, 8),
               (128, 128, 128, 2, 2, 2, 8), (128, 128, 64, 4, 2, 2, 8), (256, 128, 64, 2, 2, 2, 8),
               (256, 64, 64, 3, 2, 2, 8), (64, 64, 128, 3, 1, 1, 8)],
}  # fmt: skip
_WGMMA |= {"f16.02": _WGMMA["bf16.12"], "tf32.02": _WGMMA["bf16.12"]}


def candidates(kernel: Kernel) -> list[dict[str, Any]]:
    """The configs that are tried: those above, or of other kernels as many as there are, up to 24, evenly spread."""
    rung = ".".join(kernel.name.split("_")[0].split(".")[1:])
    if rung in _WGMMA:
        return [dict(zip(_NAMES, values, strict=True)) for values in _WGMMA[rung]]
    free = [{name: value for name, value in config.items() if name != "block"} for config in kernel.all_configs]
    usual = [{name: each[name] for name in each if name != "block"} for each in kernel.usual_configs]
    return [*usual, *free[:: mmcore.ceil_div(len(free), 24)]]


def measured(kernel: Kernel, shape: Sequence[int], deadline: float) -> Iterator[dict[str, Any]]:
    """Rows of one kernel and shape: each config that was tried, the fastest ones with the library's times."""
    tried: list[tuple[float, dict[str, Any]]] = []
    for config in candidates(kernel):
        if time.monotonic() > deadline:
            return
        result = _result(kernel, shape, config, TRIED)
        if isinstance(result, str) or result.kernel_seconds is None:
            yield _row(kernel, shape, config, None, result if isinstance(result, str) else "; ".join(result.failures()))
            continue
        tried.append((result.kernel_seconds, config))
        yield _row(kernel, shape, config, result.kernel_seconds)
    for _, config in sorted(tried, key=lambda each: each[0])[:2]:
        result = _result(kernel, shape, config, COMPARED, baseline="cublas.best")
        if isinstance(result, str) or result.kernel_seconds is None:
            yield _row(kernel, shape, config, None, result if isinstance(result, str) else "; ".join(result.failures()))
            continue
        compared = result.compared[0] if result.compared else None
        row = _row(kernel, shape, config, result.kernel_seconds)
        if compared is not None:
            row |= {"library": compared.kernel, "of_library": compared.faster, "interval": compared.interval}
            row |= {"library_seconds": compared.time.seconds if compared.time else None, "why": compared.reason}
        yield row


def _result(
    kernel: Kernel, shape: Sequence[int], config: Mapping[str, Any], timing: Timing, baseline: str = ""
) -> Result | str:
    m, n, k = shape
    try:
        found = kernel.config(**config)
        return measure_cell(
            Cell(kernel.name, m, n, k, found.to_json(), "cuda", (timing,), timeout=60, baseline=baseline)
        )
    except MmcoreError as error:
        return str(error).splitlines()[0]


def _row(kernel: Kernel, shape: Sequence[int], config: Mapping[str, Any], seconds: float | None, why: str = "") -> Any:
    row = {"kernel": kernel.name, "shape": list(shape), "config": dict(config), "seconds": seconds}
    return row | ({"why": why} if why else {})


def main(path: Path, seconds: float, *patterns: str) -> None:
    """Measure what is missing in the results, until the time is over."""
    deadline = time.monotonic() + seconds
    document: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {"machine_info": {}, "rows": []}
    describe(document["machine_info"], executed("cuda", "mmcore.executor.worker:describe")["facts"])
    names = [f"ladder.{name}" for name in TOPS]
    if patterns:
        names = [name for name in mmcore.kernels() if any(fnmatch.fnmatch(name, each) for each in patterns)]
    kernels = [mmcore.kernels()[name] for name in names]
    done = {(row["kernel"], tuple(row["shape"])) for row in document["rows"] if "of_library" in row}
    for shape in SHAPES:
        for kernel in kernels:
            if (kernel.name, shape) in done or time.monotonic() > deadline:
                continue
            rows = list(measured(kernel, shape, deadline))
            document["rows"] += rows
            head = {"machine_info": document["machine_info"]}
            path.write_text(results_text(head, rows=document["rows"]), encoding="utf-8")
            for row in rows[-2:]:
                print(row["kernel"], "×".join(map(str, shape)), row.get("of_library"), row["config"], flush=True)
    end_workers()


if __name__ == "__main__":
    if len(sys.argv) < 3:
        raise SystemExit("usage: python -m bench.ladder RESULTS.json SECONDS [KERNEL…]")
    main(Path(sys.argv[1]), float(sys.argv[2]), *sys.argv[3:])
