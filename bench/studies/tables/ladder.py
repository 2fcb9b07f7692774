"""The ladder: the rates of each rung, and the emulator's counters."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator
from fnmatch import fnmatch
from typing import Any

from bench.studies.tables.table import grouped


def rungs(patterns: list[str], counters: Any, *experiments: Any) -> Iterator[dict[str, Any]]:
    """Yield the rungs of these names: rates at 4096 on two cards, and the counters of a product of 512×512×512."""
    h200, h100 = (
        {each["extra_info"]["kernel"]: each["extra_info"] for each in found["benchmarks"]} for found in experiments
    )
    for row in counters["rows"]:
        kernel = row["kernel"]
        if any(fnmatch(kernel, f"ladder.{pattern}") for pattern in patterns):
            read = sum(row[f"{kind}_sectors"] for kind in ("global_load", "async_copy", "bulk_load"))
            wavefronts = sum(row[f"{kind}_wavefronts"] for kind in ("shared_load", "ldmatrix", "wgmma"))
            yield {
                **row,
                "rate": _teraflops(h200[kernel]["gflops"]),
                "share": h200[kernel]["percent_of_baseline"],
                "share_on_h100": h100[kernel]["percent_of_baseline"],
                "instructions": row["warp_instructions"] / 1e6,
                "read": 32 * read / 1e6,
                "wavefronts": wavefronts / 1e6,
                "conflicts": row["shared_bank_conflicts"] / 1e6,
                "kib": row["shared_bytes"] / 1024,
            }


def _teraflops(gflops: float) -> str:
    rate = gflops / 1e3
    return f"{rate:.0f}" if rate >= 100 else f"{rate:.1f}"


def sizes(document: Any) -> Iterator[list[str]]:
    """Yield the rates of each type's highest rungs in percent of cuBLAS's, with their geometric means."""
    infos = [each["extra_info"] for each in document["benchmarks"]]
    shares = {
        (each["kernel"], tuple(each["problem"][name] for name in "mnk")): each["percent_of_baseline"] for each in infos
    }
    kernels = list(dict.fromkeys(kernel for kernel, _ in shares))
    products = sorted({product for _, product in shares}, key=math.prod)
    yield ["m×n×k", *(f"`{kernel.removeprefix('ladder.')}`" for kernel in kernels)]
    large = [product for product in products if min(product) >= 1000]
    means = (("geometric mean", products), ("m, n, k ≥ 1000", large))
    for name, several in (*(("×".join(map(str, each)), [each]) for each in products), *means):
        columns = [[shares[kernel, each] for each in several] for kernel in kernels]
        yield [name, *(f"{statistics.geometric_mean(column):.0f} %" for column in columns)]


def rows_of_any_length(document: Any) -> Iterator[list[str]]:
    """Yield the top rungs on an H100 where rows of C begin anywhere, before and after a change of their stores."""
    found = {(row["kernel"], row["n"], row["sources"]): row for row in document["rows"]}
    columns = [(n, sources) for n in dict.fromkeys(n for _, n, _ in found) for sources in ("before", "now")]
    yield ["kernel", *(f"{n}, {sources}" for n, sources in columns)]
    for kernel in dict.fromkeys(kernel for kernel, _, _ in found):
        rows = [found[kernel, n, sources] for n, sources in columns]
        rates = [f"{_teraflops(row['gflops'])} ({row['percent_of_baseline']:.0f} %)" for row in rows]
        yield [f"`{kernel.removeprefix('ladder.')}`", *rates]


def rivals(document: Any) -> Iterator[list[str]]:
    """Yield rates, errors and work for energy of the emulated products and libraries that the GPU has."""
    yield ["kernel", "n", "TFLOP/s", "of the ladder's rate", "error", "GFLOP/s per W"]
    for row in document["rows"]:
        if row["tflops"] is not None:
            name = row["kernel"].replace(".best", f" for `{row['of'].removeprefix('ladder.')}`")
            share = "" if row["kernel"] == row["of"] else f"{100 / row['share']:.0f} %"
            rate, work = _teraflops(1e3 * row["tflops"]), f"{row['gflops_per_watt']:.0f}"
            yield [name, str(row["n"]), rate, share, f"{row['error']:.1e}", work]


def busy(document: Any) -> Iterator[list[str]]:
    """Yield how busy ncu found the units of multiprocessors at 4096, for the top kernels and cuBLAS."""
    for kernel, pair in grouped(document["functions"], "kernel").items():
        unit, name = ("tensor", "tensor cores") if pair[0]["tensor"] else ("fma", "CUDA cores")
        yield [f"`{kernel}`", name, *(f"{row[each]:.0f} %" for each in (unit, "l1", "l2") for row in pair)]
