"""The comparison of repeated launches with launches that each find other inputs and a C without a product.

A kernel that remembers its inputs, or finds its product in C and leaves it there, is fast for no good reason.
"""

from __future__ import annotations

import math
from contextlib import ExitStack

from mmcore.devices.base import Call, Copy, Device, Timer
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
# How much longer a launch on fresh inputs may take. Honest kernels take up to 1.2 times as long on an H200, and up to
# 1.2 µs longer where they take less than 10 µs.
_RATIO, _SECONDS = 1.25, 2e-6


def compare_repeats(
    loaded: LoadedKernel, problem: Problem, seed: int, device: Device, first: float, repeated: float | None
) -> list[Violation]:
    """A violation if launches on fresh inputs take longer than repeated ones; else nothing.

    Nothing is launched where the first launch, on fresh inputs, took no longer than those that were timed, nor where
    there is no memory for a second set of inputs.

    Args:
        loaded: the kernel, verified with the inputs of ``seed``, on a device that supports timing.
        first: the host's seconds of the launch that was verified.
        repeated: device seconds of a repeated launch, the shortest that was measured; None where none was.

    Raises:
        MmcoreError: the kernel fails when it is launched again.
    """
    if repeated is not None and first <= _RATIO * repeated:
        return []
    if 2 * loaded.plan.device_bytes > device.properties.memory_bytes:
        return []
    with ExitStack() as memory:
        turns = [_copies(loaded, problem, turn, device, memory) for turn in (seed, other_seed(seed))]

        def timer(calls: tuple[Call, ...], refresh: list[list[Copy]]) -> Timer:
            found = loaded.module.timer(calls, refresh=refresh)
            assert found is not None, "the device supports timing"
            memory.callback(found.close)
            return found

        message = _compare(timer(loaded.calls, []), timer(loaded.calls, turns), timer((), turns))
    return [Violation(UNREPEATABLE, message)] if message else []


def _copies(loaded: LoadedKernel, problem: Problem, seed: int, device: Device, memory: ExitStack) -> list[Copy]:
    """The copies that bring the inputs of ``seed``, which stay on the device until ``memory`` is closed."""
    copies = []
    for label, array in host_arrays(loaded.plan, draw(problem, seed)).items():
        source = device.allocate(f"{label} of seed {seed}", array.nbytes)
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
