"""How much of C a block computes: the sizes at which the launch rule asks for more blocks tell."""

from __future__ import annotations

from collections.abc import Callable

from mmcore.errors import InvalidKernel
from mmcore.kernel.geometry import Dim3
from mmcore.kernel.declaration import Kernel
from mmcore.kernel.properties import DeviceProperties
from mmcore.planning.plan import launches
from mmcore.kernel.problem import Problem

USUAL_TILE = 64
"""Rows and columns taken for a tile where the rule does not tell, as it always asks for as many blocks."""

_LARGEST_TILE = 512


def tile(kernel: Kernel, base: Problem, block: Dim3, limits: DeviceProperties) -> tuple[int, int]:
    """Rows and columns of C that a block of the first launch computes; :data:`USUAL_TILE` where that cannot be found.

    Args:
        kernel: the kernel.
        base: a product that it computes, of which m and n are varied.
        block: threads per block.
        limits: those of a device.
    """

    def blocks(axis: str, size: int) -> int:
        varied = kernel.problem(size if axis == "m" else base.m, size if axis == "n" else base.n, base.k)
        return launches(kernel, varied, block, limits)[0].grid_dim.size

    def extent(axis: str) -> int:
        try:
            return _period(lambda size: blocks(axis, size))
        except InvalidKernel:
            return USUAL_TILE

    return extent("m"), extent("n")


def _period(blocks: Callable[[int], int]) -> int:
    """The largest size for which there are as many blocks as for the first that has any."""
    least = blocks(1)
    low, high = 1, _LARGEST_TILE + 1
    if blocks(high) == least:
        return USUAL_TILE
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if blocks(middle) == least else (low, middle)
    # A rule that rounds down has no block at all below the first whole tile.
    return low if least else high
