"""The timer that pytest-benchmark is given: it tells device seconds that were measured before."""

from __future__ import annotations

from collections.abc import Sequence


class DeviceClock:
    """A timer that moves on by one round at every second reading: pytest-benchmark reads it before and after a round."""

    # What pytest-benchmark calls it in its results.
    __name__ = "DeviceClock"

    def __init__(self) -> None:
        self._rounds: list[float] = []
        self._value = 0.0
        self._in_round = False

    def replay(self, rounds: Sequence[float]) -> None:
        """Tell these seconds, a round each, from now on."""
        self._rounds = list(reversed(rounds))
        self._value = 0.0
        self._in_round = False

    def __call__(self) -> float:
        """The timer's value, in seconds."""
        if self._in_round and self._rounds:
            self._value += self._rounds.pop()
        self._in_round = not self._in_round
        return self._value
