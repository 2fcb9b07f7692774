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
            padding = launch.shared[site.place.array].padding(least)
            yield _conflicts(site, padding, _alignment(launch, site) if padding else 0)
    yield from _barriers(launch)


def _alignment(launch: ObservedLaunch, site: Site) -> int:
    """Return the bytes of the loads from an array that the assembler joins because it knows their alignment; else 0."""
    of_array = (each.place for each in launch.sites if each.joined)
    return max((place.nbytes for place in of_array if place.array == site.place.array), default=0)


def _conflicts(site: Site, padding: int, alignment: int) -> Reason:
    """Return the reason of accesses that take several passes.

    ``padding`` bytes between rows lower their number; an ``alignment`` of the array, unless 0, keeps loads joined.
    """
    place, stride = site.place, abs(site.stride or 0)
    passes, least = site.wavefronts / site.requests, (site.wavefronts - site.conflicts) / site.requests
    since = f", since neighbouring threads access elements {stride:,} bytes apart" if stride > place.nbytes else ""
    if stride and stride % (BANKS * _WORD) == 0:
        since += ", which is the same bank"
    wide = f", {place.nbytes} bytes a thread," if place.nbytes > _WORD else ""
    aligned = f", which keeps accesses of {place.nbytes} bytes aligned" if padding == place.nbytes > _WORD else ""
    if alignment:
        aligned = f" and declare it __align__({alignment}), which keeps loads of neighbours joined"
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
    """Return the part of the barriers that deep tiles need too.

    A multiplication and an addition that are not fused, as of a sum in double, count as one multiply-add.
    """
    counters = total(launch.lines.values())
    threads = counters.barriers * launch.block.size
    each = counters.flops / 2 / threads if threads and not counters.tensor_instructions else 0.0
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
