"""The ladder: the rates of each rung, and the emulator's counters."""

from __future__ import annotations

import math
import statistics
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from bench.studies.tables import sources
from bench.studies.tables.markdown import markdown
from bench.studies.tables.sources import results

_HEADER = (
    "rung | TFLOP/s | of cuBLAS | on an H100 | warp instructions | MB read | shared wavefronts | conflicts | registers"
    " | KB a block"
)


def rungs(*patterns: str) -> str:
    """Return the rungs of these names: rates at 4096 on two cards, and the counters of a product of 512×512×512."""
    rates, other = _rates(sources.H200), _rates(sources.H100)
    with results(sources.RESULTS / "emulator" / "ladder_counters.json") as document:
        rows = [
            [
                f"`{row['kernel']}`",
                *rates[row["kernel"]],
                other[row["kernel"]][1],
                f"{row['warp_instructions'] / 1e6:.3f} M",
                f"{32 * sum(row[f'{kind}_sectors'] for kind in ('global_load', 'async_copy', 'bulk_load')) / 1e6:.1f}",
                f"{sum(row[f'{kind}_wavefronts'] for kind in ('shared_load', 'ldmatrix', 'wgmma')) / 1e6:.3f} M",
                f"{row['shared_bank_conflicts'] / 1e6:.3f} M",
                str(row["registers"]),
                f"{row['shared_bytes'] / 1024:.0f}",
            ]
            for row in document["rows"]
            if any(fnmatch(row["kernel"], f"ladder.{pattern}") for pattern in patterns)
        ]
    return markdown(_HEADER, rows)


def _rates(card: Path) -> dict[str, tuple[str, str]]:
    """Return each kernel's rate in TFLOP/s, and in percent of cuBLAS's, which took turns with it."""
    with results(card / "experiments" / "ladder.json") as document:
        infos = [each["extra_info"] for each in document["benchmarks"]]
    return {each["kernel"]: (_digits(each["gflops"] / 1e3), _percent(each["percent_of_baseline"])) for each in infos}


def _digits(rate: float) -> str:
    return f"{rate:.0f}" if rate >= 100 else f"{rate:.1f}"


def sizes() -> str:
    """Return the rates of each type's highest rungs in percent of cuBLAS's, with their geometric means."""
    with results(sources.H200 / "experiments" / "ladder-sizes.json") as document:
        infos = [each["extra_info"] for each in document["benchmarks"]]
    shares = {
        (each["kernel"], tuple(each["problem"][name] for name in "mnk")): each["percent_of_baseline"] for each in infos
    }
    kernels = list(dict.fromkeys(kernel for kernel, _ in shares))
    products = sorted({product for _, product in shares}, key=math.prod)
    large = [product for product in products if min(product) >= 1000]
    rows = [
        ["×".join(map(str, product)), *(_percent(shares[kernel, product]) for kernel in kernels)]
        for product in products
    ]
    rows += [
        [name, *(_percent(statistics.geometric_mean(shares[kernel, each] for each in several)) for kernel in kernels)]
        for name, several in (("geometric mean", products), ("m, n, k ≥ 1000", large))
    ]
    names = [f"`{kernel.removeprefix('ladder.')}`" for kernel in kernels]
    return markdown(" | ".join(["m×n×k", *names]), rows)


def rows_of_any_length() -> str:
    """Return the top rungs on an H100 where rows of C begin anywhere, before and after a change of their stores."""
    with results(sources.H100 / "ladder_rows.json") as document:
        found = {(row["kernel"], row["n"], row["sources"]): row for row in document["rows"]}
    products = list(dict.fromkeys(n for _, n, _ in found))
    rows = []
    for kernel in dict.fromkeys(kernel for kernel, _, _ in found):
        cells = [found[kernel, n, which] for n in products for which in ("before", "now")]
        rates = [f"{_digits(each['gflops'] / 1e3)} ({_percent(each['percent_of_baseline'])})" for each in cells]
        rows.append([f"`{kernel.removeprefix('ladder.')}`", *rates])
    columns = [f"{n}, {how}" for n in products for how in ("before", "now")]
    return markdown(" | ".join(["kernel", *columns]), rows)


def _percent(share: float) -> str:
    return f"{share:.0f} %"


def busy() -> str:
    """Return how busy ncu found the units of multiprocessors at 4096, for the top kernels and cuBLAS."""
    found: dict[str, list[dict[str, Any]]] = {}
    with results(sources.H200 / "ladder_ncu.json") as document:
        for row in document["functions"]:
            found.setdefault(row["kernel"], []).append(row)
    rows = []
    for kernel, pair in found.items():
        unit = "tensor" if pair[0]["tensor"] else "fma"
        shares = [_percent(each[name]) for name in (unit, "l1", "l2") for each in pair]
        rows.append([f"`{kernel}`", {"tensor": "tensor cores", "fma": "CUDA cores"}[unit], *shares])
    header = "kernel | what multiplies | busy | cuBLAS's | L1, shared | cuBLAS's | L2 | cuBLAS's"
    return markdown(header, rows)
