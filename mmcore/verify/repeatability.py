"""The comparison of repeated launches with launches that each find other inputs and a C without a product.

A kernel that remembers its inputs, or finds its product in C and leaves it there, is fast for no good reason. Copies
come before each launch of either kind, since they put other data into the L2 cache than a launch before does.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import ExitStack

from mmcore.devices.base import Call, Copy, Device, HostArray, Timer
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
# How much longer a launch on fresh inputs may take.
_RATIO, _SECONDS = 1.25, 2e-6


def compare_repeats(
    loaded: LoadedKernel, problem: Problem, seed: int, device: Device, first: float, repeated: float | None
) -> list[Violation]:
    """A violation if launches on fresh inputs take longer than repeated ones; else nothing.

    Nothing is launched where the first launch, on fresh inputs, took no longer than those that were timed, nor where
    there is no memory for two more sets of matrices.

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
        inputs = [host_arrays(loaded.plan, draw(problem, turn)) for turn in (seed, other_seed(seed))]
        turns = [_copies(loaded, arrays, device, memory) for arrays in inputs]
        loaded.upload(inputs[0])
        loaded.run()
        loaded.buffers["C"].download(inputs[0]["C"])
        same = [*turns[0][:-1], *_copies(loaded, {"C": inputs[0]["C"]}, device, memory)]

        def timer(calls: tuple[Call, ...], refresh: list[list[Copy]]) -> Timer:
            found = loaded.module.timer(calls, refresh=refresh)
            assert found is not None, "the device supports timing"
            memory.callback(found.close)
            return found

        message = _compare(timer(loaded.calls, [same]), timer(loaded.calls, turns), timer((), turns))
    return [Violation(UNREPEATABLE, message)] if message else []


def _copies(loaded: LoadedKernel, arrays: Mapping[str, HostArray], device: Device, memory: ExitStack) -> list[Copy]:
    """The copies that bring matrices, which stay on the device until ``memory`` is closed."""
    copies = []
    for label, array in arrays.items():
        source = device.allocate(f"another {label}", array.nbytes)
        memory.callback(source.close)
        source.upload(array)
        copies.append(Copy(source, loaded.buffers[label], array.nbytes))
    return copies


def _compare(repeated: Timer, fresh: Timer, copies: Timer) -> str:
    """What is wrong if launches on fresh inputs take too long, by the shortest readings; empty if they do not."""
    count = max(math.ceil(_READING_SECONDS / max(fresh.seconds(1), 1e-6)), 1)
    readings: dict[Timer, list[float]] = {repeated: [], fresh: [], copies: []}
    for number in range(1, _MOST_READINGS + 1):
        for timer, times in readings.items():
            times.append(timer.seconds(count) / count)
        repeated_seconds, fresh_seconds = (
            max(min(readings[timer]) - min(readings[copies]), 0.0) for timer in (repeated, fresh)
        )
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
