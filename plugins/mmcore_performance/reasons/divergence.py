"""The reason of warps whose threads take different branches."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable

from mmcore_emulator.isa.table import effect
from mmcore_emulator.profiler.by_line import line_of
from mmcore_emulator.profiler.counters import Line
from mmcore_performance.costs import NOTHING, Costs, access_costs, instructions
from mmcore_performance.divergence import Divergence
from mmcore_performance.observation import Observation, ObservedLaunch
from mmcore_performance.rates import class_of
from mmcore_performance.reasons.reason import Reason


def find(observation: Observation, launch: ObservedLaunch) -> Iterable[Reason]:
    """Yield the branch that divides the most threads of a warp from others."""
    divergence = launch.divergence
    if divergence is None:
        return
    each = defaultdict[tuple[Line, int], Costs](Costs, _access_costs(launch, divergence))
    mix, accesses = Counter[str](), NOTHING
    for at, warps in divergence.wasted.items():
        mix[class_of(at)] += round(warps)
        if effect(at).kind in ("load", "store"):
            accesses += each[line_of(at), at.column] * warps
    yield Reason(
        "divergence",
        "threads of a warp take different branches here, and then execute one after the other: "
        f"{100 * (1 - divergence.used):.0f} % of their lanes are idle",
        "let whole warps take the same branch (conditions on threadIdx.y or threadIdx.x / 32), or compute both values "
        "and select one",
        line_of(divergence.at),
        divergence.at.column,
        instructions(mix, observation.card) + accesses,
        counter="",
    )


def _access_costs(launch: ObservedLaunch, divergence: Divergence) -> dict[tuple[Line, int], Costs]:
    """Return the cycles of a load or store of a warp at each place in global and shared memory, on average.

    Loads that the assembler joins cost as much together as the one that it makes of them.
    """
    cycles, executed = defaultdict[tuple[Line, int], Costs](Costs), Counter[tuple[Line, int]]()
    for site in launch.sites:
        if site.place.space != "local":
            cycles[site.place.line, site.place.column] += access_costs(site)
    for at, warps in divergence.executed.items():
        executed[line_of(at), at.column] += warps * (effect(at).kind in ("load", "store"))
    return {place: cycles[place] * (1 / executed[place]) for place in cycles if executed[place]}
