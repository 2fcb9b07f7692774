"""The lectures' conclusions: which variant is faster, then and now."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bench.studies.tables.lectures import Point, measured, printed

# The largest difference in hundredths at which neither is faster.
_SAME = 2


def conclusions(comparisons: Sequence[str], *documents: Any) -> Iterator[list[str]]:
    """Yield the speed of the first of each two by the second's, as published and on the H200.

    Two published figures of one lecture are compared by their rates, because their sizes may differ.
    """
    then, now = printed(), measured(*documents)
    for comparison in comparisons:
        first, second = (_point(*text.split(" ", 3)) for text in comparison.split(" / "))
        if first in now and second in now:
            was, is_now = (_times_faster(first, second, seconds) for seconds in (then, now))
            cells = [str(first.n), str(first.block), f"{was:.2f}", f"{is_now:.2f}", still_holds(was, is_now)]
            yield [_title(first, second), *cells]


def _point(kernel: str, n: str, block: str, measure: str = "kernel warm") -> Point:
    return Point(kernel, int(n), int(block), measure)


def _title(first: Point, second: Point) -> str:
    """Return the difference of two points in words."""
    if first.measure != second.measure:
        return f"{first.kernel}: end-to-end time, pinned over pageable"
    if first.kernel == second.kernel:
        if first.n == second.n:
            return f"{first.kernel}: b={first.block} over b={second.block}"
        return f"{first.kernel}, b={first.block}: {first.n} over {second.n}"
    other = second.kernel.partition(".")[2]
    if first.n == second.n:
        return f"{first.kernel} over {other}"
    return f"{first.kernel} at {first.n} over {other} at {second.n}"


def _times_faster(first: Point, second: Point, seconds: Mapping[Point, float]) -> float:
    return (first.n**3 / seconds[first]) / (second.n**3 / seconds[second])


def still_holds(then: float, now: float) -> str:
    """Return "yes" if the same one of two is still the faster, or else what changed."""
    was, is_now = _side(then), _side(now)
    return "yes" if was == is_now else f"no: it was {was}, it is {is_now}"


def _side(times: float) -> str:
    hundredths = round(100 * times) - 100
    return "as fast" if abs(hundredths) <= _SAME else "faster" if hundredths > 0 else "slower"
