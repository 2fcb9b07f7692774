"""The lectures' conclusions: which variant is faster, then and now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from bench.studies.tables.markdown import markdown
from bench.studies.tables.sources import Point, baseline_seconds, published_points


class Comparison(NamedTuple):
    """Two published figures of one lecture, compared by their rates, because their sizes may differ."""

    what: str
    first: Point
    second: Point


def _of_kernels(first: str, second: str, n: int, *blocks: int) -> list[Comparison]:
    what = f"{first} over {second.partition('.')[2]}"
    return [Comparison(what, Point(first, n, b, "kernel warm"), Point(second, n, b, "kernel warm")) for b in blocks]


def _of_blocks(kernel: str, n: int, *blocks: int) -> list[Comparison]:
    points = [Point(kernel, n, b, "kernel warm") for b in blocks]
    return [
        Comparison(f"{kernel}: b={larger.block} over b={smaller.block}", larger, smaller)
        for smaller, larger in pairwise(points)
    ]


def _of_remainders(kernel: str, block: int) -> Comparison:
    whole, rest = (Point(kernel, n, block, "kernel warm") for n in (640, 641))
    return Comparison(f"{kernel}, b={block}: 640 over 641", whole, rest)


def _of_memory(kernel: str) -> Comparison:
    pinned, pageable = (Point(kernel, 640, 32, f"end-to-end {memory}") for memory in ("pinned", "pageable"))
    return Comparison(f"{kernel}: end-to-end time, pinned over pageable", pinned, pageable)


def _between_sizes(first: str, n: int, second: str, at: int, block: int) -> Comparison:
    what = f"{first} at {n} over {second.partition('.')[2]} at {at}"
    return Comparison(what, Point(first, n, block, "kernel warm"), Point(second, at, block, "kernel warm"))


UPC = (
    *_of_kernels("upc.kernel10", "upc.kernel00", 640, 32),
    *_of_kernels("upc.kernel11", "upc.kernel01", 640, 32),
    *_of_kernels("upc.kernel11", "upc.kernel01", 641, 32),
    *_of_kernels("upc.kernel11", "upc.kernel01", 3200, 32),
    *_of_blocks("upc.kernel11", 640, 16, 32),
    *_of_blocks("upc.kernel11", 641, 16, 32),
    *(_of_remainders(kernel, b) for kernel, b in (("upc.kernel01", 32), ("upc.kernel11", 16), ("upc.kernel11", 32))),
    *(_of_memory(kernel) for kernel in ("upc.kernel00", "upc.kernel10")),
)
UNSA = (
    *_of_kernels("unsa.tiled", "unsa.traditional", 500, 5, 10, 20, 25),
    *_of_blocks("unsa.traditional", 500, 5, 10, 20, 25),
    *_of_blocks("unsa.tiled", 500, 5, 10, 20, 25),
)
POZNAN = (
    *_of_kernels("poznan.v2", "poznan.v1", 528, 8, 16, 22),
    *_of_kernels("poznan.v3", "poznan.v2", 528, 8, 16, 22),
    *(_between_sizes("poznan.v4a", 640, "poznan.v3", 528, b) for b in (8, 16)),
    *_of_kernels("poznan.v4b", "poznan.v4a", 640, 8, 16),
    *_of_kernels("poznan.v5", "poznan.v4a", 640, 8, 16),
    *(each for v in ("v1", "v2", "v3") for each in _of_blocks(f"poznan.{v}", 528, 8, 16, 22)),
    *(each for v in ("v4a", "v4b", "v5") for each in _of_blocks(f"poznan.{v}", 640, 8, 16)),
)
# The largest difference in hundredths at which neither is faster.
_SAME = 2


def conclusions(comparisons: Sequence[Comparison]) -> str:
    """Return the speed of the first of each two by the second's, as published and on the H200."""
    then, now = {point: seconds for point, _, seconds in published_points()}, baseline_seconds()
    rows = []
    for what, first, second in comparisons:
        n, b = (str(getattr(first, name)) for name in ("n", "block"))
        if first in now and second in now:
            was, is_now = (_times_faster(first, second, seconds) for seconds in (then, now))
            rows.append([what, n, b, f"{was:.2f}", f"{is_now:.2f}", still_holds(was, is_now)])
    header = "times faster | n | b | then | H200 | does it still hold?"
    return markdown(header, rows)


def _times_faster(first: Point, second: Point, seconds: Mapping[Point, float]) -> float:
    return (first.n**3 / seconds[first]) / (second.n**3 / seconds[second])


def still_holds(then: float, now: float) -> str:
    """Return "yes" if the same one of two is still the faster, or else what changed."""
    was, is_now = _side(then), _side(now)
    return "yes" if was == is_now else f"no: it was {was}, it is {is_now}"


def _side(times: float) -> str:
    hundredths = round(100 * times) - 100
    return "as fast" if abs(hundredths) <= _SAME else "faster" if hundredths > 0 else "slower"
