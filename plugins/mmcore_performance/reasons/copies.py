"""The reason in bulk copies that move few bytes each."""

from __future__ import annotations

from collections.abc import Iterable

from mmcore_performance.costs import costs, together
from mmcore_performance.observation import Observation, ObservedLaunch
from mmcore_performance.reasons.reason import Reason

_COPY_CYCLES = 5.0  # of a multiprocessor for a copy of 16 bytes, if all threads copy; up to 24 elsewhere, on an H200
_ENOUGH_BYTES = 256


def find(observation: Observation, launch: ObservedLaunch) -> Iterable[Reason]:
    """Yield the reason, at the line with the most of these copies."""
    small = {
        line: counters
        for line, counters in launch.lines.items()
        if 0 < counters.bulk_delivered_bytes < _ENOUGH_BYTES * counters.bulk_loads
    }
    if not small:
        return
    line = max(small, key=lambda each: small[each].bulk_loads)
    copies = sum(each.bulk_loads for each in small.values())
    nbytes = sum(each.bulk_delivered_bytes for each in small.values()) / copies
    work = costs(launch, observation.card).cycles
    now, then = (together((work, each * _COPY_CYCLES)) for each in (copies, copies * nbytes / _ENOUGH_BYTES))
    yield Reason(
        "small copies",
        f"each bulk copy moves {nbytes:,.0f} bytes, and a copy costs {_COPY_CYCLES:.0f} cycles or more by itself",
        f"copy boxes of a tensor map, or rows of {_ENOUGH_BYTES} bytes or more",
        line,
        factor=then / now,
        uncounted=True,
    )
