"""How long a device takes for something, in device seconds."""

from __future__ import annotations

import math
import statistics
from typing import Protocol

#: Host memory that the copies of a global time may go to and come from.
MEMORIES = ("pageable", "pinned")

# One reading of a typical time lasts about this long, and there are as many as this is worth.
_READING_SECONDS = 5e-3
_READINGS = 20
_LONG_SECONDS = 0.5
_LEAST_READINGS = 3


class Stopwatch(Protocol):
    """Repeats one thing on a device and tells how long it took, the host's launch latency left out."""

    @property
    def method(self) -> str:
        """How it reads the time, in a few words."""
        ...

    @property
    def grain(self) -> float:
        """The finest that a reading is good for, in seconds: one reading should last ten times this at least."""
        ...

    def seconds(self, count: int) -> float:
        """Do it ``count`` times and return how many device seconds that took, all together."""
        ...

    def close(self) -> None:
        """Free what repeating it needed."""
        ...


def typical_seconds(stopwatch: Stopwatch, reading: float = _READING_SECONDS) -> float:
    """Device seconds that doing it once takes: the median of a few readings, after a first that warms up.

    What takes longer than half a second is read once.

    Args:
        stopwatch: times it; closed afterwards.
        reading: device seconds that a reading lasts; what takes longer is read three times at least.
    """
    try:
        return _typical_seconds(stopwatch, reading)
    finally:
        stopwatch.close()


def _typical_seconds(stopwatch: Stopwatch, reading: float) -> float:
    first = stopwatch.seconds(1)
    if first >= _LONG_SECONDS:
        return first
    count = max(math.ceil(reading / max(first, stopwatch.grain / 100)), 1)
    warm = stopwatch.seconds(count)
    readings = min(max(int(_READINGS * reading / max(warm, 1e-9)), _LEAST_READINGS), _READINGS)
    return statistics.median(stopwatch.seconds(count) for _ in range(readings)) / count
