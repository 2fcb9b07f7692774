"""The ranking of reasons by the time that is saved without them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from mmcore_performance.costs import Costs, costs
from mmcore_performance.observation import Observation, ObservedLaunch
from mmcore_performance.reasons import (
    arithmetic,
    compiled,
    divergence,
    global_memory,
    indices,
    l2_order,
    launches,
    local_memory,
    reuse,
    shared_memory,
    waits,
    widths,
)
from mmcore_performance.reasons.reason import Reason

LEAST_GAIN = 0.05
"""The fraction of the time below which a reason is not said: estimates are no better."""
_MISTAKES = (global_memory, shared_memory, local_memory, arithmetic, divergence, launches, compiled)
_REFINEMENTS = (indices, widths, waits, l2_order)


def reasons(observation: Observation) -> list[Reason]:
    """Return the reasons of all launches, the largest gain first."""
    each = [
        costs(launch, observation.card) + compiled.spill_costs(observation, launch) for launch in observation.launches
    ]
    total = sum(cost.cycles for cost in each) or 1.0
    ranked = [
        replace(reason, gain=gain / total)
        for launch, cost in zip(observation.launches, each, strict=True)
        for reason, gain in _of_launch(observation, launch, cost)
    ]
    several = sorted(ranked, key=lambda reason: -reason.gain)
    return [reason for reason in several if reason.gain >= LEAST_GAIN]


def _of_launch(observation: Observation, launch: ObservedLaunch, cost: Costs) -> Iterator[tuple[Reason, float]]:
    """Yield a launch's reasons with the cycles that each saves, after those before it are removed.

    Mistakes come before redesigns, and these before refinements, which each save part of the remaining time.
    """
    factor = 1.0
    for modules in (_MISTAKES, (reuse,), _REFINEMENTS):
        rest = [reason for module in modules for reason in module.find(observation, launch)]
        while rest:
            best = min(rest, key=lambda reason: reason.left(cost))
            left = best.left(cost)
            yield best, (cost.cycles - left) * factor
            cost, factor = cost - best.saved, factor * best.factor
            rest.remove(best)
