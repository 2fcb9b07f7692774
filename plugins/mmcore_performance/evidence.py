"""The evidence on which a prediction and its reasons rest: counts, machine code and resources of each launch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from mmcore.kernel.configs import Config
from mmcore.kernel.declaration import Kernel
from mmcore.kernel.geometry import Dim3
from mmcore.kernel.problem import Problem
from mmcore_cuda.occupancy.theoretical import Occupancy
from mmcore_emulator.profiler.counters import Counters, Line
from mmcore_performance.cards import Card


@dataclass(frozen=True)
class Traffic:
    """Bytes that a launch moves between the levels of memory, estimated from the addresses of a small product.

    Attributes:
        l2_bytes: that multiprocessors move to and from the L2 cache: each block's distinct sectors.
        dram_bytes: that the L2 cache moves to and from device memory.
        l1_passes: passes of global accesses through the L1 cache's data pipe, a line of 128 bytes each.
        joined_passes: passes over shared memory that are saved by loads that the assembler joins.
    """

    l2_bytes: float
    dram_bytes: float
    l1_passes: float = 0.0
    joined_passes: float = 0.0


@dataclass(frozen=True)
class LaunchEvidence:
    """The evidence of one launch of a product.

    Attributes:
        entry: name of the compiled function.
        grid, block: the launch of the requested product.
        occupancy: the blocks and warps that a multiprocessor of the card keeps active.
        lines: counters by line of source, of the whole grid, scaled from small products to the requested one.
        traffic: bytes between the levels of memory.
        mix: instructions of warps by class, as of :class:`~mmcore_performance.traffic.CacheCounting`.
        waits: waits of warps by kind, as of the same.
        working: blocks of the grid that have something to do; all if 0.
    """

    entry: str
    grid: Dim3
    block: Dim3
    occupancy: Occupancy
    lines: Mapping[Line, Counters]
    traffic: Traffic
    mix: Mapping[str, float] = field(default_factory=dict)
    waits: Mapping[str, float] = field(default_factory=dict)
    working: int = 0


@dataclass(frozen=True)
class Evidence:
    """The evidence of a kernel in one product on one card."""

    kernel: Kernel
    config: Config
    problem: Problem
    card: Card
    launches: tuple[LaunchEvidence, ...]
