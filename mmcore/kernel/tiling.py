"""The division of a product among blocks, from which the time of a config is estimated."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from mmcore.kernel.configs import Config
from mmcore.kernel.problem import Problem
from mmcore.kernel.properties import DeviceProperties

_LANES = 32
"""Threads of a warp."""


@dataclass(frozen=True)
class Tiling:
    """The tiles of a product.

    Attributes:
        rows, columns: extents of the tile of C that a block computes.
        depth: extent along k of a step, whose parts of A and B are in one stage.
        reads: elements that all threads of a block read from shared memory for 1 of k.
        stages: number of steps whose parts of A and B a block holds.
        sharing: number of blocks of a cluster that fetch a part of B together.
        turned: whether the kernel computes Cᵀ, so that rows are along n.
    """

    rows: int
    columns: int
    depth: int
    reads: int
    stages: int = 1
    sharing: int = 1
    turned: bool = False


TilingRule: TypeAlias = Callable[[Problem, Config, DeviceProperties], Tiling]


def named_tiling(problem: Problem, config: Config, device: DeviceProperties) -> Tiling:
    """Return the tiling of a config whose parameters have the usual names.

    BM, BN and BK are a block's tile, STAGES the number of stages. A thread multiplies TM×TN elements of C (by default
    one), or tensor cores multiply a warp's WM×WN.
    """
    threads, warps = config.block.size, config.block.size // _LANES
    if "WM" in config and "TM" not in config:
        reads = warps * (config.WM + config.WN)
    else:
        reads = threads * (config.get("TM", 1) + config.get("TN", 1))
    return Tiling(config.BM, config.BN, config.BK, reads, config.get("STAGES", 1))
