"""Reasons in shared memory and its barriers: bank conflicts, and too many barriers."""

from __future__ import annotations

from collections.abc import Iterable
from math import ceil

from mmcore_emulator.profiler.coalescing import BANKS
from mmcore_emulator.profiler.counters import total
from mmcore_performance.costs import BARRIER_CYCLES, Costs, access_costs, counter_of
from mmcore_performance.observation import Observation, ObservedLaunch
from mmcore_performance.reasons.reason import Reason
from mmcore_performance.sites import Site

_WORD = 4
_OTHERWISE = "swizzle its rows, or let the threads of a warp access it in another order"
_ENOUGH = 16  # multiply-adds of a thread for each barrier


def find(observation: Observation, launch: ObservedLaunch) -> Iterable[Reason]:
    """Yield the reasons."""
    for site in launch.sites:
        if site.place.space == "shared" and site.conflicts:
            least = 16 if observation.problem.dtype_of("A").itemsize < _WORD else _WORD
            yield _conflicts(site, launch.shared[site.place.array].padding(least))
    yield from _barriers(launch)


def _conflicts(site: Site, padding: int) -> Reason:
    """Return the reason of accesses that take several passes; ``padding`` bytes between rows lower their number."""
    place, stride = site.place, abs(site.stride or 0)
    passes, least = site.wavefronts / site.requests, (site.wavefronts - site.conflicts) / site.requests
    since = f", since neighbouring threads access elements {stride:,} bytes apart" if stride > place.nbytes else ""
    if stride and stride % (BANKS * _WORD) == 0:
        since += ", which is the same bank"
    wide = f", {place.nbytes} bytes a thread," if place.nbytes > _WORD else ""
    aligned = f", which keeps accesses of {place.nbytes} bytes aligned" if padding == place.nbytes > _WORD else ""
    return Reason(
        "bank conflicts",
        f"a warp's {place.kind} of {place.array}{wide} takes {passes:.3g} passes over shared memory where {least:.3g} "
        f"would do{since}",
        f"pad the rows of {place.array} by {padding} bytes{aligned}, or swizzle them" if padding else _OTHERWISE,
        place.line,
        place.column,
        access_costs(site, float(site.conflicts)),
        counter=counter_of(site),
    )


def barriers_needed(launch: ObservedLaunch) -> float:
    """Return the part of the barriers that deep tiles need too."""
    counters = total(launch.lines.values())
    threads = counters.barriers * launch.block.size
    each = counters.fmas / threads if threads and not counters.tensor_instructions else 0.0
    return min(1.0, each / _ENOUGH) or 1.0


def _barriers(launch: ObservedLaunch) -> Iterable[Reason]:
    """Yield the line with the most barriers, if a thread multiplies little from one to the next."""
    counters, each = total(launch.lines.values()), _ENOUGH * barriers_needed(launch)
    if each >= _ENOUGH:
        return
    line = max(launch.lines, key=lambda each: launch.lines[each].barriers)
    few = f"{each:.2g} multiply-add{'' if f'{each:.2g}' == '1' else 's'}"
    saved = counters.barriers * BARRIER_CYCLES / max(1, launch.occupancy.active_blocks) * (1 - barriers_needed(launch))
    yield Reason(
        "barriers",
        f"a block waits at a barrier after every {few} of a thread",
        f"load tiles {ceil(_ENOUGH / each)} times as deep in k, or let each thread compute several elements of C",
        line,
        0,
        Costs(barrier=saved),
    )
