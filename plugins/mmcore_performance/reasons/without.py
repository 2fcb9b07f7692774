"""The time of a launch without a waste, by the model that predicts its time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Protocol

from mmcore_emulator.profiler.counters import Counters, Line, total
from mmcore_performance.costs import Costs, access_costs, costs, counter_of, instructions
from mmcore_performance.evidence import Evidence, LaunchEvidence
from mmcore_performance.features import features, resident_blocks, waiting_seconds
from mmcore_performance.observation import Observation, ObservedLaunch
from mmcore_performance.prediction import IN_TURN, WAITS, Parameters, Work, launch_seconds, parameters
from mmcore_performance.reasons.compiled import spill_costs
from mmcore_performance.reasons.reason import Reason

# The costs that a kind of work is saved in proportion to, by unit and kind; "" stands for every kind of a unit.
_COSTS = {
    ("dispatch", ""): "issue",
    ("alu", ""): "issue",
    ("fma", ""): "fma",
    ("fp64", ""): "double",
    ("tensor", ""): "tensor",
    ("lsu", "global"): "global_memory",
    ("lsu", "shared"): "shared_memory",
    ("lsu", "local"): "local_memory",
    (WAITS, "issue"): "issue",
    (WAITS, "barrier"): "barrier",
    (WAITS, "load"): "barrier",  # which tiles wait for before a barrier
    (WAITS, "cached_load"): "barrier",
}
_LOADS = ("load", "cached_load")  # kinds of waits
_INSTRUCTIONS = "warp_instructions"


class LaunchTime(Protocol):
    """The time of a launch, in any unit."""

    @property
    def time(self) -> float:
        """The time."""

    def without(self, reason: Reason) -> LaunchTime:
        """Return the time without a waste."""


@dataclass(frozen=True)
class Estimate:
    """The time of a launch of a small product in cycles, where no time can be predicted."""

    costs: Costs
    factor: float = 1.0

    @property
    def time(self) -> float:
        return self.costs.cycles * self.factor

    def without(self, reason: Reason) -> Estimate:
        factor = 1.0 if reason.scope == "loads" else reason.factor
        return Estimate(self.costs - reason.saved, self.factor * factor)


@dataclass(frozen=True)
class PredictedLaunch:
    """The predicted time of a launch in seconds.

    Attributes:
        work: its work by unit and kind.
        blocks: the blocks that a multiprocessor runs at a time.
        wait: seconds of a cycle that all blocks wait, over their number.
        growth: how often the launch does the work of the small product's.
        estimate: its cost, scaled from the small product line by line, for waste that the prediction does not count.
        factor: the part of the time that is left without waste that the prediction does not count.
    """

    work: Work
    blocks: int
    wait: float
    growth: Growth
    estimate: Estimate
    fitted: Parameters
    factor: float = 1.0

    @property
    def time(self) -> float:
        return launch_seconds(self.work, self.blocks, self.fitted) * self.factor

    def without(self, reason: Reason) -> PredictedLaunch:
        scaled = replace(reason, saved=reason.saved * self.growth.of(reason.line, reason.counter))
        estimate = self.estimate.without(scaled)
        if reason.uncounted:
            share = estimate.time / self.estimate.time if self.estimate.time else 1.0
            return replace(self, estimate=estimate, factor=self.factor * share)
        kept = {
            name: max(0.0, left) / before if (before := getattr(self.estimate.costs, name)) > 0 else 1.0
            for name, left in vars(estimate.costs).items()
        }
        work: Work = {unit: dict(_kept(unit, self.work, kept, reason)) for unit in self.work}
        if reason.copies:
            work = _with_second_buffer(work, reason.copies * self.growth.of(reason.line, reason.counter) * self.wait)
        return replace(self, work=work, estimate=estimate)


def _with_second_buffer(work: Work, waits: float) -> Work:
    """Return work whose blocks wait for copies once both buffers are filled, while their other warps may work.

    There are ``waits`` of loads that are stored to shared memory, unless copies are asynchronous.
    """
    alone = work[IN_TURN] or {"copy": waits}
    several = {kind: work[WAITS].get(kind, 0.0) + seconds / 2 for kind, seconds in alone.items()}
    return {**work, WAITS: {**work[WAITS], **several}, IN_TURN: {}}


def _kept(unit: str, work: Work, kept: dict[str, float], reason: Reason) -> Iterator[tuple[str, float]]:
    """Yield the seconds of each kind of work of a unit that are left without a waste."""
    scope = "waits" if unit in (WAITS, IN_TURN) else "work"
    for kind, seconds in work[unit].items():
        factor = reason.factor if reason.scope in ("all", "loads" if kind in _LOADS else "", scope) else 1.0
        cost = _COSTS.get((unit, kind)) or _COSTS.get((unit, ""), "")
        yield kind, seconds * factor * kept.get(cost, 1.0)


@dataclass(frozen=True)
class Growth:
    """The growth of counters from a small product's launch to the requested product's."""

    observed: ObservedLaunch
    requested: LaunchEvidence

    def of(self, line: Line, counter: str = _INSTRUCTIONS) -> float:
        """Return how often a line's counter is in the requested product; that of all lines if it has none."""
        few, many = (launch.lines.get(line, Counters()) for launch in (self.observed, self.requested))
        if not counter or not getattr(few, counter):
            counter = _INSTRUCTIONS
            few, many = (total(launch.lines.values()) for launch in (self.observed, self.requested))
        return getattr(many, counter) / getattr(few, counter) if getattr(few, counter) else 1.0

    def costs(self, observation: Observation) -> Costs:
        """Return the costs of the requested product's launch, scaled line by line."""
        launch, card = self.observed, observation.card
        bare = replace(launch, sites=(), mix={})
        parts = [costs(replace(bare, lines={at: each}), card) * self.of(at) for at, each in launch.lines.items()]
        parts += [instructions(mix, card) * self.of(at) for at, mix in launch.mix.items()]
        parts += [access_costs(site) * self.of(site.place.line, counter_of(site)) for site in launch.sites]
        return sum(parts, spill_costs(observation, launch) * self.of(Line("", 0)))


def launch_times(observation: Observation, evidence: Evidence | None) -> list[LaunchTime]:
    """Return the times of an observation's launches, predicted if there is evidence."""
    launches = observation.launches
    if evidence is None:
        return [Estimate(costs(each, observation.card) + spill_costs(observation, each)) for each in launches]
    times: list[LaunchTime] = []
    for observed, requested in zip(launches, evidence.launches, strict=False):
        growth = Growth(observed, requested)
        work, blocks = features(evidence, requested), resident_blocks(evidence, requested)
        wait = waiting_seconds(evidence, requested) / (requested.working or requested.grid.size)
        times.append(PredictedLaunch(work, blocks, wait, growth, Estimate(growth.costs(observation)), parameters()))
    return times
