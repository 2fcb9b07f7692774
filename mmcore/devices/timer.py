"""A timer of one thing that a device does."""

from __future__ import annotations

from typing import Protocol


class Timer(Protocol):
    """Repeats one thing on a device and tells how long it took, the host's launch latency left out."""

    @property
    def method(self) -> str:
        """How it reads the time, in a few words."""
        ...

    @property
    def resolution(self) -> float:
        """Seconds below which readings do not differ: one reading should last ten times this at least."""
        ...

    def seconds(self, count: int) -> float:
        """Do it ``count`` times and return how many device seconds that took, all together."""
        ...

    def close(self) -> None:
        """Free what repeating it needed."""
        ...
