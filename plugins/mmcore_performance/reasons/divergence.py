"""The reason of warps whose threads take different branches."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable

from mmcore_emulator.isa.table import effect
from mmcore_emulator.profiler.by_line import line_of
from mmcore_emulator.profiler.counters import Line
from mmcore_performance.costs import Costs, instructions, memory
from mmcore_performance.observation import Observation, ObservedLaunch
from mmcore_performance.reasons.reason import Reason
from mmcore_performance.sites import class_of


def find(observation: Observation, launch: ObservedLaunch) -> Iterable[Reason]:
    """Yield the branch that divides the most threads of a warp from others."""
    divergence = launch.divergence
    if divergence is None:
        return
    each = defaultdict[tuple[Line, int], float](float, _request_cycles(launch))
    mix, cycles = Counter[str](), 0.0
    for at, warps in divergence.wasted.items():
        mix[class_of(at)] += round(warps)
        cycles += warps * each[line_of(at), at.column] * (effect(at).kind in ("load", "store"))
    yield Reason(
        "divergence",
        "threads of a warp take different branches here, and then execute one after the other: "
        f"{100 * (1 - divergence.used):.0f} % of their lanes are idle",
        "let whole warps take the same branch (conditions on threadIdx.y or threadIdx.x / 32), or compute both values "
        "and select one",
        line_of(divergence.at),
        divergence.at.column,
        instructions(mix, observation.card) + Costs(memory=cycles),
    )


def _request_cycles(launch: ObservedLaunch) -> dict[tuple[Line, int], float]:
    """Return the cycles of a warp's access at each place in global and shared memory, on average."""
    cycles, requests = defaultdict[tuple[Line, int], float](float), Counter[tuple[Line, int]]()
    for site in launch.sites:
        if site.place.space != "local":
            cycles[site.place.line, site.place.column] += memory(site)
            requests[site.place.line, site.place.column] += site.requests
    return {place: cycles[place] / requests[place] for place in requests}
