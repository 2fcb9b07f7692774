"""The reason of loads and copies of few bytes where 16 would be possible."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace

from mmcore_emulator.profiler.counters import Counters
from mmcore_performance.costs import NOTHING, Costs, access_costs, instructions, memory
from mmcore_performance.neighbours import WIDEST
from mmcore_performance.observation import Observation, ObservedLaunch
from mmcore_performance.rates import SHARED_PASS
from mmcore_performance.reasons.reason import Reason
from mmcore_performance.reasons.reuse import lacks_reuse
from mmcore_performance.sites import Site

_PASS_BYTES = 128  # of shared memory
_SEVERAL = 4  # elements that a thread copies, from which it could copy wider ones
_UNROLLED = 4  # turns of a loop that compilers join, at most


def find(observation: Observation, launch: ObservedLaunch) -> Iterable[Reason]:
    """Yield the narrow loads of each array that cost most, and the narrow copies."""
    reused = [space for space in ("global", "shared") if not lacks_reuse(observation, launch, space)]
    by_array = defaultdict[str, dict[Site, Costs]](dict)
    for site in launch.sites:
        if site.narrow and site.place.space in reused:
            by_array[site.place.array][site] = _saved_loads(site, observation)
    for loads in by_array.values():
        site = max(loads, key=lambda each: loads[each].cycles)
        yield _reason(site, f"a thread loads {_loaded(site)} one by one", _layout(site), sum(loads.values(), NOTHING))
    copies = [site for site in launch.sites if _copies(launch, site)]
    if copies and "global" in reused:
        site = max(copies, key=lambda each: (each.place.space == "global", each.requests))
        saved = sum((access_costs(each, memory(each) - memory(_wide(each))) for each in copies), NOTHING)
        for line in {each.place.line for each in copies}:
            if not launch.lines.get(line, Counters()).fmas:
                saved += instructions(launch.mix.get(line, {}), observation.card) * (1 - _share(site))
        reason = _reason(site, f"neighbouring threads copy {site.place.array} element by element", _cast(site), saved)
        yield replace(reason, factor=_waits_left(launch, site), scope="loads")


def _reason(site: Site, what: str, advice: str, saved: Costs) -> Reason:
    place = site.place
    sentence = f"{what}, {place.nbytes} bytes at a time where {WIDEST} would be possible"
    return Reason("narrow loads", sentence, advice, place.line, place.column, saved)


def _saved_loads(site: Site, observation: Observation) -> Costs:
    """Return the cycles that loads of 16 bytes save, after bank conflicts are removed."""
    fewer = round(site.narrow * (1 - _share(site)))
    cycles, wide = memory(site), memory(site) * _share(site)
    if site.place.space == "shared":
        cycles, wide = (site.wavefronts - site.conflicts) * SHARED_PASS, site.wide * _share(site) * SHARED_PASS
    saved = max(0.0, cycles - wide) * site.narrow / site.requests
    return instructions({"other": fewer}, observation.card) + access_costs(site, saved)


def _copies(launch: ObservedLaunch, site: Site) -> bool:
    """Return whether neighbouring threads copy neighbouring elements, several for each thread."""
    place = site.place
    from_global = place.space == "global" and place.kind in ("load", "copy") and place.array != "C"
    if not (from_global or (place.space == "shared" and place.kind == "store")):
        return False
    several = site.threads >= _SEVERAL * launch.overlaps.blocks * launch.block.size
    neighbours = place.nbytes < WIDEST and abs(site.stride or 0) == place.nbytes
    return several and neighbours and not site.narrow and not site.fragments


def _wide(site: Site) -> Site:
    """Return the accesses of 16 bytes that move the same bytes."""
    least = -(-site.threads * site.place.nbytes // _PASS_BYTES)
    passes, wavefronts = min(site.passes, least), min(site.wavefronts, least)
    return replace(site, requests=round(site.requests * _share(site)), passes=passes, wavefronts=wavefronts)


def _share(site: Site) -> float:
    """Return the number of wide accesses for each narrow one."""
    return site.place.nbytes / WIDEST


def _waits_left(launch: ObservedLaunch, site: Site) -> float:
    """Return the part of the waits for loads that wide ones leave, of a loop that may be unrolled already."""
    tiles = max(launch.overlaps.phases.total(), launch.overlaps.blocks)
    turns = site.requests / (tiles * launch.occupancy.warps_per_block)
    return min(1.0, max(_share(site), _UNROLLED / turns))


def _loaded(site: Site) -> str:
    """Return what a thread loads; the assembler joins loads of neighbours from shared memory where it can."""
    return f"{'elements' if site.place.space == 'shared' else 'neighbours'} of {site.place.array}"


def _layout(site: Site) -> str:
    if site.place.space == "shared":
        return "place the elements that a thread multiplies side by side, and load them as float4 (or the like)"
    return "load them as float4 (or the like), where rows begin at multiples of 16 bytes"


def _cast(site: Site) -> str:
    if site.place.kind == "copy":
        return "copy 16 bytes by cp.async.cg, where rows begin at multiples of 16 bytes"
    return "copy 16 bytes with each load and store (float4, uint4), where rows begin at multiples of 16 bytes"
