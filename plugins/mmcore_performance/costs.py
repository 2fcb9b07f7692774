"""The clock cycles of a launch's instructions and accesses on each unit of a multiprocessor, as an estimate.

Reasons are ranked by them. They need no more than the order of the units' loads.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace

from mmcore_performance.cards import Card
from mmcore_performance.observation import ObservedLaunch
from mmcore_performance.rates import ISSUE, L1_PASS, SHARED_PASS, SLOW, rates_of
from mmcore_performance.sites import Site

_ATOMIC_CYCLES = 4.0  # for a sector
LOCAL_CYCLES = 4.0  # for a request: four sectors, which often miss the L1 cache
BARRIER_CYCLES = 250.0  # half of a load's latency, which the other blocks of a multiprocessor hide in part
_OVERLAP = 4.0  # the exponent with which the units' cycles add up


def together(times: Iterable[float], overlap: float = _OVERLAP) -> float:
    """Return the time of units that work at the same time: their sum at an overlap of 1, the longest at infinity."""
    return float(sum(each**overlap for each in times) ** (1 / overlap))


@dataclass(frozen=True)
class Costs:
    """Cycles by unit; barrier is the time that warps wait at barriers.

    The L1 cache and shared memory are one unit, whose cycles are those of global, shared and local memory.
    """

    issue: float = 0.0
    fma: float = 0.0
    double: float = 0.0
    global_memory: float = 0.0
    shared_memory: float = 0.0
    local_memory: float = 0.0
    tensor: float = 0.0
    barrier: float = 0.0

    @property
    def cycles(self) -> float:
        """The cycles that the units take together."""
        return together(max(0.0, each) for each in self._units().values())

    @property
    def limiter(self) -> str:
        """The unit with the most cycles."""
        units = self._units()
        return max(units, key=units.__getitem__)

    def _units(self) -> dict[str, float]:
        cycles = dict(vars(self))
        return cycles | {"memory": sum(cycles.pop(f"{space}_memory") for space in ("global", "shared", "local"))}

    def __sub__(self, other: Costs) -> Costs:
        return replace(self, **{each.name: getattr(self, each.name) - getattr(other, each.name) for each in _UNITS})

    def __add__(self, other: Costs) -> Costs:
        return replace(self, **{each.name: getattr(self, each.name) + getattr(other, each.name) for each in _UNITS})

    def __mul__(self, factor: float) -> Costs:
        return Costs(**{name: cycles * factor for name, cycles in vars(self).items()})


_UNITS = fields(Costs)
NOTHING = Costs()


def costs(launch: ObservedLaunch, card: Card) -> Costs:
    """Return the cycles of a launch."""
    counters = launch.lines.values()
    total = sum((instructions(mix, card) for mix in launch.mix.values()), NOTHING)
    total += sum((access_costs(site) for site in launch.sites), NOTHING)
    operands = sum(each.wgmma_wavefronts for each in counters)
    rates = rates_of(card)
    tensor = sum(rates.tensor_cycles(each.products) for each in counters)
    barrier = sum(each.barriers for each in counters) * BARRIER_CYCLES / max(1, launch.occupancy.active_blocks)
    return total + Costs(tensor=tensor, shared_memory=operands, barrier=barrier)


def memory(site: Site) -> float:
    """Return the cycles of accesses in the L1 cache and shared memory."""
    if site.place.space == "local":
        return site.requests * LOCAL_CYCLES
    if site.place.space == "shared":
        return site.wavefronts * SHARED_PASS
    return site.sectors * _ATOMIC_CYCLES if site.place.kind == "atomic" else site.passes * L1_PASS


def access_costs(site: Site, cycles: float | None = None) -> Costs:
    """Return the cycles of accesses, or the given ones, as those of the site's memory."""
    return Costs(**{f"{site.place.space}_memory": memory(site) if cycles is None else cycles})


def counter_of(site: Site) -> str:
    """Return the counter that grows with the accesses of a site."""
    place = site.place
    if site.matrices:
        return f"{'ldmatrix' if place.kind == 'load' else 'stmatrix'}_wavefronts"
    if place.kind == "copy":
        return "async_copy_bytes"
    if place.space == "shared":
        return f"shared_{place.kind}_wavefronts" if place.kind != "atomic" else "shared_atomic_requests"
    return f"{place.space}_{place.kind}_sectors"


def instructions(mix: Mapping[str, int], card: Card) -> Costs:
    """Return the cycles of instructions by class."""
    issued = sum(count * SLOW.get(name, 1) for name, count in mix.items())
    rates = rates_of(card)
    double = mix.get("fp64", 0) * rates.double + mix.get("convert64", 0) * rates.conversion
    fma = mix.get("single", 0) * rates.single + mix.get("half", 0) * ISSUE
    return Costs(issue=issued * ISSUE, fma=fma, double=double)
