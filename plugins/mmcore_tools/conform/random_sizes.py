"""Random products of a kernel, other ones for each seed, for mistakes that no usual size shows.

A kernel may have special code for one row or column, count tiles in too few bits, or be wrong at every 48th k.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from typing import TypeAlias

WORK = 1 << 20
"""The m·n·k of the largest random product, in whole tiles."""

LONG_WORK = 1 << 23
"""The same of the one product of many steps along k."""

MOST_WORK = 1 << 22
"""The m·n·k of all random products of a config, in whole tiles, after which no more are tried."""

MANY_STEPS = 9
"""Steps along k that a ring of tiles in shared memory goes round twice in."""

_RANGES, _RANGE = 9, 16  # k in each of so many ranges
_LONG, _WIDE, _ANY = 4, 2, 3  # products of a long k, of a long m and n each, and of any sizes
_MOST = {"mn": 1024, "k": 4096}
_MANY_TILES = range(17, 21)
_GRANULARITIES = (1, 2, 4, 8, 16, 32, 64, 128)

Sizes: TypeAlias = tuple[int, int, int]


def random_sizes(rows: int, columns: int, step: int, rng: random.Random) -> Iterator[tuple[str, list[Sizes]]]:
    """Yield a reason, and sizes in decreasing order of preference: a kernel's constraints may forbid the first ones.

    Args:
        rows: the rows of a tile of C.
        columns: its columns.
        step: the least difference between two k.
        rng: the source of randomness.
    """
    m, n = (rng.choice(_MANY_TILES) * extent - rng.randrange(2) for extent in (rows, columns))
    yield "random many tiles", _preferences(m, n, rng.randint(1, 4), rows, columns)
    steps = MANY_STEPS + rng.randrange(4)
    yield "many steps along k", [(rows, columns, max(steps * step, 2 * k)) for k in (320, 160, 80, 40)]
    for number in range(_RANGES):
        yield "random k", _preferences(_few(rng), _few(rng), number * _RANGE + rng.randint(1, _RANGE), rows, columns)
    for number in range(_LONG):
        m, n = (_few(rng), 1) if number % 3 == 0 else (1, _few(rng)) if number % 3 == 1 else (_few(rng), _few(rng))
        longest = max(2 * _RANGES * _RANGE, min(_MOST["k"], WORK // (_whole(m, rows) * _whole(n, columns))))
        k = _logarithmic(rng, _RANGES * _RANGE, longest)
        yield "random long k", _preferences(m, n, k, rows, columns)
    for number in range(2 * _WIDE):
        long, few, k = _logarithmic(rng, 32, _MOST["mn"]), rng.choice((1, _few(rng))), rng.randint(1, 24)
        m, n = (long, few) if number % 2 else (few, long)
        yield f"random long {'m' if number % 2 else 'n'}", _preferences(m, n, k, rows, columns)
    for _ in range(_ANY):
        m, n, k = (rng.randint(1, 80) for _ in "mnk")
        yield "random sizes", _preferences(m, n, k, rows, columns)


def affordable(sizes: Sizes, why: str, rows: int, columns: int) -> bool:
    """Return whether a random product is small enough, in whole tiles."""
    most = {"many steps along k": LONG_WORK, "random many tiles": 2 * WORK}.get(why, WORK)
    return work(sizes, rows, columns) <= most


def work(sizes: Sizes, rows: int, columns: int) -> int:
    """Return m·n·k in whole tiles."""
    m, n, k = sizes
    return _whole(m, rows) * _whole(n, columns) * k


def _few(rng: random.Random) -> int:
    """Return a small number of rows or columns."""
    return rng.choice((1, 2, 3, rng.randint(4, 16), rng.randint(17, 40)))


def _logarithmic(rng: random.Random, least: int, most: int) -> int:
    """Return a number whose logarithm is uniform."""
    return round(math.exp(rng.uniform(math.log(least), math.log(most))))


def _whole(size: int, extent: int) -> int:
    return -(-size // extent) * extent


def _preferences(m: int, n: int, k: int, rows: int, columns: int) -> list[Sizes]:
    """Return the sizes themselves and such as more kernels allow: multiples of small numbers, tiles and squares."""
    multiples = [(_whole(m, unit), _whole(n, unit), _whole(k, unit)) for unit in _GRANULARITIES]
    tiles = [(_whole(m, rows), _whole(n, columns), _whole(k, unit)) for unit in _GRANULARITIES]
    squares = [(size, size, size) for size in (min(m, n), *(_whole(min(m, n), unit) for unit in _GRANULARITIES[1:]))]
    return [*multiples, *tiles, *squares]
