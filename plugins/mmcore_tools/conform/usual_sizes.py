"""Sizes around a block and a tile, which show most mistakes of kernels, and sizes around another product's."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import replace

from mmcore.kernel.geometry import Dim3
from mmcore.kernel.problem import Problem

_LARGEST_INT = 2**31 - 1


def usual_sizes(block: Dim3, rows: int, columns: int, work: int) -> Iterator[tuple[str, tuple[int, int, int]]]:
    """Yield size 1, primes, sizes around the block, products with one long axis, and whole tiles up to a work m·n·k.

    A kernel may have special code for tiles without a remainder, in m, in n and in k. The depth of its tiles is
    unknown; most depths divide a power of two, 96 or 120.
    """
    x, y = block.x, block.y
    yield "size 1", (1, 1, 1)
    yield "k smaller than the tile", (y + 1, x + 1, max(1, min(x, 32) // 2 - 1))
    m = _prime(y + 1)
    n = _prime(x + 1, m)
    yield "prime sizes", (m, n, _prime(min(x, 32) + 1, m, n))
    yield "blocks and a rest", (2 * y + 1, 2 * x + 1, 2 * x + 1)
    yield "one row", (1, x + 2, y + 1)
    yield "one column", (y + 2, 1, x + 1)
    yield "k = 1", (y + 1, x + 2, 1)
    yield "one less than a block", (max(1, y - 1), max(1, x - 1), max(1, x - 1))
    yield "one more than a block", (y + 1, x + 1, x + 1)
    yield "wide", (y, 3 * x, 2 * x)
    yield "tall", (3 * y, x, 2 * x)
    yield "deep", (y, 2 * x, 3 * x)
    depths = (k for k in (8, 16, 32, 64, 96, 120, 128) if k == 8 or rows * columns * k <= work)
    yield from ((f"a whole tile, k = {k}", (rows, columns, k)) for k in depths)
    size = max(rows, columns)
    yield "a whole tile, m = n = k", (size, size, size)
    yield "whole tiles and a rest", (rows + 1, columns + 1, 33)
    yield "whole tiles", (2 * rows, 2 * columns, 32)
    yield "whole tiles but for a row and a column", (2 * rows - 1, 2 * columns - 1, 31)


def varied(base: Problem, axes: Iterable[str], changes: Iterable[tuple[int, int]]) -> Iterator[Problem]:
    """Yield the base with some sizes multiplied by a factor and increased by a number, if they fit a C int."""
    for factor, number in changes:
        sizes = {axis: factor * getattr(base, axis) + number for axis in axes}
        if all(1 <= size <= _LARGEST_INT for size in sizes.values()):
            yield replace(base, **{"lda": 0, "ldb": 0, "ldc": 0, **sizes})


def _prime(least: int, *others: int) -> int:
    """Return the first prime from ``least`` on, without the others."""
    numbers = (number for number in itertools.count(max(least, 2)) if number not in others)
    return next(number for number in numbers if all(number % divisor for divisor in range(2, number)))
