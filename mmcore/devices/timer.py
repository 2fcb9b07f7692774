"""A timer of one thing that a device does."""

from __future__ import annotations

from typing import Protocol


class Timer(Protocol):
    """Repeats one thing on a device and tells how long it took, the host's launch latency left out.

    Attributes:
        method: how it reads the time, in a few words.
        resolution: seconds; one reading should last ten times this at least.
    """

    @property
    def method(self) -> str: ...
    @property
    def resolution(self) -> float: ...

    def seconds(self, count: int) -> float:
        """Device seconds of doing it ``count`` times, all together."""

    def close(self) -> None: ...
