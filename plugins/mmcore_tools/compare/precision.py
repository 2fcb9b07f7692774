"""The digits of two kernels: their largest errors, and the types in which the second is less exact."""

from __future__ import annotations

from collections import defaultdict

from mmcore.cell import INPUTS
from mmcore.kernel.problem import accumulator_named
from mmcore.result import Result

_TYPES = {"elements": "dtype", "results": "output", "sums": "accumulator"}
"""What a kernel has of a type, and the attribute of its result."""


def less_exact(a: Result, b: Result) -> str:
    """Return what of B has fewer digits than A's, as "B's sums are float16, A's float32"; "" if nothing has."""
    pairs: dict[tuple[str, str], list[str]] = defaultdict(list)
    for what, attribute in _TYPES.items():
        first, second = (accumulator_named(getattr(result, attribute)) for result in (a, b))
        if second.unit_roundoff > first.unit_roundoff:
            pairs[second.name, first.name].append(what)
    return "; ".join(f"B's {_several(what)} are {now}, A's {before}" for (now, before), what in pairs.items())


def largest_error(result: Result) -> float | None:
    """Return the largest error of a result; None if it says nothing, as of numbers of all exponents."""
    return result.max_error if result.cell.inputs == INPUTS[0] else None


def _several(names: list[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last
