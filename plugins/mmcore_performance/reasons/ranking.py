"""The ranking of reasons by the time that is saved without them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from operator import attrgetter

from mmcore_performance.evidence import Evidence
from mmcore_performance.observation import Observation, ObservedLaunch
from mmcore_performance.reasons import (
    arithmetic,
    compiled,
    copies,
    divergence,
    global_memory,
    indices,
    l2_order,
    launches,
    local_memory,
    repeated,
    reuse,
    shared_memory,
    waits,
    widths,
)
from mmcore_performance.reasons.reason import Reason
from mmcore_performance.reasons.without import LaunchTime, launch_times

LEAST_GAIN = 0.05
"""The fraction of the time below which a reason is not said: estimates are no better."""
_TIMES = 2.0  # the saving of an estimate beyond the prediction over that of a counted one, from which it is taken
_MISTAKES = (global_memory, shared_memory, local_memory, arithmetic, repeated, divergence, launches, compiled)
_REFINEMENTS = (indices, widths, copies, waits, l2_order)


@dataclass(frozen=True)
class _Waste:
    """A reason with its parts, of one line or of neighbours.

    Attributes:
        reason: the reason, with the last line.
        parts: the reasons of single lines, each with the number of its launch.
        saved: the time that they save after the mistakes and redesigns that come before them.
    """

    reason: Reason
    parts: tuple[tuple[int, Reason], ...]
    saved: float

    def removed(self, times: Sequence[LaunchTime]) -> list[LaunchTime]:
        """Return the times of the launches without the waste."""
        left = [*times]
        for number, part in self.parts:
            left[number] = left[number].without(part)
        return left


def reasons(observation: Observation, evidence: Evidence | None = None, seconds: float = 0.0) -> list[Reason]:
    """Return the reasons of all launches in the order in which to mend them, the largest gain first.

    Gains are parts of the ``seconds`` that are predicted from the evidence, or without it of an estimate.
    """
    if evidence is not None:
        observation = replace(observation, launches=_with_counters(observation, evidence))
    times = launch_times(observation, evidence)
    whole = seconds or _sum(times) or 1.0
    several = _folded(
        _Waste(replace(reason, uncounted=reason.uncounted and evidence is not None), ((number, reason),), saved)
        for number, (launch, time) in enumerate(zip(observation.launches, times, strict=False))
        for reason, saved in _of_launch(observation, launch, time)
    )
    return [*_in_order([each for each in several if each.saved >= LEAST_GAIN * whole], times, whole)]


def _in_order(several: list[_Waste], times: Sequence[LaunchTime], whole: float) -> Iterator[Reason]:
    """Yield the reasons of wastes, at each step the one that saves most of the time that is left, with its gains.

    A redesign may save what a mistake costs, too; its place is by what it saves without the mistake.
    """
    left = times
    while several:
        now = _sum(left)
        saved = [now - _sum(each.removed(left)) for each in several]
        number = max(range(len(several)), key=lambda at: min(saved[at], several[at].saved))
        if saved[number] <= 0:
            return
        waste = several.pop(number)
        alone = _sum(times) - _sum(waste.removed(times))
        yield replace(waste.reason, gain=alone / whole, next_gain=saved[number] / (whole - _sum(times) + now))
        left = waste.removed(left)


def inserted(reason: Reason, several: Sequence[Reason]) -> list[Reason]:
    """Return reasons with a further one, before those that save less alone."""
    larger = [*takewhile(lambda each: each.gain > reason.gain, several)]
    return [*larger, reason, *several[len(larger) :]]


def _sum(times: Iterable[LaunchTime]) -> float:
    return sum(each.time for each in times)


def _with_counters(observation: Observation, evidence: Evidence) -> tuple[ObservedLaunch, ...]:
    """Return the launches with the counters of the requested product's launches."""
    pairs = zip(observation.launches, evidence.launches, strict=False)
    return tuple(replace(observed, requested=launch.lines) for observed, launch in pairs)


def _folded(several: Iterable[_Waste]) -> list[_Waste]:
    """Return wastes with one for each run of neighbouring lines about which the same is said."""
    folded: list[_Waste] = []
    for waste in sorted(several, key=lambda each: attrgetter("kind", "sentence", "advice", "line")(each.reason)):
        last, reason = folded[-1] if folded else None, waste.reason
        if last is not None and _continues(last.reason, reason):
            lines = replace(last.reason, last_line=reason.line.number)
            folded[-1] = _Waste(lines, last.parts + waste.parts, last.saved + waste.saved)
        else:
            folded.append(waste)
    return folded


def _continues(last: Reason, reason: Reason) -> bool:
    """Return whether a reason is the one before it, in the same line or the next."""
    same = all(getattr(last, name) == getattr(reason, name) for name in ("kind", "sentence", "advice"))
    end = max(last.line.number, last.last_line)
    return same and last.line.source == reason.line.source and reason.line.number <= end + 1


def _of_launch(observation: Observation, launch: ObservedLaunch, time: LaunchTime) -> Iterator[tuple[Reason, float]]:
    """Yield a launch's reasons with the time that each saves, after those before it are removed.

    Mistakes come before redesigns, and these before refinements, which each save part of the remaining time. One that
    saves nothing of it is left out.
    """
    least = LEAST_GAIN * time.time
    for modules in (_MISTAKES, (reuse,), _REFINEMENTS):
        several = [reason for module in modules for reason in module.find(observation, launch)]
        rest = _estimated_once(several, time, least)
        while rest:
            best = min(rest, key=lambda reason: time.without(reason).time)
            left = time.without(best)
            if left.time >= time.time:
                break
            yield best, time.time - left.time
            time = left
            rest.remove(best)


def _estimated_once(several: Sequence[Reason], time: LaunchTime, least: float) -> list[Reason]:
    """Return reasons with one estimate of each waste, which may be counted in the prediction or lie beyond it.

    The counted one is taken if it saves the ``least`` time that is said, unless the other saves several times as much.
    """
    saved: dict[bool, dict[str, float]] = {True: {}, False: {}}
    for reason in several:
        saved[reason.uncounted][reason.kind] = time.time - time.without(reason).time
    beyond, counted = saved[True], saved[False]
    both = beyond.keys() & counted.keys()
    dropped = {(kind, counted[kind] >= max(least, beyond[kind] / _TIMES)) for kind in both}
    return [reason for reason in several if (reason.kind, reason.uncounted) not in dropped]
