"""The clock cycles of a launch's instructions and accesses on each unit of a multiprocessor, as an estimate.

Reasons are ranked by them. They need no more than the order of the units' loads.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace

from mmcore_emulator.machine.limits import WARP
from mmcore_performance.cards import Card
from mmcore_performance.observation import ObservedLaunch
from mmcore_performance.sites import Site

# Double operations and conversions to and from double per clock, as in the CUDA C++ Programming Guide.
_DOUBLES = {(6, 0): 32, (7, 0): 32, (8, 0): 32, (9, 0): 64}
_FEW_DOUBLES = 2
_CONVERSIONS = {(6, 0): 16, (7, 0): 16, (8, 0): 16, (9, 0): 16}
SCHEDULERS = 4
# Instructions of machine code for one of PTX.
_EXPANSION = {"divide32": 20, "divide64": 70}
_SECTOR_CYCLES = 0.75  # of the L1 cache
_REQUEST_CYCLES = 2.0  # of the L1 cache for a request, at least
_ATOMIC_CYCLES = 4.0  # for a sector
LOCAL_CYCLES = 4.0  # for a request: four sectors, which often miss the L1 cache
BARRIER_CYCLES = 250.0  # half of a load's latency, which the other blocks of a multiprocessor hide in part
_OVERLAP = 4  # the exponent with which the units' cycles add up: 1 for no overlap, infinity for all


@dataclass(frozen=True)
class Costs:
    """Cycles by unit; memory is the L1 cache and shared memory, and barrier the time that warps wait at barriers."""

    issue: float = 0.0
    fma: float = 0.0
    double: float = 0.0
    memory: float = 0.0
    tensor: float = 0.0
    barrier: float = 0.0

    @property
    def cycles(self) -> float:
        """The cycles that the units take together."""
        return float(sum(max(0.0, each) ** _OVERLAP for each in vars(self).values()) ** (1 / _OVERLAP))

    @property
    def limiter(self) -> str:
        """The unit with the most cycles."""
        return max(vars(self), key=vars(self).__getitem__)

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
    total += sum((Costs(memory=memory(site)) for site in launch.sites), NOTHING)
    matrix = sum(each.ldmatrix_wavefronts + each.stmatrix_wavefronts + each.wgmma_wavefronts for each in counters)
    fma = sum(each.fmas for each in counters) / _fma_rate(card)
    tensor = sum(each.tensor_flops for each in counters) / _tensor_rate(launch, card)
    barrier = sum(each.barriers for each in counters) * BARRIER_CYCLES / max(1, launch.occupancy.active_blocks)
    return total + Costs(fma=fma, tensor=tensor, memory=matrix, barrier=barrier)


def memory(site: Site) -> float:
    """Return the cycles of accesses in the L1 cache and shared memory."""
    if site.place.space == "local":
        return site.requests * LOCAL_CYCLES
    if site.place.space == "shared":
        return float(site.wavefronts)
    each = _ATOMIC_CYCLES if site.place.kind == "atomic" else _SECTOR_CYCLES
    return max(site.requests * _REQUEST_CYCLES, site.sectors * each)


def instructions(mix: Mapping[str, int], card: Card) -> Costs:
    """Return the cycles of instructions by class."""
    issued = sum(count * _EXPANSION.get(name, 1) for name, count in mix.items())
    doubles = mix.get("fp64", 0) * WARP / _DOUBLES.get(card.capability, _FEW_DOUBLES)
    conversions = mix.get("convert64", 0) * WARP / _CONVERSIONS.get(card.capability, _FEW_DOUBLES)
    return Costs(issue=issued / SCHEDULERS, double=doubles + conversions)


def _fma_rate(card: Card) -> float:
    peaks = card.peaks
    return peaks.flops["float32"] / (2 * card.multiprocessors * card.clock_hz) if peaks else 64.0


def _tensor_rate(launch: ObservedLaunch, card: Card) -> float:
    """Return the tensor cores' operations per clock, of the fastest type among the launch's."""
    peaks, types = card.peaks, {"f16": "float16", "bf16": "bfloat16", "tf32": "tf32", "f64": "float64"}
    named = {types.get(product.types[1], "float8") for each in launch.lines.values() for product in each.products}
    rates = [rate for name in named if peaks and (rate := peaks.of(name))]
    return max(rates, default=1e12) / (card.multiprocessors * card.clock_hz)
