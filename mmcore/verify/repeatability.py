"""The comparison of repeated launches with launches that each find other inputs and a C without a product.

A kernel that remembers its inputs, or finds its product in C and leaves it there, is fast for no good reason. Copies
come before each launch of either kind, since they put other data into the L2 cache than a launch before does.
"""

from __future__ import annotations

import math
import random
from contextlib import ExitStack
from dataclasses import replace

import numpy as np

from mmcore.devices.base import Buffer, Call, Copy, Device, HostArray, Timer
from mmcore.devices.loaded_kernel import LoadedKernel
from mmcore.devices.violations import Violation
from mmcore.kernel.problem import Problem
from mmcore.verify.inputs import draw, other_seed
from mmcore.verify.verify_launches import UNREPEATABLE, Verified, host_arrays

# A reading lasts a millisecond at least. There are five of each kind, and more until their difference is clear. Once
# all took a second together, one is enough to find nothing and three to accuse.
_READING_SECONDS = 1e-3
_LEAST_READINGS, _LEAST_SLOW_READINGS, _MOST_READINGS = 5, 3, 40
_PATIENCE_SECONDS = 1.0
_SINGLE_LAUNCHES, _SINGLE_SECONDS = 10, 0.02  # to find out how long one takes that nothing interrupts
# Other processes make readings longer, never shorter. What a launch takes by itself is at most the eighth shortest
# reading, and as far below the shortest as that is above it at least. Of two kinds that take equally long, 40 readings
# each, the eight shortest are all of the first once in 800 times.
_RANK = 8
# How much longer a launch on fresh inputs may take than one on the same inputs, behind copies in either case; and than
# one of many without copies, as L2 holds other data then.
_RATIO, _RATIO_TO_MANY, _SECONDS = 1.25, 2.0, 2e-6
_UNCLEAR = "cannot tell whether repeated launches do the whole work: readings of their time differ too much"


def compare_repeats(
    loaded: LoadedKernel, problem: Problem, seed: int, verified: Verified, repeated: float | None
) -> Verified:
    """Return ``verified``, with a violation if launches on fresh inputs take longer than repeated ones, or one fails.

    The result's method mentions times that are too uncertain. Nothing is launched if the first launch, on fresh inputs,
    was as fast as the timed ones. Nothing is launched either if there is no memory for three more sets of matrices.

    Args:
        loaded: the kernel, verified with the inputs of ``seed``, on a device that supports timing.
        problem: the product.
        seed: the seed of the inputs.
        verified: the outcome of the verification; its ``host_seconds`` are of a launch on fresh inputs.
        repeated: device seconds of the shortest repeated launch that was measured, or None.

    Raises:
        MmcoreError: the kernel fails when it is launched again.
    """
    if repeated is not None and verified.host_seconds <= _RATIO * repeated:
        return verified
    if 3 * loaded.plan.device_bytes > loaded.device.properties.memory_bytes:
        return verified
    with ExitStack() as memory:
        if violations := loaded.run():
            return replace(verified, violations=tuple(violations))
        turns = [_copies(loaded, problem, turn, memory) for turn in (seed, other_seed(seed))]
        same = [[_as_it_is(copy, loaded.device, memory) for copy in turns[0]]]

        def timer(calls: tuple[Call, ...], refresh: list[list[Copy]]) -> Timer:
            refreshed = loaded.module.timer(calls, refresh=refresh)
            assert refreshed is not None, "the device supports timing"
            memory.callback(refreshed.close)
            return refreshed

        pairs = ((timer(loaded.calls, each), timer((), each)) for each in (same, turns))
        message, certain = _compare(timer(loaded.calls, []), *pairs)
    if not message:
        return verified
    if certain:
        return replace(verified, violations=(Violation(UNREPEATABLE, message),))
    assert verified.verification is not None, "a product was verified"
    method = f"{verified.verification.method}; {message}"
    return replace(verified, verification=replace(verified.verification, method=method))


def _copies(loaded: LoadedKernel, problem: Problem, seed: int, memory: ExitStack) -> list[Copy]:
    """Return the copies that bring the inputs of ``seed``, which stay on the device until ``memory`` is closed."""
    arrays = host_arrays(loaded.plan, draw(problem, seed))
    return [_copy(array, loaded.buffers[label], loaded.device, memory) for label, array in arrays.items()]


def _as_it_is(copy: Copy, device: Device, memory: ExitStack) -> Copy:
    """Return the copy that restores the present content of another's target."""
    content = np.empty(copy.nbytes, np.uint8)
    copy.target.download(content)
    return _copy(content, copy.target, device, memory)


def _copy(content: HostArray, target: Buffer, device: Device, memory: ExitStack) -> Copy:
    source = device.allocate(f"another {target.label}", content.nbytes)
    memory.callback(source.close)
    source.upload(content)
    return Copy(source, target, content.nbytes)


class _Readings:
    """Readings of one timer, in device seconds of a launch.

    Attributes:
        spent: device seconds of all readings.
        shortest: the shortest reading.
        low, high: bounds of the time that a launch takes by itself.
    """

    def __init__(self, timer: Timer) -> None:
        self._timer = timer
        single: list[float] = []
        while len(single) < _SINGLE_LAUNCHES and sum(single) < _SINGLE_SECONDS:
            single.append(timer.seconds(1))
        # As many with the one inputs as with the other.
        self._count = 2 * math.ceil(_READING_SECONDS / 2 / max(min(single), 1e-6))
        self._shortest: list[float] = []
        self.spent = 0.0

    def read(self) -> None:
        """Add a reading."""
        seconds = self._timer.seconds(self._count)
        self.spent += seconds
        self._shortest = sorted([*self._shortest, seconds / self._count])[:_RANK]
        self.shortest, self.high = self._shortest[0], self._shortest[-1]
        self.low = max(2 * self.shortest - self.high, 0.0)


def _compare(many: Timer, same: tuple[Timer, Timer], fresh: tuple[Timer, Timer]) -> tuple[str, bool]:
    """Return a message if launches on fresh inputs take too long, or may do so, and whether they certainly do.

    Args:
        many: the timer of launches without copies.
        same: the timers of launches after copies of the same inputs, and of these copies alone.
        fresh: the timers of launches after copies of fresh inputs, and of these copies alone.
    """
    readings = [_Readings(timer) for timer in (many, *same, *fresh)]
    repeated, again, again_copies, first, first_copies = readings
    for number in range(1, _MOST_READINGS + 1):
        for each in random.sample(readings, len(readings)):  # so that none always follows the same one
            each.read()
        innocent = first.high - first_copies.low <= _allowed(again.low - again_copies.high, repeated.low)
        guilty = first.low - first_copies.high > _allowed(again.high - again_copies.low, repeated.high)
        tired = sum(each.spent for each in readings) >= _PATIENCE_SECONDS
        if (innocent and (tired or number >= _LEAST_READINGS)) or (tired and number >= _LEAST_SLOW_READINGS):
            break
    if innocent or not guilty:
        return "" if innocent else _UNCLEAR, False
    times = (
        f"{repeated.shortest * 1e6:.2f} µs, but {(first.shortest - first_copies.shortest) * 1e6:.2f} µs on fresh ones"
    )
    return f"launched again on the same inputs it takes {times}: repeated launches do not do the whole work", True


def _allowed(again: float, repeated: float) -> float:
    """Return how long a launch on fresh inputs may take, by one behind copies of the same ones and one of many.

    A launch behind copies, whose time is a difference, takes no less than one of many.
    """
    return min(_RATIO * max(again, repeated), _RATIO_TO_MANY * repeated) + _SECONDS
