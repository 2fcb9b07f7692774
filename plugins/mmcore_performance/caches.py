"""The bytes between the levels of memory, estimated from the sectors that the blocks of a launch touch."""

from __future__ import annotations

import math

from mmcore.kernel.problem import Problem
from mmcore_cuda.occupancy.theoretical import Occupancy
from mmcore_emulator.profiler.counters import SECTOR_BYTES, SECTORS, total
from mmcore_performance.cards import Card
from mmcore_performance.counted import Counts
from mmcore_performance.evidence import Traffic

_THROUGH_L1 = ("load", "store", "atomic")  # asynchronous copies take passes over shared memory alone, by ncu


def traffic_of(counts: Counts, blocks: int, occupancy: Occupancy, problem: Problem, card: Card) -> Traffic:
    """Return the traffic of a launch of ``blocks`` blocks.

    The L1 cache is taken to hold what a block loads more than once. Asynchronous copies, stores and atomics pass it.
    The L2 cache holds A, B and C if they fit; else each wave of blocks reads its rows of A and columns of B again.
    """
    counters = total(counts.lines.values())
    passing = sum(getattr(counters, name) for name in SECTORS if name != "global_load_sectors")
    l2_bytes = SECTOR_BYTES * (passing + min(counts.distinct.get("load", 0), counters.global_load_sectors))
    return Traffic(
        l2_bytes=l2_bytes,
        dram_bytes=min(l2_bytes, _dram_bytes(problem, blocks, occupancy, card)),
        l1_passes=sum(counts.passes.get(kind, 0.0) for kind in _THROUGH_L1),
        joined_passes=counts.passes.get("joined", 0.0),
    )


def _dram_bytes(problem: Problem, blocks: int, occupancy: Occupancy, card: Card) -> float:
    """Return the bytes of device memory that a product moves from a warm L2 cache."""
    itemsize = problem.dtype_of("A").itemsize
    if problem.compulsory_bytes <= card.cache_bytes:
        return 0.0
    resident = min(blocks, card.multiprocessors * max(1, occupancy.active_blocks))
    waves = blocks / resident
    side = math.sqrt(problem.m * problem.n / waves)  # of the part of C that a wave computes
    inputs = 2 * side * problem.k * itemsize * waves
    return max(problem.compulsory_bytes, inputs)
