"""How long a device takes for something, in device seconds."""

from __future__ import annotations

import math
import statistics
from typing import Protocol

#: Host memory that the copies of a global time may go to and come from.
MEMORIES = ("pageable", "pinned")

# One reading of a typical time lasts about this long, and readings go on until the budget is spent.
_READING_SECONDS = 5e-3
_BUDGET_SECONDS = 0.1
_LONG_SECONDS = 0.5
_LEAST_READINGS, _MOST_READINGS = 3, 20


class Timer(Protocol):
    """Repeats one thing on a device and tells how long it took, the host's launch latency left out."""

    @property
    def method(self) -> str:
        """How it reads the time, in a few words."""
        ...

    @property
    def resolution(self) -> float:
        """The finest that a reading is good for, in seconds: one reading should last ten times this at least."""
        ...

    def seconds(self, count: int) -> float:
        """Do it ``count`` times and return how many device seconds that took, all together."""
        ...

    def close(self) -> None:
        """Free what repeating it needed."""
        ...


def typical_seconds(timer: Timer) -> float:
    """Device seconds that doing it once takes: the median of a few readings, after a first that warms up.

    What takes longer than half a second is read once.

    Args:
        timer: times it; closed afterwards.
    """
    try:
        return _typical_seconds(timer)
    finally:
        timer.close()


def _typical_seconds(timer: Timer) -> float:
    first = timer.seconds(1)
    if first >= _LONG_SECONDS:
        return first
    count = max(math.ceil(_READING_SECONDS / max(first, timer.resolution / 100)), 1)
    warm = timer.seconds(count)
    readings = min(max(int(_BUDGET_SECONDS / max(warm, 1e-9)), _LEAST_READINGS), _MOST_READINGS)
    return statistics.median(timer.seconds(count) for _ in range(readings)) / count
