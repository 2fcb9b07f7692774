"""Files of results with made-up numbers, as pytest-benchmark and the experiments write them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

DEVICE = "Made-up GPU"
DAY = "2001-02-03"
MACHINE = {
    "name": DEVICE,
    "compute_capability": [9, 0],
    "multiprocessors": 100,
    "clock_mhz": 1000,
    "clock": "invention",
    "driver": "580.1234.5678",
}
EMULATOR = {"name": "emulator"}
TITLE = "GFLOP/s at every n from 1000 to 1100, as declared"

Gflops = Callable[[str, int, int], float]


def rate(kernel: str, n: int, b: int) -> float:
    """Return a rate that grows with n and b, differs between kernels, and drops after multiples of b."""
    return (60 + 25 * int((re.findall(r"\d", kernel) or ["2"])[-1])) * b * n / (n + 500) * (1 - 0.1 * (-n % b) / b)


def benchmark(kernel: str, n: int, b: int, *, measure: str = "kernel-warm", gflops: Gflops = rate) -> dict[str, Any]:
    """Return one benchmark of a GPU's results."""
    what, how = measure.rsplit("-", 1)
    slower = {"warm": 1.0, "cold": 1.1, "pinned": 1 + 300 / n, "pageable": 1 + 900 / n}[how]
    value = gflops(kernel, n, b) / slower
    seconds = 2 * n**3 / value / 1e9
    info = {
        **_info(kernel, n, b),
        "measure": what,
        "caches": how if what == "kernel" else None,
        "memory": how if what == "end-to-end" else None,
        "median_ms": seconds * 1e3,
        "spread_percent": 0.5,
        "gflops": value,
        "percent_of_peak": value / 256,
    }
    return {"name": f"{kernel}-{n}-{b}-{measure}", "extra_info": info, "stats": {"median": seconds}}


def beside(made: dict[str, Any], share: float, dtype: str = "float32", baseline: str = "cublas.best") -> dict[str, Any]:
    """Return a benchmark that was compared with a library and reached a share of its rate."""
    seconds = made["stats"]["median"] * share
    timing = {"what": "kernel", "how": "warm"}
    time = {"timing": timing, "rounds": [seconds, 2 * seconds, seconds], "iterations": 1, "method": "invention"}
    comparison = {"kernel": baseline, "title": "cuBLAS", "time": time, "reason": "", "faster": share, "interval": None}
    compared = {"baseline": baseline, "percent_of_baseline": 100 * share, "compared": [comparison]}
    return {**made, "extra_info": {**made["extra_info"], **compared, "dtype": dtype}}


