"""The work of a launch, unit by unit: seconds at nominal rates, which a prediction weights."""

from __future__ import annotations

from collections.abc import Mapping

from mmcore.kernel.geometry import ceil_div
from mmcore_emulator.profiler.counters import SECTOR_BYTES, total
from mmcore_performance.evidence import Evidence, LaunchEvidence
from mmcore_performance.overlap import in_turn
from mmcore_performance.rates import INTEGER, ISSUE, L1_PASS, L2_BYTE, PASS_SECTORS, SHARED_PASS, SLOW, rates_of

_FOLDED = 0.6  # integer instructions of machine code over those of PTX, which the assembler folds: about that, by ncu
_PHASES = {"copy": "copies", "bulk_copy": "bulk_copies"}
_LEAST_SHARED = 1024  # bytes of shared memory that every block has


def features(evidence: Evidence, launch: LaunchEvidence) -> dict[str, dict[str, float]]:
    """Return seconds of work by unit and kind.

    Units with a rate take the multiprocessor with the most blocks, at the rates of :mod:`mmcore_performance.rates`.
    "latency" counts a cycle for each wait of one block's warps, times the blocks that a multiprocessor runs in turn.
    "in_turn" has the waits of blocks for copies that they begin after one product, and need for the next one.
    """
    card, counters, mix, waits = evidence.card, total(launch.lines.values()), launch.mix, launch.waits
    rates = rates_of(card)
    blocks = launch.working or launch.grid.size
    cycle = ceil_div(blocks, card.multiprocessors) / blocks / card.clock_hz
    loaded, mean = counters.global_load_sectors * SECTOR_BYTES, launch.traffic.l2_bytes
    missed = min(1.0, mean / loaded) if loaded else 1.0
    turn = waiting_seconds(evidence, launch)
    warps = blocks * launch.occupancy.warps_per_block
    rings = blocks * max(launch.occupancy.shared_per_block, _LEAST_SHARED)
    doubles = any("f64" in product.types for product in counters.products)
    matrix = "wgmma" if counters.wgmma_wavefronts else "double_mma" if doubles else "mma"
    wide = _sum(mix, "float", "double", "memory", "tensor", "half")
    narrow = _sum(mix, "integer", "convert")
    shared = counters.shared_wavefronts - counters.wgmma_wavefronts - launch.traffic.joined_passes
    local = counters.local_load_sectors + counters.local_store_sectors
    written = counters.local_store_sectors * SECTOR_BYTES  # the L1 cache serves the loads
    # Copies wait until shared memory has room for them, as often as they fill it.
    copies = {
        "copy": counters.async_copy_bytes / rings * turn,
        "bulk_copy": counters.bulk_delivered_bytes / rings * turn,
    }
    alone = in_turn(waits.get("overlapped", 0.0), waits.get("alone", 0.0))
    phases = {kind: waits.get(name, 0.0) / blocks * turn for kind, name in _PHASES.items()} if alone else {}
    return {
        "dispatch": {
            "expanded": sum(mix.get(name, 0.0) * (times - 1) for name, times in SLOW.items()) * ISSUE * cycle,
            "executed": wide * ISSUE * cycle,
            "folded": _FOLDED * (narrow + mix.get("control", 0.0)) * ISSUE * cycle,
        },
        "fma": {"float": mix.get("float", 0.0) * rates.single * cycle, "half": mix.get("half", 0.0) * ISSUE * cycle},
        "fp64": {
            "double": mix.get("double", 0.0) * rates.double * cycle,
            "conversion": mix.get("convert64", 0.0) * rates.conversion * cycle,
        },
        "alu": {"integer": _FOLDED * narrow * INTEGER * cycle},
        "tensor": {matrix: rates.tensor_cycles(counters.products) * cycle},
        "lsu": {
            "global": launch.traffic.l1_passes * L1_PASS * cycle,
            "shared": shared * SHARED_PASS * cycle,
            "operands": counters.wgmma_wavefronts * SHARED_PASS * cycle,
            "local": local / PASS_SECTORS * L1_PASS * cycle,
        },
        "l2": {"bytes": (mean + written) * L2_BYTE * cycle},
        "dram": {"bytes": launch.traffic.dram_bytes / card.dram_bytes_per_second},
        "latency": {
            "cached_load": waits.get("load", 0.0) * (1 - missed) / warps * turn,
            "load": waits.get("load", 0.0) * missed / warps * turn,
            "shared_load": waits.get("shared_load", 0.0) / warps * turn,
            "arithmetic": waits.get("arithmetic", 0.0) / warps * turn,
            "product": waits.get("product", 0.0) / warps * turn,
            "issue": (wide + _FOLDED * narrow) / warps * turn,
            "barrier": counters.barriers / blocks * turn,
            "wgmma": (counters.tensor_instructions if matrix == "wgmma" else 0) / warps * turn,
            **{kind: 0.0 if phases.get(kind) else wait for kind, wait in copies.items()},
        },
        "in_turn": {kind: max(wait, copies[kind]) for kind, wait in phases.items() if wait},
    }


def waiting_seconds(evidence: Evidence, launch: LaunchEvidence) -> float:
    """Return the seconds of a cycle that each block waits, for as many blocks as a multiprocessor runs in turn."""
    card, blocks = evidence.card, launch.working or launch.grid.size
    return ceil_div(blocks, card.multiprocessors * max(1, launch.occupancy.active_blocks)) / card.clock_hz


def resident_blocks(evidence: Evidence, launch: LaunchEvidence) -> int:
    """Return the blocks that the multiprocessor with the most blocks runs at a time."""
    most = ceil_div(launch.working or launch.grid.size, evidence.card.multiprocessors)
    return max(1, min(launch.occupancy.active_blocks, most))


def _sum(mix: Mapping[str, float], *names: str) -> float:
    return sum(mix.get(name, 0.0) for name in names)
