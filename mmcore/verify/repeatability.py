"""The comparison of repeated launches with launches that each find other inputs and a C without a product.

A kernel that remembers its inputs, or finds its product in C and leaves it there, is fast for no good reason. Copies
come before each launch of either kind, since they put other data into the L2 cache than a launch before does.
"""

from __future__ import annotations

import math
from contextlib import ExitStack

import numpy as np

from mmcore.devices.base import Buffer, Call, Copy, Device, HostArray, Timer
from mmcore.devices.loaded_kernel import LoadedKernel
from mmcore.devices.violations import Violation
from mmcore.kernel.problem import Problem
from mmcore.verify.inputs import draw, other_seed
from mmcore.verify.verify_launches import UNREPEATABLE, host_arrays

# A reading lasts a millisecond at least. There are three of each kind, and more where somebody else disturbs them or
# before a kernel is accused. Once all took a second together, one is enough to find nothing and three are to accuse.
_READING_SECONDS = 1e-3
_LEAST_READINGS, _MOST_READINGS = 3, 23
_PATIENCE_SECONDS = 1.0
_QUIET = 0.5  # readings are undisturbed if they differ by no more than this part of a launch's time
# How much longer a launch on fresh inputs may take than one on the same inputs, behind copies in either case; and than
# one of many without copies, for which L2 holds other data.
_RATIO, _RATIO_TO_MANY, _SECONDS = 1.25, 2.0, 2e-6


def compare_repeats(
    loaded: LoadedKernel, problem: Problem, seed: int, device: Device, first: float, repeated: float | None
) -> list[Violation]:
    """A violation if launches on fresh inputs take longer than repeated ones, or one fails; else nothing.

    Nothing is launched where the first launch, on fresh inputs, took no longer than those that were timed, nor where
    there is no memory for three more sets of matrices.

    Args:
        loaded: the kernel, verified with the inputs of ``seed``, on a device that supports timing.
        first: the host's seconds of the launch that was verified.
        repeated: device seconds of a repeated launch, the shortest that was measured; None where none was.

    Raises:
        MmcoreError: the kernel fails when it is launched again.
    """
    if repeated is not None and first <= _RATIO * repeated:
        return []
    if 3 * loaded.plan.device_bytes > device.properties.memory_bytes:
        return []
    with ExitStack() as memory:
        if violations := loaded.run():
            return violations
        turns = [_copies(loaded, problem, turn, device, memory) for turn in (seed, other_seed(seed))]
        same = [[_as_it_is(copy, device, memory) for copy in turns[0]]]

        def timer(calls: tuple[Call, ...], refresh: list[list[Copy]]) -> Timer:
            found = loaded.module.timer(calls, refresh=refresh)
            assert found is not None, "the device supports timing"
            memory.callback(found.close)
            return found

        message = _compare(
            timer(loaded.calls, []), *((timer(loaded.calls, each), timer((), each)) for each in (same, turns))
        )
    return [Violation(UNREPEATABLE, message)] if message else []


def _copies(loaded: LoadedKernel, problem: Problem, seed: int, device: Device, memory: ExitStack) -> list[Copy]:
    """The copies that bring the inputs of ``seed``, which stay on the device until ``memory`` is closed."""
    arrays = host_arrays(loaded.plan, draw(problem, seed))
    return [_copy(array, loaded.buffers[label], device, memory) for label, array in arrays.items()]


def _as_it_is(copy: Copy, device: Device, memory: ExitStack) -> Copy:
    """The copy that brings what the target of another holds now."""
    content = np.empty(copy.nbytes, np.uint8)
    copy.target.download(content)
    return _copy(content, copy.target, device, memory)


def _copy(content: HostArray, target: Buffer, device: Device, memory: ExitStack) -> Copy:
    source = device.allocate(f"another {target.label}", content.nbytes)
    memory.callback(source.close)
    source.upload(content)
    return Copy(source, target, content.nbytes)


def _compare(many: Timer, same: tuple[Timer, Timer], fresh: tuple[Timer, Timer]) -> str:
    """What is wrong if launches on fresh inputs take too long, by the shortest readings; empty if they do not.

    Args:
        many: of launches without copies.
        same, fresh: of launches behind copies, and of the copies alone.
    """
    # As many with the one inputs as with the other.
    count = 2 * math.ceil(_READING_SECONDS / 2 / max(fresh[0].seconds(1), 1e-6))
    readings: dict[Timer, list[float]] = {timer: [] for timer in (many, *same, *fresh)}
    for number in range(1, _MOST_READINGS + 1):
        for timer, times in readings.items():
            times.append(timer.seconds(count) / count)
        same_seconds, fresh_seconds = (
            max(min(readings[launches]) - min(readings[copies]), 0.0) for launches, copies in (same, fresh)
        )
        many_seconds = min(readings[many])
        agree = fresh_seconds <= min(_RATIO * same_seconds, _RATIO_TO_MANY * many_seconds) + _SECONDS
        quiet = all(max(times) - min(times) <= _QUIET * many_seconds for times in readings.values())
        tired = count * sum(map(sum, readings.values())) >= _PATIENCE_SECONDS
        enough = number >= _LEAST_READINGS
        if (tired and (agree or enough)) or (agree and quiet and enough):
            break
    if agree:
        return ""
    repeated_seconds = min(same_seconds, many_seconds)
    return (
        f"launched again on the same inputs it takes {repeated_seconds * 1e6:.2f} µs, but {fresh_seconds * 1e6:.2f} µs "
        "on fresh ones: repeated launches do not do the whole work"
    )
