"""A moment until which everything must be done."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager

from mmcore.errors import MmcoreError

USUAL_SECONDS = 60.0
"""What a command gives a kernel where the user says nothing."""


def parse_seconds(text: str) -> float:
    """A time limit as a user writes it.

    Raises:
        MmcoreError: it is no number above 0.
    """
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 < seconds < math.inf:
        raise MmcoreError(f"{text!r} is not a number of seconds above 0")
    return seconds


class Deadline:
    """A time limit that can be set anew.

    Args:
        seconds: from now; never when None.

    Attributes:
        limit: seconds that were given; None without a limit.
    """

    def __init__(self, seconds: float | None = None) -> None:
        self.limit: float | None
        self._end: float | None
        self.set(seconds)

    def set(self, seconds: float | None) -> None:
        """Let it be ``seconds`` from now; never when None."""
        self.limit = seconds
        self._end = None if seconds is None else time.monotonic() + seconds

    @contextmanager
    def within(self, seconds: float | None) -> Iterator[None]:
        """Let it be ``seconds`` from now, until the block ends."""
        self.set(seconds)
        try:
            yield
        finally:
            self.set(None)

    @property
    def remaining(self) -> float | None:
        """Seconds that are left, negative when it is over; None without a limit."""
        return None if self._end is None else self._end - time.monotonic()

    @property
    def passed(self) -> bool:
        """Whether it is over."""
        return self._end is not None and time.monotonic() > self._end
