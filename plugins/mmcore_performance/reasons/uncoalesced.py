"""The uncoalesced accesses of a product that touch a large part of its sectors, whatever time they take."""

from __future__ import annotations

from collections.abc import Iterator

from mmcore_emulator.profiler.counters import total
from mmcore_performance.costs import counter_of
from mmcore_performance.evidence import Evidence
from mmcore_performance.observation import Observation
from mmcore_performance.reasons.global_memory import uncoalesced_site
from mmcore_performance.reasons.reason import Reason
from mmcore_performance.reasons.without import Growth

_LARGE_PART = 0.25
"""The part of the sectors that is large. The stores of C, which each block makes once, are less of a deep product."""


def uncoalesced_accesses(observation: Observation, evidence: Evidence | None) -> tuple[Reason, ...]:
    """Return the reasons of uncoalesced accesses if these touch a large part of the sectors; the most sectors first.

    The sectors are those of the requested product if there is evidence, and else of the small one.
    """
    counted = evidence.launches if evidence else observation.launches
    whole = sum(total(launch.lines.values()).global_sectors for launch in counted)
    found = sorted(_sectors(observation, evidence), key=lambda each: -each[0])
    is_large = sum(sectors for sectors, _ in found) >= _LARGE_PART * whole
    return tuple(reason for _, reason in found) if is_large else ()


def _sectors(observation: Observation, evidence: Evidence | None) -> Iterator[tuple[float, Reason]]:
    """Yield the reason of each uncoalesced access, with its sectors."""
    for number, launch in enumerate(observation.launches):
        growth = Growth(launch, evidence.launches[number]) if evidence else None
        for site in launch.sites:
            reason = uncoalesced_site(site, observation, launch) if site.place.space == "global" else None
            if reason is not None:
                times = growth.of(site.place.line, counter_of(site)) if growth else 1.0
                yield site.sectors * times, reason
