"""Launch rules and configs that the comment at the top of a kernel's file cannot express."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from mmcore import Config, DeviceProperties, Launch, Problem, Scalar, Space, ceil_div


def slices_of_k(problem: Problem, config: Config, device: DeviceProperties) -> list[Launch]:
    """Return four launches, one for each quarter of k, whose bounds are passed as numbers of other types."""
    grid = ceil_div(problem.n, 16), ceil_div(problem.m, 16)
    bounds = pairwise(problem.k * quarter // 4 for quarter in range(5))
    slices = [(Scalar(begin, "uint16"), Scalar(end, "int64")) for begin, end in bounds]
    return [Launch(grid, config.block, arguments=("A", "B", "C", "m", "n", "k", begin, end)) for begin, end in slices]


def whole_tiles_of_k(problem: Problem, config: Config, device: DeviceProperties) -> list[Launch]:
    """Return a launch for each 16 terms of k, rounded down to whole tiles, but at least one."""
    grid = ceil_div(problem.n, config.block.x), ceil_div(problem.m, config.block.y)
    starts = range(0, max(16, problem.k // 16 * 16), 16)
    return [Launch(grid, config.block, arguments=("A", "B", "C", "m", "n", "k", Scalar(start))) for start in starts]


def inside_and_edges(problem: Problem, config: Config, device: DeviceProperties) -> list[Launch]:
    """Return a launch for the whole tiles of C, and one each for the edges on its right and at its bottom."""
    m, n = problem.m // 16 * 16, problem.n // 16 * 16
    launches = [Launch((n // 16, m // 16), (16, 16), entry="inside")] if m and n else []
    for top, left, rows, columns in ((0, n, m, problem.n - n), (m, 0, problem.m - m, problem.n)):
        if rows and columns:
            edge = Scalar(top), Scalar(left), Scalar(columns)
            grid = ceil_div(columns, 64), rows
            launches.append(Launch(grid, (64,), entry="edge", arguments=("A", "B", "C", "n", "k", *edge)))
    return launches


def z_curve(problem: Problem, config: Config) -> tuple[int]:
    """Return a flat grid of tiles of 8 by 8, whose number is a power of four."""
    tiles = max(ceil_div(problem.n, 8), ceil_div(problem.m, 8))
    return (4 ** (tiles - 1).bit_length(),)


TEMPLATES = Space(
    {"BM": (16, 8), "BN": (8,), "BK": (4, 8), "block": lambda config: (config.BM * config.BN // 2,)},
    where=lambda config: config.BM != config.BK,
)

DECLARED: Mapping[str, Mapping[str, Any]] = {
    "slices_of_k": {"launch": slices_of_k},
    "whole_tiles_of_k": {"launch": whole_tiles_of_k},
    "inside_and_edges": {"launch": inside_and_edges},
    "z_curve": {"grid": z_curve, "configs": [{"block": (64,)}]},
    "template": {"entry": "acme::tiled<{BM}, {BN}, {BK}>", "configs": TEMPLATES},
}
"""Attributes of :class:`mmcore.Kernel`, by the name that a kernel's file gives."""
