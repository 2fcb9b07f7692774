"""mmcore's calculations, counts and times, beside those of others."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.studies.tables import sources
from bench.studies.tables.markdown import markdown
from bench.studies.tables.sources import results
from mmcore_cuda.occupancy.theoretical import occupancy


def occupancies() -> str:
    """Return the report's occupancy for compute capability 1.2, and mmcore's where they differ."""
    names = ("limit_blocks_warps", "limit_blocks_registers", "limit_blocks_shared", "active_blocks")
    rows = []
    for row in _csv_rows(sources.ROOT / "tests" / "data" / "poznan_occupancy.csv"):
        threads, registers, shared = (
            int(row[name]) for name in ("threads_per_block", "registers_per_thread", "shared_bytes_per_block")
        )
        found = occupancy((1, 2), threads=threads, registers=registers, shared_bytes=shared)
        ours = [found.limit_warps, found.limit_registers, found.limit_shared, found.active_blocks]
        if row["version"] == "v1":
            # A grid of one block: the report prints no limits for it.
            ours = [1]
        printed = [row[name] for name in names if row[name]]
        cells = [
            was if was == str(now) else f"**{was}**, calculated {now}" for was, now in zip(printed, ours, strict=True)
        ]
        block = f"{row['block']}×{row['block']}"
        rows.append([row["version"], block, str(registers), str(shared), *([""] * (4 - len(cells))), *cells])
    header = "version | block | registers | shared, B | by warps | by registers | by shared memory | active"
    return markdown(header, rows)


def phases() -> str:
    """Return the seconds of each phase of `pytest bench/` on the H200."""
    with results(sources.H200 / "phases.json") as document:
        cells = document["cells"]
        names = ("compile", "verify", "time")
        seconds = {name: sum(cell["phases"].get(name, 0.0) for cell in cells) for name in names}
    rows = [[f"{len(cells)}", *(f"{seconds[name]:.1f}" for name in names)]]
    return markdown("cells | compiling, s | verifying, s | timing, s", rows)


def cgma() -> str:
    """Return the report's CGMA beside the emulator's, with the coalescing of compute capability 1.2."""
    rows = []
    with results(sources.RESULTS / "emulator" / "cgma.json") as document:
        for case in document["cgma"]:
            printed, ours = float(case["printed"]), case["counted"]
            figures = [case["printed"], f"{ours:.3f}", f"{round(100 * (ours / printed - 1), 1) + 0.0:+.1f} %"]
            rows.append([case["version"], f"{case['block']}×{case['block']}", str(case["size"]), *figures])
    return markdown("version | block | n | printed | counted | difference", rows)


def _csv_rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def clock() -> str:
    """Return mmcore's times beside CUPTI's."""
    rows = []
    with results(sources.H200 / "clock.json") as document:
        for case in document["microseconds"]:
            cells = [case["kernel"], str(case["n"]), str(case["block"]), f"{case['events_around_one']:.2f}"]
            for state in ("warm", "cold"):
                ours, truth = case[f"mmcore_{state}"], case[f"cupti_{state}"]
                cells += [f"{ours:.2f}", f"{truth:.2f}", f"{ours - truth:+.2f} ({100 * (ours / truth - 1):+.1f} %)"]
            rows.append(cells)
    states = [f"{name}, {state}" for state in ("warm", "cold") for name in ("mmcore", "CUPTI", "difference")]
    return markdown(" | ".join(("kernel", "n", "b", "events around one launch", *states)), rows)


def launch_cost() -> str:
    """Return the host time of a launch."""
    with results(sources.H200 / "launch.json") as document:
        rows = [[way, f"{cost:.2f}"] for way, cost in document["microseconds"].items()]
    return markdown("launched by | µs of host time", rows)


def counters() -> str:
    """Return the emulator's counters beside ncu's."""
    columns = {
        "load requests": "global_load_requests",
        "load sectors": "global_load_sectors",
        "store requests": "global_store_requests",
        "store sectors": "global_store_sectors",
        "fused multiply-adds": "fmas",
        "shared load requests": "shared_load_requests",
        "shared load wavefronts": "shared_load_wavefronts",
        "shared store wavefronts": "shared_store_wavefronts",
    }
    rows = []
    with results(sources.H200 / "counters.json") as document:
        for case in document["emulator_and_ncu"]:
            figures = [" / ".join(f"{count:,}" for count in dict.fromkeys(case[name])) for name in columns.values()]
            rows.append([case["kernel"], str(case["n"]), str(case["block"]), *figures])
    return markdown(" | ".join(("kernel", "n", "b", *columns)), rows)


def tensor_counters() -> str:
    """Return the emulator's counters of tensor cores and asynchronous copies beside ncu's."""
    with results(sources.H200 / "tensor_counters.json") as document:
        cases = document["emulator_and_ncu"]
        names = [name for name in cases[0] if isinstance(cases[0][name], list) and "instructions" not in name]
        names = ["tensor_instructions", *names]
        rows = [[name.replace("_", " "), *(_pair(case[name]) for case in cases)] for name in names]
        kernels = [case["kernel"].partition(".")[2] for case in cases]
    return markdown(" | ".join(("", *kernels)), rows)


def _pair(counts: Sequence[int | None]) -> str:
    """Return the emulator's count and ncu's, once if they are the same, and an empty cell if both are 0."""
    shown = ["not counted" if count is None else f"{count:,}" for count in dict.fromkeys(counts)]
    return " / ".join(shown) if any(counts) else ""


def libraries() -> str:
    """Return cuBLASLt's heuristic beside PyTorch, and its tuned product beside its heuristic."""
    with results(sources.H200 / "libraries.json") as document:
        found = {(row["kernel"], row["n"]): row for row in document["libraries"]}
    rows = []
    for kernel, n in found:
        if kernel.endswith("_heuristic"):
            plain, tuned = found[kernel, n], found[kernel.removesuffix("_heuristic"), n]
            dtype = kernel.partition(".")[2].removesuffix("_heuristic")
            shares = [f"{100 * row['faster']:.1f} %" for row in (plain, tuned)]
            rows.append(
                (dtype, str(n), f"{plain['gflops'] / 1e3:.1f}", shares[0], f"{tuned['gflops'] / 1e3:.1f}", shares[1])
            )
    return markdown("type | n | heuristic, TFLOP/s | of torch.matmul | tuned, TFLOP/s | of the heuristic", rows)


def themselves() -> str:
    """Return the differences between kernels and copies of themselves."""
    with results(sources.H200 / "libraries.json") as document:
        found: dict[tuple[str, int], list[dict[str, Any]]] = {}
        for row in document["themselves"]:
            found.setdefault((row["kernel"], row["n"]), []).append(row)
    rows = []
    for (kernel, n), members in found.items():
        off = [100 * (row["faster"] - 1) for row in members]
        inside = sum(row["interval"][0] <= 1 <= row["interval"][1] for row in members)
        largest = max(off, key=abs)
        rows.append((kernel, str(n), f"{largest:+.2f} %", f"{inside} of {len(members)}"))
    return markdown("kernel | n | largest difference from itself | intervals that hold 100 %", rows)
