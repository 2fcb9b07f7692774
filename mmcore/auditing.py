"""Whether the launches that are timed do what the launch did that was verified.

A kernel is verified once and launched hundreds of times to be timed. One that remembers its inputs or its product, or
finds the product in C and leaves it there, is fast for no good reason; so is one that is right only at first.
"""

from __future__ import annotations

import dataclasses
from contextlib import ExitStack

from mmcore.experiment import Experiment
from mmcore.judging.inputs import other_seed
from mmcore.launching.faults import Fault
from mmcore.launching.stopwatch import typical_seconds
from mmcore.outcome import Outcome

KIND = "unrepeatable"

# How long each reading lasts: enough to tell what matters here, and a tenth of a reading that is reported.
_READING_SECONDS = 1e-3
# How much longer a launch on fresh inputs may take: caches hold other things then, and copies come between launches.
# Honest kernels take up to 1.2 times as long on an H200, and up to 1.2 µs longer where they take less than 10 µs.
_RATIO, _SECONDS = 1.25, 2e-6


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
        fresh, repeated = experiment.fresh_stopwatch(memory), experiment.stopwatch()
        if fresh is None or repeated is None:
            return outcome
        fresh_seconds = typical_seconds(fresh, _READING_SECONDS)
        repeated_seconds = typical_seconds(repeated, _READING_SECONDS)
    if fresh_seconds <= _RATIO * repeated_seconds + _SECONDS:
        return outcome
    message = (
        f"launched again on the same inputs it takes {repeated_seconds * 1e6:.2f} µs, but {fresh_seconds * 1e6:.2f} µs "
        "on fresh ones: repeated launches do not do the whole work"
    )
    return dataclasses.replace(outcome, faults=(*outcome.faults, Fault(KIND, message)))


def confirm(experiment: Experiment) -> Outcome:
    """What comes of running the kernel once more, on other inputs and on workspaces as they were at first.

    If it is wrong now, a fault says that it was right before.

    Raises:
        MmcoreError: it cannot be run any more.
    """
    experiment.prepared.poison_workspaces()
    outcome = experiment.verify(other_seed(experiment.seed))
    if outcome.verified:
        return outcome
    fault = Fault(KIND, "it was verified at first, and run again on other inputs it is wrong")
    # The seed that shows it again is the first run's.
    return dataclasses.replace(outcome, faults=(fault, *outcome.faults), seed=experiment.seed)
