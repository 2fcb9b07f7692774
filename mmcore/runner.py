"""A kernel run as a user asks for it: verified, audited, timed, and verified once more."""

from __future__ import annotations

import dataclasses

from mmcore.auditing import audit, confirm
from mmcore.errors import InvalidProblem, KernelFault
from mmcore.experiment import Experiment
from mmcore.launching.device import Device
from mmcore.launching.faults import Fault
from mmcore.launching.stopwatch import MEMORIES, Stopwatch, typical_seconds
from mmcore.outcome import Outcome
from mmcore.planning.geometry import Dim3
from mmcore.planning.kernel import Kernel
from mmcore.planning.problem import Problem


def run_kernel(
    kernel: Kernel,
    problem: Problem,
    block: Dim3,
    device: Device,
    *,
    memory: str = "pageable",
    seed: int | None = None,
    force: bool = False,
) -> Outcome:
    """Run one kernel on fresh inputs, verify its product and, if it is right, time it.

    Args:
        kernel: the kernel.
        problem: the product, in the kernel's types.
        block: threads per block.
        device: where to run it.
        memory: host memory of the copies that the global time contains, "pageable" or "pinned".
        seed: seed of the inputs; fresh when None.
        force: launch against the kernel's own constraints.

    Raises:
        Refused: the launch rule or the device forbids the launch.
        MmcoreError: anything else that keeps the kernel from being launched, in one sentence.
    """
    if memory not in MEMORIES:
        raise InvalidProblem(f"host memory is {' or '.join(MEMORIES)}, not {memory!r}")
    with Experiment(kernel, problem, block, device, seed=seed, force=force) as experiment:
        outcome = dataclasses.replace(experiment.verify(), memory=memory)
        if not outcome.verified or not device.keeps_time:
            return outcome
        try:
            return _timed(experiment, outcome)
        except KernelFault as failure:
            return dataclasses.replace(outcome, faults=(Fault("launch-failure", str(failure), fatal=True),))


def _timed(experiment: Experiment, outcome: Outcome) -> Outcome:
    """The verified outcome with its times, or with what is wrong with the launches that were timed."""
    audited = audit(experiment, outcome)
    if not audited.verified:
        return audited
    timed = dataclasses.replace(
        outcome,
        kernel_seconds=_typical(experiment.stopwatch()),
        global_seconds=_typical(experiment.global_stopwatch(outcome.memory)),
    )
    confirmed = confirm(experiment)
    return timed if confirmed.verified else confirmed


def _typical(stopwatch: Stopwatch | None) -> float | None:
    return None if stopwatch is None else typical_seconds(stopwatch)
