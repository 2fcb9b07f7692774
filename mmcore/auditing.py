"""Whether the launches that are timed do what the launch did that was verified.

A kernel is verified once and launched hundreds of times to be timed. One that remembers its inputs or its product, or
finds the product in C and leaves it there, is fast for no good reason; so is one that is right only at first.
"""

from __future__ import annotations

import dataclasses
import math
from contextlib import ExitStack

from mmcore.experiment import Experiment
from mmcore.judging.inputs import other_seed
from mmcore.launching.faults import Fault
from mmcore.launching.stopwatch import Stopwatch
from mmcore.outcome import Outcome

KIND = "unrepeatable"

# A reading lasts a millisecond at least. There are three of each kind, and more where somebody else disturbs them or
# before a kernel is accused. Once all took a second together, one is enough to find nothing and three are to accuse.
_READING_SECONDS = 1e-3
_LEAST_READINGS, _MOST_READINGS = 3, 23
_PATIENCE_SECONDS = 1.0
# Readings are undisturbed if they differ by no more than this part of a launch's time.
_QUIET = 0.5
# How much longer a launch on fresh inputs may take: caches hold other things then, and copies come between launches.
# Honest kernels take up to 1.2 times as long on an H200, and up to 1.2 µs longer where they take less than 10 µs.
_RATIO, _SECONDS = 1.25, 2e-6
# A product that was right once is confirmed by sampled rows and projections of all of them, unless it is small.
_FULL_FLOPS = 1e8


def audit(experiment: Experiment, outcome: Outcome) -> Outcome:
    """The verified outcome, with a fault if launches on fresh inputs take longer than repeated ones.

    Nothing is found on a device without device time, or without memory for a second set of inputs.

    Args:
        experiment: what was verified.
        outcome: what came of it.

    Raises:
        MmcoreError: the kernel fails when it is launched again.
    """
    with ExitStack() as memory:
        found, repeated = experiment.fresh_stopwatches(memory), experiment.stopwatch()
        if found is None or repeated is None:
            return outcome
        memory.callback(repeated.close)
        message = _compare(repeated, *found)
    return dataclasses.replace(outcome, faults=(*outcome.faults, Fault(KIND, message))) if message else outcome


def _compare(repeated: Stopwatch, fresh: Stopwatch, copies: Stopwatch) -> str:
    """What is wrong if launches on fresh inputs take too long beside repeated ones; empty if they do not.

    The shortest reading of each counts: what disturbs a reading makes it longer.
    """
    count = max(math.ceil(_READING_SECONDS / max(fresh.seconds(1), 1e-6)), 1)
    readings: dict[Stopwatch, list[float]] = {repeated: [], fresh: [], copies: []}
    for number in range(1, _MOST_READINGS + 1):
        for stopwatch, times in readings.items():
            times.append(stopwatch.seconds(count) / count)
        repeated_seconds = min(readings[repeated])
        fresh_seconds = min(readings[fresh]) - min(readings[copies])
        agree = fresh_seconds <= _RATIO * repeated_seconds + _SECONDS
        quiet = all(max(times) - min(times) <= _QUIET * repeated_seconds for times in readings.values())
        tired = count * sum(map(sum, readings.values())) >= _PATIENCE_SECONDS
        enough = number >= _LEAST_READINGS
        if (tired and (agree or enough)) or (agree and quiet and enough):
            break
    if agree:
        return ""
    return (
        f"launched again on the same inputs it takes {repeated_seconds * 1e6:.2f} µs, but {fresh_seconds * 1e6:.2f} µs "
        "on fresh ones: repeated launches do not do the whole work"
    )


def confirm(experiment: Experiment) -> Outcome:
    """What comes of running the kernel twice more, on other inputs each time and on workspaces as launches left them.

    Twice, because a kernel that works in every other launch works in one of the two. If either is wrong, a fault says
    that the product was right before.

    Raises:
        MmcoreError: it cannot be run any more.
    """
    seed = experiment.seed
    for _ in range(2):
        seed = other_seed(seed)
        outcome = experiment.verify(seed, _FULL_FLOPS)
        if not outcome.verified:
            fault = Fault(KIND, "it was verified at first, and run again on other inputs it is wrong")
            # The seed that shows it again is the first run's.
            return dataclasses.replace(outcome, faults=(fault, *outcome.faults), seed=experiment.seed)
    return outcome
