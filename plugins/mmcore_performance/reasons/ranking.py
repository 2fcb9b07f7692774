"""The ranking of reasons by the time that is saved without them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

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


def reasons(observation: Observation, evidence: Evidence | None = None, seconds: float = 0.0) -> list[Reason]:
    """Return the reasons of all launches, the largest gain first.

    Gains are parts of the ``seconds`` that are predicted from the evidence, or without it of an estimate.
    """
    if evidence is not None:
        observation = replace(observation, launches=_with_counters(observation, evidence))
    each = launch_times(observation, evidence)
    whole = seconds or sum(time.time for time in each) or 1.0
    ranked = [
        replace(reason, gain=gain / whole, uncounted=reason.uncounted and evidence is not None)
        for launch, time in zip(observation.launches, each, strict=False)
        for reason, gain in _of_launch(observation, launch, time)
    ]
    several = sorted(_folded(ranked), key=lambda reason: -reason.gain)
    return [reason for reason in several if reason.gain >= LEAST_GAIN]


def _with_counters(observation: Observation, evidence: Evidence) -> tuple[ObservedLaunch, ...]:
    """Return the launches with the counters of the requested product's launches."""
    pairs = zip(observation.launches, evidence.launches, strict=False)
    return tuple(replace(observed, requested=launch.lines) for observed, launch in pairs)


def _folded(several: Iterable[Reason]) -> list[Reason]:
    """Return reasons with one for each run of neighbouring lines about which the same is said."""
    folded: list[Reason] = []
    for reason in sorted(several, key=lambda each: (each.kind, each.sentence, each.advice, each.line)):
        last = folded[-1] if folded else None
        if last is not None and _continues(last, reason):
            folded[-1] = replace(last, gain=last.gain + reason.gain, last_line=reason.line.number)
        else:
            folded.append(reason)
    return folded


def _continues(last: Reason, reason: Reason) -> bool:
    """Return whether a reason is the one before it, in the same line or the next."""
    same = all(getattr(last, name) == getattr(reason, name) for name in ("kind", "sentence", "advice"))
    end = max(last.line.number, last.last_line)
    return same and last.line.source == reason.line.source and reason.line.number <= end + 1


def _of_launch(observation: Observation, launch: ObservedLaunch, time: LaunchTime) -> Iterator[tuple[Reason, float]]:
    """Yield a launch's reasons with the time that each saves, after those before it are removed.

    Mistakes come before redesigns, and these before refinements, which each save part of the remaining time. One that
    saves nothing of it is left out, so that all together save no more than the whole.
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
