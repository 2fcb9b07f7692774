"""Products whose sizes end in a part of a tile, also beyond the numbers that a kernel's code compares sizes with.

A path for sizes that are multiples of a vector's width, or larger than a number, may forget the ends of tiles.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence, Set

from mmcore.kernel.geometry import ceil_div
from mmcore.kernel.problem import Problem
from mmcore_emulator.adapter.large_sizes import WHOLE_K

_REMAINDERS = (1, 2, 4, 8, 16)  # odd multiples of these: the widths of vectors, their halves, and none
_TIMES = {"m": 3, "n": 5, "k": 1}
_WHOLE_STEP = 32  # multiples of it along k count as whole steps
_MOST = 2  # numbers of an axis, the largest ones
_LARGEST = 2048


def remainders(problem: Problem, tile: tuple[int, int]) -> str:
    """Return the axes of a product that end in a part of a tile, or of a step along k."""
    sizes = ("m", problem.m, tile[0]), ("n", problem.n, tile[1]), ("k", problem.k, _WHOLE_STEP)
    return "".join(axis for axis, size, step in sizes if size % step)


def remainder_products(numbers: Mapping[str, Set[int]], tile: tuple[int, int]) -> Sequence[tuple[int, int, int]]:
    """Return products with remainders of one axis or more, small ones and just beyond numbers of each axis."""
    steps = {"m": tile[0], "n": tile[1], "k": WHOLE_K}
    sizes = dict[tuple[int, int, int], None]()
    for remainder in _REMAINDERS:
        levels = []
        for axis, step in steps.items():
            part = _TIMES[axis] * remainder
            least = {"m": (step, part), "n": (step, part), "k": (step, _WHOLE_STEP + part)}[axis]
            limits = sorted(each for each in numbers[axis] if each <= _LARGEST)[-_MOST:]
            beyond = (ceil_div(each, step) * step for each in limits)
            levels.append(dict.fromkeys([*least, *(size for each in beyond for size in (each, each + part))]))
        m, n, k = levels
        sizes |= dict.fromkeys(itertools.product(m, n, k))
    return [*sizes]


def larger_products(size: tuple[int, int, int], tile: tuple[int, int]) -> list[tuple[int, int, int]]:
    """Return slightly larger products than one of whole tiles: with remainders of all axes, and then of k alone."""
    (m, n, k), (rows, columns) = size, tile
    of_all = ((m + _TIMES["m"] * each, n + _TIMES["n"] * each, k + each) for each in _REMAINDERS)
    return [(m + rows // 2 + 1, n + columns // 4 + 1, k + 3), *of_all, *((m, n, k + each) for each in _REMAINDERS)]
