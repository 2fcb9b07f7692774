"""The sizes that every kernel is tested with, if its constraints allow them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import TypeAlias

from mmcore.errors import InvalidKernel
from mmcore.kernel.configs import Config
from mmcore.kernel.declaration import Kernel
from mmcore.kernel.geometry import Dim3
from mmcore.kernel.problem import Problem
from mmcore.kernel.properties import DeviceProperties
from mmcore.planning.plan import launches

USUAL_WORK = 1 << 21
"""m·n·k of the largest product that is tested if smaller ones are allowed: several blocks, a second of emulation."""

USUAL_TILE = 64
"""Rows and columns taken for a tile where the grid does not tell, as it is the same for every size."""

Sizes: TypeAlias = tuple[int, int, int]

_LARGEST_TILE = 512


def usual_sizes(block: Dim3) -> Iterator[tuple[str, Sizes]]:
    """Size 1, primes, sizes around the block, and products that are long along one axis."""
    x, y = block.x, block.y
    yield "size 1", (1, 1, 1)
    yield "k smaller than the tile", (y + 1, x + 1, max(1, min(x, 32) // 2 - 1))
    yield "prime sizes", _primes(y + 1, x + 1, min(x, 32) + 1)
    yield "blocks and a rest", (2 * y + 1, 2 * x + 1, 2 * x + 1)
    yield "one row", (1, x + 2, y + 1)
    yield "one column", (y + 2, 1, x + 1)
    yield "k = 1", (y + 1, x + 2, 1)
    yield "one less than a block", (max(1, y - 1), max(1, x - 1), max(1, x - 1))
    yield "one more than a block", (y + 1, x + 1, x + 1)
    yield "wide", (y, 3 * x, 2 * x)
    yield "tall", (3 * y, x, 2 * x)
    yield "deep", (y, 2 * x, 3 * x)


def whole_tiles(rows: int, columns: int) -> Iterator[tuple[str, Sizes]]:
    """Tiles without a remainder, for which a kernel may have code of its own, in m, in n and in k.

    The depth of a kernel's tiles is not known; most divide a power of two, 96 or 120.
    """
    for k in (8, 16, 32, 64, 96, 120, 128):
        if k == 8 or rows * columns * k <= USUAL_WORK:
            yield f"a whole tile, k = {k}", (rows, columns, k)
    size = max(rows, columns)
    yield "a whole tile, m = n = k", (size, size, size)
    yield "whole tiles and a rest", (rows + 1, columns + 1, 33)
    yield "whole tiles", (2 * rows, 2 * columns, 32)
    yield "whole tiles but for a row and a column", (2 * rows - 1, 2 * columns - 1, 31)


def wide_grid(rows: int, columns: int) -> list[Sizes]:
    """Many tiles each way, for mistakes that one or two do not show."""
    counts = ((count * rows, count * columns) for count in (9, 5, 3))
    wide = [sizes for m, n in counts for sizes in ((m + 1, n + 1, 9), (m, n, 8), (m, n, 32))]
    return [(m, n, k) for m, n, k in wide if m * n * k <= USUAL_WORK]


def deep_grid(rows: int, columns: int) -> list[Sizes]:
    """Two tiles each way, with a rest or without one, and as deep as is affordable."""
    m, n = 2 * rows, 2 * columns
    k = next((k for k in (256, 128, 64) if (m + 1) * (n + 1) * (k + 1) <= USUAL_WORK), 32)
    return [(m + 1, n + 1, k + 1), (m, n, k)]


def tile(kernel: Kernel, base: Problem, config: Config, device: DeviceProperties) -> tuple[int, int]:
    """Rows and columns of C that a block of the first launch computes, as the grid tells; else :data:`USUAL_TILE`."""

    def extent(axis: str) -> int:
        def blocks(size: int) -> int:
            varied = kernel.problem(size if axis == "m" else base.m, size if axis == "n" else base.n, base.k)
            return launches(kernel, varied, config, device)[0].grid_dim.size

        try:
            return _period(blocks)
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
    # A grid that is rounded down has no block at all below the first whole tile.
    return low if least else high


def _primes(*least: int) -> Sizes:
    """Three different primes, each at least as large as asked for."""
    primes: list[int] = []
    for start in least:
        candidates = (number for number in itertools.count(max(start, 2)) if number not in primes)
        primes.append(next(number for number in candidates if all(number % divisor for divisor in range(2, number))))
    m, n, k = primes
    return m, n, k
