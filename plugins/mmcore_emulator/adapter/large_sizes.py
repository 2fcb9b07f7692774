"""The least products beyond the large numbers that a kernel's code compares m, n and k with, in all combinations."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence

from mmcore.kernel.geometry import ceil_div
from mmcore.planning.plan import Plan
from mmcore_emulator.adapter.reached_sides import is_on_sizes, parameter_names
from mmcore_emulator.conditions.expressions import Argument, Condition, leaves
from mmcore_emulator.ptx.instructions import Function
from mmcore_emulator.ptx.types import Constant

WHOLE_K = 64
"""Whole steps along k for most kernels."""

_LEAST, _LARGEST = 64, 1 << 16  # numbers that count as large
_MOST = 3  # numbers of an axis, the largest ones
_ROUND = 64  # sizes of a path for large products are often multiples of it


def are_large(condition: Condition) -> bool:
    """Return whether a comparison depends on arguments alone, with a number that small tiles do not reach."""
    of_arguments = any(isinstance(leaf, Argument) for leaf in leaves(condition.outcome)) and is_on_sizes(condition)
    return of_arguments and any(number >= _LEAST for number in compared_numbers(condition))


def compared_numbers(condition: Condition) -> Iterator[int]:
    """Yield the magnitudes of the constants of a condition."""
    for leaf in leaves(condition.outcome):
        if isinstance(leaf, Constant) and leaf.type == "int":
            yield abs(leaf.bits - 2**64 if leaf.bits >= 2**63 else leaf.bits)


def large_products(
    comparisons: Sequence[tuple[int, Condition]], planned: Plan, functions: Sequence[Function], tile: tuple[int, int]
) -> list[tuple[int, int, int]]:
    """Return whole tiles just beyond large numbers along some axes, with a tile along the others; and squares.

    The last product is beyond all numbers. A number that m·n is compared with counts as its root for m and for n.
    """
    rows, columns = tile
    numbers = numbers_by_axis(comparisons, planned, functions, _LEAST)
    levels = []
    for axis, extent in zip("mnk", (rows, columns, WHOLE_K), strict=True):
        step = math.lcm(extent, _ROUND)
        beyond = (ceil_div(each + more, step) * step for each in sorted(numbers[axis])[-_MOST:] for more in (0, 1))
        levels.append([extent, *beyond])
    squares = ((side, side, side) for side in sorted({side for level in levels for side in level[1:]}))
    m, n, k = levels
    return list(dict.fromkeys([*squares, *itertools.product(m, n, k)]))


def numbers_by_axis(
    comparisons: Sequence[tuple[int, Condition]], planned: Plan, functions: Sequence[Function], least: int
) -> Mapping[str, set[int]]:
    """Return the numbers from a least one on that each size is compared with.

    Those of unnamed parameters count for all sizes.
    """
    names = [parameter_names(planned, number, function) for number, function in enumerate(functions)]
    numbers: dict[str, set[int]] = {axis: set() for axis in "mnk"}
    for launch, condition in comparisons:
        named = {leaf.name: 0 for leaf in leaves(condition.outcome) if isinstance(leaf, Argument)}
        axes = {names[launch][name] for name in named if name in names[launch]} & {*"mnk"}
        for number in compared_numbers(condition):
            root = math.ceil(number ** (1 / max(1, len(axes))))
            if least <= root <= _LARGEST:
                for axis in axes or "mnk":
                    numbers[axis].add(root)
    return numbers
