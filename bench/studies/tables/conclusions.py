"""The lectures' conclusions: which variant is faster, then and now."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from bench.studies.tables.times import Point, measured, printed


class Comparison(NamedTuple):
    """Two published figures of one lecture, compared by their rates, because their sizes may differ."""

    what: str
    first: Point
    second: Point


def _of_kernels(first: str, second: str, n: int, *blocks: int) -> list[Comparison]:
    what = f"{first} over {second.partition('.')[2]}"
    return [Comparison(what, Point(first, n, b), Point(second, n, b)) for b in blocks]


def _of_blocks(kernel: str, n: int, *blocks: int) -> list[Comparison]:
    return [
        Comparison(f"{kernel}: b={larger} over b={smaller}", Point(kernel, n, larger), Point(kernel, n, smaller))
        for smaller, larger in pairwise(blocks)
    ]


def _of_remainders(kernel: str, b: int) -> Comparison:
    return Comparison(f"{kernel}, b={b}: 640 over 641", Point(kernel, 640, b), Point(kernel, 641, b))


def _of_memory(kernel: str) -> Comparison:
    pinned, pageable = (Point(kernel, 640, 32, f"end-to-end {memory}") for memory in ("pinned", "pageable"))
    return Comparison(f"{kernel}: end-to-end time, pinned over pageable", pinned, pageable)


UPC = (
    *_of_kernels("upc.kernel10", "upc.kernel00", 640, 32),
    *(each for n in (640, 641, 3200) for each in _of_kernels("upc.kernel11", "upc.kernel01", n, 32)),
    *(each for n in (640, 641) for each in _of_blocks("upc.kernel11", n, 16, 32)),
    *(_of_remainders(kernel, b) for kernel, b in (("upc.kernel01", 32), ("upc.kernel11", 16), ("upc.kernel11", 32))),
    *(_of_memory(kernel) for kernel in ("upc.kernel00", "upc.kernel10")),
)
UNSA = (
    *_of_kernels("unsa.tiled", "unsa.traditional", 500, 5, 10, 20, 25),
    *(each for kernel in ("traditional", "tiled") for each in _of_blocks(f"unsa.{kernel}", 500, 5, 10, 20, 25)),
)
POZNAN = (
    *_of_kernels("poznan.v2", "poznan.v1", 528, 8, 16, 22),
    *_of_kernels("poznan.v3", "poznan.v2", 528, 8, 16, 22),
    *(
        Comparison("poznan.v4a at 640 over v3 at 528", Point("poznan.v4a", 640, b), Point("poznan.v3", 528, b))
        for b in (8, 16)
    ),
    *_of_kernels("poznan.v4b", "poznan.v4a", 640, 8, 16),
    *_of_kernels("poznan.v5", "poznan.v4a", 640, 8, 16),
    *(each for v in ("v1", "v2", "v3") for each in _of_blocks(f"poznan.{v}", 528, 8, 16, 22)),
    *(each for v in ("v4a", "v4b", "v5") for each in _of_blocks(f"poznan.{v}", 640, 8, 16)),
)
COMPARISONS: Mapping[str, Sequence[Comparison]] = {"upc": UPC, "unsa": UNSA, "poznan": POZNAN}
# The largest difference in hundredths at which neither is faster.
_SAME = 2


def conclusions(lecture: str, *documents: Any) -> Iterator[list[str]]:
    """Yield the speed of the first of each two by the second's, as published and on the H200."""
    then, now = printed(), measured(*documents)
    for what, first, second in COMPARISONS[lecture]:
        if first in now and second in now:
            was, is_now = (_times_faster(first, second, seconds) for seconds in (then, now))
            answer = still_holds(was, is_now)
            yield [what, str(first.n), str(first.block), f"{was:.2f}", f"{is_now:.2f}", answer]


def _times_faster(first: Point, second: Point, seconds: Mapping[Point, float]) -> float:
    return (first.n**3 / seconds[first]) / (second.n**3 / seconds[second])


def still_holds(then: float, now: float) -> str:
    """Return "yes" if the same one of two is still the faster, or else what changed."""
    was, is_now = _side(then), _side(now)
    return "yes" if was == is_now else f"no: it was {was}, it is {is_now}"


def _side(times: float) -> str:
    hundredths = round(100 * times) - 100
    return "as fast" if abs(hundredths) <= _SAME else "faster" if hundredths > 0 else "slower"