def emulated(kernel: str, n: int, b: int) -> dict[str, Any]:
    """Return one benchmark of the emulator's results, with counts."""
    sectors = n**3 // b + n % b * n + n * n // 8 + 1
    figures = {"instructions": 5 * n**3 // 32, "global_sectors": sectors, "flop_per_byte": 2 * n**3 / 32 / sectors}
    info = {
        **_info(kernel, n, b),
        "measure": "kernel",
        "caches": "warm",
        "memory": None,
        "median_ms": None,
        "spread_percent": None,
        "gflops": None,
        "percent_of_peak": None,
        "emulation_ms": 12.5,
        "figures": figures,
    }
    return {"name": f"{kernel}-{n}-{b}", "extra_info": info, "stats": {"median": 0.0125}}


def _info(kernel: str, n: int, b: int) -> dict[str, Any]:
    return {
        "schema": 2,
        "kernel": kernel,
        "problem": {"m": n, "n": n, "k": n},
        "dtype": "float64" if kernel.startswith("lezione9") else "float32",
        "config": {"block": [b, b, 1], "TILE": b},
        "config_id": f"b{b}",
        "registers": 32,
        "shared_bytes": 8 * b * b,
        "verification": "every element against float64",
    }


def sweep(
    kernels: Iterable[str], sizes: Sequence[int], blocks: Sequence[int], measures: Sequence[str] = ("kernel-warm",)
) -> list[dict[str, Any]]:
    """Return benchmarks of every kernel at every size in every block, with every measure."""
    return [
        benchmark(kernel, n, b, measure=measure)
        for kernel in kernels
        for n in sizes
        for b in blocks
        for measure in measures
    ]


def refusal(kernel: str, n: int, b: int) -> dict[str, Any]:
    """Return a skipped cell as an experiment writes it."""
    reason = (
        f"a {b}×{b} block has {b * b} threads; the device allows 1024"
        if b > 32
        else f"n = {n} is not a multiple of {b}"
    )
    return {"kernel": kernel, "problem": {"m": n, "n": n, "k": n}, "config": {"block": [b, b, 1]}, "reason": reason}


def document(
    benchmarks: Sequence[Mapping[str, Any]],
    experiment: str = "",
    *,
    machine: Mapping[str, Any] = MACHINE,
    refused: Sequence[Mapping[str, Any]] = (),
    quick: bool = False,
    baseline: str = "",
) -> dict[str, Any]:
    """Return the content of a results file."""
    found: dict[str, Any] = {
        "machine_info": {"mmcore": dict(machine)},
        "datetime": f"{DAY}T04:05:06+00:00",
        "benchmarks": list(benchmarks),
    }
    if experiment:
        about = {"title": TITLE, "shows": "Whatever.", "quick": quick, "refused": list(refused), "baseline": baseline}
        found["mmcore"] = {"experiment": experiment, **about}
    return found


def write(path: Path, content: Mapping[str, Any]) -> Path:
    """Write the document to a file and return its path."""
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


UPC = ("upc.kernel01", "upc.kernel11")
UNSA = ("unsa.tiled", "unsa.traditional")


def _unsa(made: Callable[[str, int, int], dict[str, Any]]) -> list[dict[str, Any]]:
    return [made(kernel, 500, b) for kernel in UNSA for b in range(5, 31, 5) if kernel == UNSA[1] or 500 % b == 0]


_UNSA_REFUSED = [refusal(UNSA[0], 500, b) for b in (15, 30, 35, 40, 45, 50)] + [
    refusal(UNSA[1], 500, b) for b in (35, 40, 45, 50)
]

#: The results of each lecture's experiment on a GPU and on the emulator.
EXPERIMENTS: dict[str, dict[str, Any]] = {
    "upc-sizes": document(sweep(UPC, range(128, 3201, 128), (8, 16, 32)), "upc-sizes"),
    "upc-remainders": document(sweep(UPC, range(1000, 1041), (16, 32)), "upc-remainders"),
    "upc-transfers": document(
        sweep(
            UPC, (128, 256, 640, 1024, 2048, 3200), (32,), ("kernel-warm", "end-to-end-pageable", "end-to-end-pinned")
        ),
        "upc-transfers",
    ),
    "unsa-blocks": document(_unsa(benchmark), "unsa-blocks", refused=_UNSA_REFUSED),
    "lezione9-coalescing": document(
        sweep(("lezione9.kernel1", "lezione9.kernel2"), (128, 512, 1024), (32,)), "lezione9-coalescing"
    ),
    "poznan-first": document(
        sweep(("poznan.v1", "poznan.v2", "poznan.v3"), (176, 352, 528), (8, 16, 22)), "poznan-first"
    ),
    "poznan-second": document(
        sweep(("poznan.v3", "poznan.v4a", "poznan.v4b", "poznan.v5"), range(128, 641, 128), (8, 16)), "poznan-second"
    ),
}
EMULATED: dict[str, dict[str, Any]] = {
    "upc-sizes": document(
        [emulated(kernel, n, b) for kernel in UPC for n in (32, 64, 96, 128) for b in (8, 16, 32)],
        "upc-sizes", machine=EMULATOR, quick=True,
    ),
    "upc-remainders": document(
        [emulated(kernel, n, b) for kernel in UPC for n in range(60, 70) for b in (16, 32)],
        "upc-remainders", machine=EMULATOR, quick=True,
    ),
    "unsa-blocks": document(_unsa(emulated), "unsa-blocks", machine=EMULATOR, refused=_UNSA_REFUSED),
    "lezione9-coalescing": document(
        [emulated(f"lezione9.kernel{i}", n, 32) for i in (1, 2) for n in (64, 128)],
        "lezione9-coalescing", machine=EMULATOR, quick=True,
    ),
}  # fmt: skip
