"""The answer of a comparison of times: faster, slower, same or undecided."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Answer: TypeAlias = Literal["faster", "slower", "same", "cannot tell"]

_CLOCK_MOVED = 0.01


@dataclass(frozen=True)
class Ratio:
    """The time of A over the time of B.

    Attributes:
        faster: how many times as fast B is.
        interval: its 95 % confidence interval.
        clocks: the median clock in MHz of A's own measurement and of the rounds in turns; None if unknown.
        cycles: how many times as many clock cycles A takes, each timed at one of these clocks; None if unknown.
        same: the largest difference, as a part of the time, that is called the same.
    """

    faster: float
    interval: tuple[float, float]
    clocks: tuple[float, float] | None = None
    cycles: float | None = None
    same: float = 0.01

    @property
    def clock_moved(self) -> bool:
        """True if the two clocks differ by more than 1 %."""
        return self.clocks is not None and abs(self.clocks[1] / self.clocks[0] - 1) > _CLOCK_MOVED

    @property
    def answer(self) -> Answer:
        """The answer about B.

        It is "same" if the interval is near enough to 1, and undecided if it is wider and contains 1. If the clock
        moved, B is faster or slower only if it takes fewer or more clock cycles, too.
        """
        low, high = self.interval
        if low >= 1 - self.same and high <= 1 + self.same:
            return "same"
        if low <= 1 <= high:
            return "cannot tell"
        if self.clock_moved and self.cycles is not None and (self.cycles > 1) != (low > 1):
            return "cannot tell"
        return "faster" if low > 1 else "slower"

    def __str__(self) -> str:
        """Return the ratio and its interval: "1.25 times A's speed (95 % confidence: 1.24–1.26)"."""
        low, high = self.interval
        return f"{self.faster:.4g} times A's speed (95 % confidence: {low:.4g}–{high:.4g})"
