"""Times of the lectures' kernels on the H200, and the lectures' own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from mmcore_tools.plots.published import published

OF_CUBLAS = 3
"""The place of of-cublas.json among the files of times."""


class Point(NamedTuple):
    """A figure's subject: m = n = k, square blocks, and a measure such as "kernel warm" or "end-to-end pinned"."""

    kernel: str
    n: int
    block: int
    measure: str = "kernel warm"


def point_of(benchmark: Mapping[str, Any]) -> Point:
    """Return the subject of a saved benchmark."""
    info = benchmark["extra_info"]
    how = info["memory"] if info["measure"] == "end-to-end" else info["caches"]
    return Point(info["kernel"], info["problem"]["n"], info["config"]["block"][0], f"{info['measure']} {how}")


def measured(*documents: Mapping[str, Any]) -> dict[Point, float]:
    """Return median times in seconds."""
    return {point_of(each): float(each["stats"]["median"]) for found in documents for each in found["benchmarks"]}


def printed() -> dict[Point, float]:
    """Return the lectures' own times in seconds."""
    return {point: seconds for point, _, seconds in printed_rows()}


def printed_rows() -> list[tuple[Point, str, float]]:
    """Return the lectures' own figures: subject, GPU, seconds."""
    return [(Point(x.kernel, x.n, x.block, f"{x.measure} {x.how}"), x.gpu, x.ms / 1e3) for x in published()]
