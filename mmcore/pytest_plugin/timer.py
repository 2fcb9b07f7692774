"""The timer that pytest-benchmark is given: it counts device seconds."""

from __future__ import annotations

import time
from collections.abc import Callable

from mmcore.devices.timer import Timer


class DeviceClock:
    """A timer whose value is the device time that everything asked for so far has taken.

    pytest-benchmark reads a timer, calls a function so many times, and reads the timer again. Here the calls only
    count, and the second reading has the timer do it all, so that what lies between the two readings is device
    time and nothing else. Read twice in a row it moves on by the timer's resolution: pytest-benchmark takes that for
    the timer's precision and makes its rounds ten times as long at least (``--benchmark-calibration-precision``).
    """

    # What pytest-benchmark calls it in its results.
    __name__ = "DeviceClock"

    def __init__(self) -> None:
        self._timer: Timer | None = None
        self._asked = 0
        self._value = 0.0
        #: Seconds measured since the start, those of calibration included.
        self.measured = 0.0

    def __call__(self) -> float:
        """The timer's value, in seconds."""
        if self._timer is not None and self._asked:
            count, self._asked = self._asked, 0
            seconds = self._timer.seconds(count)
            self.measured += seconds
            self._value += seconds
        else:
            self._value += self._timer.resolution if self._timer is not None else 1e-9
        return self._value

    def start(self, timer: Timer) -> None:
        """Measure with ``timer`` from now on."""
        self._timer = timer
        self._asked = 0
        self.measured = 0.0

    def ask(self) -> None:
        """Have it done once more before the next reading."""
        self._asked += 1


class HostTimer:
    """Host seconds of what a device without a time of its own does.

    Args:
        work: does it once.
    """

    method = "the host's clock around the emulation"
    resolution = 1e-6

    def __init__(self, work: Callable[[], object]) -> None:
        self._work = work

    def seconds(self, count: int) -> float:
        begin = time.perf_counter()
        for _ in range(count):
            self._work()
        return time.perf_counter() - begin

    def close(self) -> None:
        """There is nothing to free."""
