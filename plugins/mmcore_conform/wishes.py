"""The sizes that every kernel should be tried with, if its constraints allow them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from mmcore.kernel.geometry import Dim3

USUAL_WORK = 1 << 21
"""m·n·k of the largest product that is tried if smaller ones are allowed: a second of emulation, and several blocks."""

Sizes: TypeAlias = tuple[int, int, int]

_DEPTHS = (8, 16, 32, 64, 96, 120, 128)
_REST = 33


def wishes(block: Dim3) -> Iterator[tuple[str, Sizes]]:
    """What every kernel should be tried with, if its constraints allow it."""
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

    How deep a kernel's tiles are nobody tells; that of most divides a power of two, 96 or 120.
    """
    depths = [k for k in _DEPTHS if rows * columns * k <= USUAL_WORK] or _DEPTHS[:1]
    for k in depths:
        yield f"a whole tile, k = {k}", (rows, columns, k)
    size = max(rows, columns)
    if size**3 <= USUAL_WORK:
        yield "a whole tile, m = n = k", (size, size, size)
    yield "whole tiles and a rest", (rows + 1, columns + 1, _REST)
    if 4 * rows * columns * _REST <= USUAL_WORK:
        yield "whole tiles", (2 * rows, 2 * columns, _REST - 1)
        yield "whole tiles but for a row and a column", (2 * rows - 1, 2 * columns - 1, _REST - 2)


def grids_of_tiles(rows: int, columns: int) -> Iterator[tuple[str, list[Sizes]]]:
    """Grids of tiles, for mistakes that one or two do not show. Of each list the first that is allowed will do."""
    wide = [
        sizes
        for m, n in ((count * rows, count * columns) for count in (9, 5, 3))
        for sizes in ((m + 1, n + 1, 9), (m, n, 8), (m, n, 32))
    ]
    yield "a wide and tall grid of tiles", [(m, n, k) for m, n, k in wide if m * n * k <= USUAL_WORK]
    yield "a deep grid of tiles", deep_grid(rows, columns)


def deep_grid(rows: int, columns: int) -> list[Sizes]:
    """Two tiles each way, with a rest or without one, and as deep as is affordable."""
    m, n = 2 * rows, 2 * columns
    k = next((k for k in (256, 128, 64) if (m + 1) * (n + 1) * (k + 1) <= USUAL_WORK), 32)
    return [(m + 1, n + 1, k + 1), (m, n, k)]


def _primes(*least: int) -> Sizes:
    """Three different primes, each at least as large as asked for."""
    primes: list[int] = []
    for number in least:
        while number in primes or number < 2 or any(number % divisor == 0 for divisor in range(2, number)):
            number += 1
        primes.append(number)
    m, n, k = primes
    return m, n, k
