"""Reasons in the accesses to shared memory: bank conflicts."""

from __future__ import annotations

from collections.abc import Iterable

from mmcore_emulator.profiler.coalescing import BANKS
from mmcore_performance.costs import Costs
from mmcore_performance.observation import Observation, ObservedLaunch
from mmcore_performance.reasons.reason import Reason
from mmcore_performance.sites import Site

_WORD = 4


def find(observation: Observation, launch: ObservedLaunch) -> Iterable[Reason]:
    """Yield the reasons."""
    for site in launch.sites:
        if site.place.space == "shared" and site.conflicts:
            yield _conflicts(site)


def _conflicts(site: Site) -> Reason:
    place, stride = site.place, abs(site.stride or 0)
    passes, least = site.wavefronts / site.requests, (site.wavefronts - site.conflicts) / site.requests
    since = f", since neighbouring threads access elements {stride:,} bytes apart" if stride > place.nbytes else ""
    if stride and stride % (BANKS * _WORD) == 0:
        since += ", which is the same bank"
    return Reason(
        "bank conflicts",
        f"a warp's {place.kind} of {place.array} takes {passes:.3g} passes over shared memory where {least:.3g} would "
        f"do{since}",
        f"pad the rows of {place.array} by {'one element' if place.nbytes >= _WORD else '16 bytes'}, or swizzle them",
        place.line,
        place.column,
        Costs(memory=float(site.conflicts)),
    )
