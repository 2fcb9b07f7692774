"""mmcore's calculations, counts and times, beside those of others."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bench.studies.tables.table import Row, grouped

_WARM, _COLD, _RESTED = "mmcore, warm", "mmcore, cold", "mmcore, warm, after a pause"
# mmcore's time of the same kind: with an emptied cache, or after a pause; warm for the others.
_SAME: Mapping[str, tuple[str, ...]] = {
    "do_bench": (_COLD,),
    "its own program": (_RESTED, _WARM),
    "its own program, mmcore's inputs": (_RESTED,),
}


def phases(document: Any) -> Iterator[dict[str, Any]]:
    """Yield the seconds of each phase of ``pytest bench/`` on the H200, with empty caches and once more."""
    cells = document["cells"]
    names = ("compile", "verify", "time", "hazards")
    runs = {"caches empty": cells, "again": [cell["again"] for cell in cells]}
    for (run, several), seconds in zip(runs.items(), document["seconds"], strict=True):
        phases = {name: sum(cell["phases"].get(name, 0.0) for cell in several) for name in names}
        yield {"run": run, "cells": len(cells), "seconds": seconds, **phases}


def repeated(document: Any) -> Iterator[dict[str, Any]]:
    """Yield how much the medians of two runs of ``pytest bench/`` differ."""
    pairs = [(cell["median_us"], cell["again"]["median_us"]) for cell in document["cells"]]
    differences = sorted(abs(again / once - 1) for once, again in pairs)
    over = {f"over_{percent}": sum(each > percent / 100 for each in differences) for percent in (1, 2)}
    yield {"cells": len(pairs), "median": statistics.median(differences), **over, "largest": differences[-1]}


def clock(document: Any) -> Iterator[dict[str, Any]]:
    """Yield mmcore's times beside CUPTI's."""
    for row in document["microseconds"]:
        for state in ("warm", "cold"):
            ours, truth = row[f"mmcore_{state}"], row[f"cupti_{state}"]
            row |= {f"{state}_off": ours - truth, f"{state}_more": ours / truth - 1}
        yield row


def counters(document: Any) -> Iterator[dict[str, Any]]:
    """Yield the emulator's counters beside ncu's, once where they are the same."""
    for row in document["emulator_and_ncu"]:
        pairs = {name: value for name, value in row.items() if isinstance(value, list) and None not in value}
        yield row | {name: " / ".join(f"{count:,}" for count in dict.fromkeys(pair)) for name, pair in pairs.items()}


def tensor_counters(document: Any) -> Iterator[list[str]]:
    """Yield the emulator's counters of tensor cores and asynchronous copies beside ncu's."""
    rows = document["emulator_and_ncu"]
    yield ["", *(row["kernel"].partition(".")[2] for row in rows)]
    names = [name for name in rows[0] if isinstance(rows[0][name], list) and "instructions" not in name]
    for name in ("tensor_instructions", *names):
        yield [name.replace("_", " "), *(_pair(row[name]) for row in rows)]


def _pair(counts: Sequence[int | None]) -> str:
    """Return the emulator's count and ncu's, once if they are the same, and an empty cell if both are 0."""
    shown = ["not counted" if count is None else f"{count:,}" for count in dict.fromkeys(counts)]
    return " / ".join(shown) if any(counts) else ""


def libraries(document: Any) -> Iterator[dict[str, Any]]:
    """Yield cuBLASLt's heuristic beside PyTorch, and its tuned product beside its heuristic."""
    rows = {(row["kernel"], row["n"]): row | {"tflops": row["gflops"] / 1e3} for row in document["libraries"]}
    for (kernel, n), row in rows.items():
        if kernel.endswith("_heuristic"):
            tuned = kernel.removesuffix("_heuristic")
            yield {"type": tuned.partition(".")[2], "plain": row, "tuned": rows[tuned, n]}


def themselves(document: Any) -> Iterator[dict[str, Any]]:
    """Yield the differences between kernels and copies of themselves."""
    for (kernel, n), rows in grouped(document["themselves"], "kernel", "n").items():
        largest = max((row["faster"] - 1 for row in rows), key=abs)
        inside = sum(row["interval"][0] <= 1 <= row["interval"][1] for row in rows)
        yield {"kernel": kernel, "n": n, "largest": largest, "inside": inside, "of": len(rows)}


def own_benchmarks(document: Any) -> Iterator[dict[str, Any]]:
    """Yield each other clock beside mmcore's time of the same kind, the first with mmcore's share of cuBLAS's rate."""
    for (kernel, n), rows in grouped(document["rows"], "kernel", "n").items():
        times = {row["clock"]: row["microseconds"] for row in rows}
        shares = [row["percent_of_cublas"] / 100 for row in rows if row.get("percent_of_cublas") is not None]
        for theirs, ours in _pairs(times):
            ratio = times[theirs] / times[ours]
            found = {
                "theirs": theirs,
                "their_time": _shown(times[theirs]),
                "ours": ours,
                "our_time": _shown(times[ours]),
            }
            yield {"kernel": kernel, "n": n, **found, "ratio": ratio, "share": shares.pop() if shares else None}


def _pairs(clocks: Row) -> Iterator[tuple[str, str]]:
    """Yield each other clock with mmcore's time of the same kind."""
    for theirs in clocks:
        if not theirs.startswith("mmcore"):
            yield from ((theirs, ours) for ours in _SAME.get(theirs, (_WARM,)) if ours in clocks)


def _shown(microseconds: float) -> str:
    return f"{microseconds:.2f}" if microseconds < 100 else f"{microseconds:.1f}"
