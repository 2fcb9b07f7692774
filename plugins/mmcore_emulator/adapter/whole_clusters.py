"""Sizes that a declaration allows, but whose grid is no whole number of thread block clusters."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

from mmcore.kernel.geometry import Dim3, uncut
from mmcore.kernel.launch import Launch
from mmcore.kernel.problem import Problem
from mmcore.planning.plan import Plan
from mmcore_emulator.adapter.allowed_sizes import AllowedSizes
from mmcore_emulator.adapter.examination_report import Tried

REFUSED_LAUNCH = "refused-launch"
"""The kind of the fault."""


def undivided(sizes: AllowedSizes, problem: Problem) -> str:
    """Return why a product that is allowed cannot be launched, and the missing constraint; "" if it can be."""
    planned = sizes.planned(problem, math.inf)
    if planned is None:
        return ""
    for launch, cluster in _clusters(sizes, planned):
        if reason := uncut(launch.grid_dim, cluster):
            return f"the declaration allows it, but {reason}{_missing(sizes, problem, cluster)}"
    return ""


def cluster_size(sizes: AllowedSizes, problem: Problem) -> int:
    """Return the blocks of the largest cluster that the launches of a product have."""
    planned = sizes.planned(problem, math.inf)
    return max((cluster.size for _, cluster in _clusters(sizes, planned)), default=1) if planned else 1


def is_refused(tried: Tried) -> bool:
    """Return whether a product was not launched, although its declaration allows it."""
    return any(each.kind == REFUSED_LAUNCH for each in tried.violations)


def _clusters(sizes: AllowedSizes, planned: Plan) -> Iterator[tuple[Launch, Dim3]]:
    """Yield each launch of a plan and its clusters, as the launch or the source says."""
    functions = sizes.functions(planned)
    for launch in planned.launches:
        yield launch, Dim3(*(launch.cluster or functions[planned.entry(launch)].cluster or (1, 1, 1)))


def _missing(sizes: AllowedSizes, problem: Problem, cluster: Dim3) -> str:
    """Return the least multiple of m or n that makes the clusters whole, as a clause; "" if neither does alone."""
    tiles = zip("mn", sizes.tile, strict=True)
    for (axis, tile), inside in itertools.product(tiles, sorted(set(cluster) - {1})):
        step = tile * inside
        extents = {name: getattr(problem, name) for name in "mnk"}
        problems = (sizes.kernel.problem(**{**extents, axis: step * times}) for times in (1, 2, 3))
        launches = (sizes.kernel.launches(each, sizes.config, sizes.device) for each in problems)
        grids = [launch.grid_dim for several in launches for launch in several]
        if not any(uncut(grid, cluster) for grid in grids):
            return f': the constraint Multiple("{axis}", {step}) is missing'
    return ""
