"""Reasons in the accesses to global memory: uncoalesced ones, sums kept there, atomics, narrow loads."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from mmcore.cli.source_quote import source_line
from mmcore.kernel.geometry import ceil_div
from mmcore_emulator.machine.limits import WARP
from mmcore_emulator.profiler.counters import Counters
from mmcore_performance.costs import Costs, access_costs, counter_of, memory
from mmcore_performance.observation import Observation, ObservedLaunch
from mmcore_performance.rates import PASS_SECTORS
from mmcore_performance.reasons.reason import Reason
from mmcore_performance.sites import Place, Site

EXCHANGE = "exchange x and y: let threadIdx.x select the column of C, and threadIdx.y the row"
"""The remedy of accesses to different rows by neighbouring threads."""
_TILES = (
    "copy tiles of A and B into shared memory, and let neighbouring threads load neighbours along k: an exchange of x "
    "and y only moves the far accesses to the other matrix"
)
_LEAST_RATIO = 4  # of touched sectors to needed ones
_VECTOR_BYTES = 16  # that a thread can access at a time
_PAIR_BYTES = 4
_PAIRS = {"float16": "__half2", "bfloat16": "__nv_bfloat162"}  # types of that size
_SUBSCRIPT = re.compile(r"\b(?P<array>\w+)\[[^\[\]]*\](?!\s*\[)")  # of one axis
_REPEATED = 4  # stores to an element, from which the sum is kept in memory


def find(observation: Observation, launch: ObservedLaunch) -> Iterable[Reason]:
    """Yield the reasons."""
    sites = [site for site in launch.sites if site.place.space == "global"]
    for site in sites:
        if (reason := uncoalesced_site(site, observation, launch)) is not None:
            yield reason
    yield from _sums(sites, observation, launch)


def uncoalesced_site(site: Site, observation: Observation, launch: ObservedLaunch) -> Reason | None:
    """Return the reason of far accesses of neighbouring threads; None if they are near."""
    rows = ceil_div(WARP, launch.block.x)
    place, stride = site.place, abs(site.stride or 0)
    touched, least = site.sectors / site.requests, site.least_sectors / site.requests
    if place.kind == "atomic" or stride <= place.nbytes or touched < _LEAST_RATIO * least:
        return None
    distance = _requested(site, observation)
    better = memory(replace(site, passes=max(rows * site.requests, site.least_sectors // PASS_SECTORS)))
    return Reason(
        "uncoalesced",
        f"a warp's {place.kind} of {place.array} touches {touched:.0f} sectors where {least:.0f} would do, since "
        f"neighbouring threads access elements {distance:,} bytes apart",
        _advice(site, observation, launch),
        place.line,
        place.column,
        access_costs(site, memory(site) - better),
        counter=counter_of(site),
    )


def _advice(site: Site, observation: Observation, launch: ObservedLaunch) -> str:
    """Return what to try: a vector for elements that are almost neighbours, tiles, an exchange of x and y, or an index.

    Threads that load what they multiply need B by rows for an exchange.
    """
    array, by_columns = site.place.array, observation.problem.column_major
    if abs(site.stride or 0) <= _VECTOR_BYTES:
        return _vector(site, observation)
    is_exchanged = array in ("A", "C") and array not in by_columns and (launch.shared or "B" not in by_columns)
    if is_exchanged and launch.block.y > 1 and not any(map(_is_coalesced, launch.sites)):
        return EXCHANGE
    return advice_along(site, observation, launch)


def advice_along(site: Site, observation: Observation, launch: ObservedLaunch) -> str:
    """Return along what the threads of a warp should step instead, or the tiles that they need to do so."""
    array, by_columns = site.place.array, observation.problem.column_major
    if array in ("A", "B") and not launch.shared and "A" not in by_columns and "B" in by_columns:
        return _TILES
    if array not in ("A", "B", "C"):
        return "let threadIdx.x run along the elements that are neighbours in memory"
    along = f"the {'rows' if array in by_columns else 'columns'} of {array}, which are neighbours in memory"
    return f"{_where(site.place, observation, launch)}let the threads of a warp step along {along}"


def _vector(site: Site, observation: Observation) -> str:
    """Return the advice to access elements that are almost neighbours as a vector."""
    place, stride = site.place, abs(site.stride or 0)
    dtype = observation.problem.dtype_of(place.array).name if place.array in ("A", "B", "C") else ""
    vector = _PAIRS.get(dtype, "") if stride <= _PAIR_BYTES else "float2" if stride <= 2 * _PAIR_BYTES else "float4"
    example = f", as {vector} does" if vector else ""
    return f"{place.kind} {stride} bytes at a time{example}, or take elements blockDim.x apart"


def _is_coalesced(site: Site) -> bool:
    """Return whether neighbouring threads access neighbours in global memory, as long as x and y keep their roles."""
    return site.place.space == "global" and 0 < abs(site.stride or 0) <= site.place.nbytes


def _where(place: Place, observation: Observation, launch: ObservedLaunch) -> str:
    """Return "in A[i * k + p], " for the access to global memory in a line; "" if there are several."""
    text = source_line(observation.kernel, place.line.source, place.line.number) or ""
    accesses = {access[0] for access in _SUBSCRIPT.finditer(text) if access["array"] not in launch.shared}
    return f"in {accesses.pop()}, " if len(accesses) == 1 else ""


def _requested(site: Site, observation: Observation) -> int:
    """Return the stride in bytes in the requested product: whole rows of the small one are longer there."""
    stride, matrix = abs(site.stride or 0), site.place.array
    if matrix not in ("A", "B", "C"):
        return stride
    small, itemsize = observation.small, observation.problem.dtype_of(matrix).itemsize
    rows, rest = divmod(stride, small.leading(matrix) * itemsize)
    return rows * observation.problem.leading(matrix) * itemsize + rest


def _sums(sites: list[Site], observation: Observation, launch: ObservedLaunch) -> Iterable[Reason]:
    """Yield the reasons of sums that are kept in C in memory, or added to it by too many atomics."""
    for site in sites:
        place = site.place
        if place.array != "C" or place.kind not in ("store", "atomic"):
            continue
        each, where = _accesses(site, observation, launch)
        if round(each) < _REPEATED:
            continue
        same = [other for other in sites if other.place.array == "C" and other.place.line == place.line]
        saved = Costs(global_memory=sum(memory(other) for other in same) * (1 - 1 / each))
        times = f"{each:,.0f} times{where}"
        if place.kind == "atomic":
            sentence = f"an atomic operation adds to each element of C {times}"
            advice = "add the products of k in a register, and add that sum to C once"
            if place.line not in launch.work.adding_again:
                sentence += ", once for each part of k"
                advice = "split k into fewer parts, or store their sums in a workspace, which a second kernel adds up"
            yield Reason("atomics", sentence, advice, place.line, place.column, saved, uncounted=True)
        else:
            sentence = f"each element of C is loaded and stored {times}, since the sum is kept in global memory"
            advice = "keep the sum in a local variable, and store it once after the loop over k"
            yield Reason("sum in memory", sentence, advice, place.line, place.column, saved)


def _accesses(site: Site, observation: Observation, launch: ObservedLaunch) -> tuple[float, str]:
    """Return how often each element of C is accessed in the requested product; else in the small one, with its size."""
    place, small, problem = site.place, observation.small, observation.problem
    each = site.threads * place.nbytes / (small.m * small.n * small.dtype_of("C").itemsize)
    few, many = (
        getattr(lines.get(place.line, Counters()), f"global_{place.kind}s")
        for lines in (launch.lines, launch.requested)
    )
    if not many:
        return each, f" at {small.m}×{small.n}×{small.k}"
    return each * many / few * small.m * small.n / (problem.m * problem.n), ""
