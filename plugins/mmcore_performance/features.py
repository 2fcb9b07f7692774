"""The work of a launch, unit by unit: seconds at nominal rates, which a prediction weights."""

from __future__ import annotations

from collections.abc import Mapping

from mmcore.kernel.geometry import ceil_div
from mmcore_emulator.machine.limits import WARP
from mmcore_emulator.profiler.counters import SECTOR_BYTES, total
from mmcore_performance.evidence import Evidence, LaunchEvidence

_ISSUES = 4  # instructions of warps that a multiprocessor issues in a cycle
_INTEGERS = 2  # of them, on integers
_FOLDED = 0.6  # integer instructions of machine code over those of PTX, which the assembler folds: about that, by ncu


def features(evidence: Evidence, launch: LaunchEvidence) -> dict[str, dict[str, float]]:
    """Return seconds of work by unit and kind.

    Units with a rate take the multiprocessor with the most blocks, at one pass or instruction in a cycle or at the
    published rate. "latency" counts a cycle for each wait of one block's warps, times the blocks that a multiprocessor
    runs in turn.
    """
    card, counters, mix = evidence.card, total(launch.lines.values()), launch.mix
    blocks = launch.working or launch.grid.size
    cycle = ceil_div(blocks, card.multiprocessors) / blocks / card.clock_hz
    rates = _rates(evidence)
    loaded, mean = counters.global_load_sectors * SECTOR_BYTES, launch.traffic.l2_bytes
    missed = min(1.0, mean / loaded) if loaded else 1.0
    waves = ceil_div(blocks, card.multiprocessors * max(1, launch.occupancy.active_blocks))
    warps = blocks * launch.occupancy.warps_per_block
    turn = waves / card.clock_hz
    matrix = "wgmma" if counters.wgmma_wavefronts else "mma"
    others = {name: mix.get(name, 0.0) for name in ("integer", "convert", "control", "half")}
    return {
        "dispatch": {
            "executed": (_sum(mix, "float", "double", "memory", "tensor") + others["half"]) / _ISSUES * cycle,
            "folded": _FOLDED * (others["integer"] + others["control"] + others["convert"]) / _ISSUES * cycle,
        },
        "fma": {"float": mix.get("float", 0.0) * rates["float"] * cycle, "half": others["half"] / _ISSUES * cycle},
        "fp64": {"double": mix.get("double", 0.0) * rates["double"] * cycle},
        "alu": {"integer": _FOLDED * (others["integer"] + others["convert"]) / _INTEGERS * cycle},
        "tensor": {matrix: counters.tensor_flops * rates["tensor"] * card.multiprocessors * cycle * card.clock_hz},
        "lsu": {
            "global": launch.traffic.l1_passes * cycle,
            "shared": (counters.shared_wavefronts - counters.wgmma_wavefronts) * cycle,
            "operands": counters.wgmma_wavefronts * cycle,
        },
        "l2": {"bytes": mean / 64 * cycle},
        "dram": {"bytes": launch.traffic.dram_bytes / card.dram_bytes_per_second},
        "latency": {
            "cached_load": counters.global_load_requests * (1 - missed) / warps * turn,
            "load": counters.global_load_requests * missed / warps * turn,
            "copy": counters.async_copy_requests / warps * turn,
            "bulk_copy": counters.bulk_loads / blocks * turn,
            "shared_load": (counters.shared_load_requests + counters.ldmatrix_requests) / warps * turn,
            "barrier": counters.barriers / blocks * turn,
            "arithmetic": (_sum(mix, "float", "double") + others["half"]) / warps * turn,
            matrix: counters.tensor_instructions / warps * turn,
        },
    }


def _rates(evidence: Evidence) -> Mapping[str, float]:
    """Return cycles of a multiprocessor for an instruction of a warp by its type, and seconds for a tensor flop."""
    card = evidence.card
    flops = card.peaks.flops if card.peaks else {}
    lanes = {name: rate / (2 * card.multiprocessors * card.clock_hz) for name, rate in flops.items()}
    # Where tensor cores multiply float64, the published rate is theirs, twice that of the other units.
    double = lanes.get("float64", 2.0) / (2 if card.capability in ((8, 0), (9, 0)) else 1)
    tensor = flops.get(evidence.kernel.unit) if evidence.kernel.unit != "float32" else None
    return {
        "float": WARP / lanes.get("float32", 64.0),
        "double": WARP / double,
        "tensor": 1 / (tensor or flops.get("float16", 1e14)),
    }


def _sum(mix: Mapping[str, float], *names: str) -> float:
    return sum(mix.get(name, 0.0) for name in names)
