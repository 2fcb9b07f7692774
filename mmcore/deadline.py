"""Time limits."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from mmcore.errors import MmcoreError, TimeLimit
from mmcore.messages import quoted

USUAL_SECONDS = 60.0
"""What a command gives a kernel where the user says nothing."""

MOST_SECONDS = 30 * 86400.0  # an operating system's timers take no number of any size
_UNITS = {"s": 1, "m": 60, "h": 3600}


def parse_seconds(text: str) -> float:
    """Return the seconds of a time limit such as "90", "90s", "10m" or "2h". Raises MmcoreError for any other text."""
    number, factor = (text[:-1], _UNITS[text[-1]]) if text[-1:] in _UNITS else (text, 1)
    try:
        seconds = float(number) * factor
    except ValueError:
        seconds = math.nan
    if not 0 < seconds <= MOST_SECONDS:
        what = "a number of seconds above 0 and up to 30 days, nor one with a unit, such as 90s, 10m or 2h"
        raise MmcoreError(f"{quoted(text)} is not {what}")
    return seconds


_ends: ContextVar[float] = ContextVar("ends", default=math.inf)  # by time.monotonic()


@contextmanager
def whole(limit: float | None) -> Iterator[None]:
    """Limit everything in the block to so many seconds together; :func:`left` returns the rest."""
    token = _ends.set(min(_ends.get(), math.inf if limit is None else time.monotonic() + limit))
    try:
        yield
    finally:
        _ends.reset(token)


def left(limit: float | None) -> float | None:
    """Return a limit, or the seconds that :func:`whole` leaves if they are fewer. Raises TimeLimit if none are left."""
    rest = _ends.get() - time.monotonic()
    if rest <= 0:
        raise TimeLimit("the time limit of the whole command was reached")
    return limit if math.isinf(rest) else min(math.inf if limit is None else limit, math.ceil(rest))


class Deadline:
    """A deadline that can be set anew.

    Attributes:
        limit: seconds from when it was set; None without a limit.
        end: when it is over, by :func:`time.monotonic`.
        reached: how it is reached, such as "after 60 s".
    """

    def __init__(self) -> None:
        self._set(None)

    @contextmanager
    def within(self, limit: float | None) -> Iterator[None]:
        """Let it be ``limit`` seconds from now, until the block ends."""
        self._set(limit)
        try:
            yield
        finally:
            self._set(None)

    def expire(self, limit: float) -> None:
        """End it now: its process has used so many seconds of processor time."""
        self._set(limit)
        self.end, self.reached = -math.inf, f"when all of its commands had used {limit:g} s of processor time"

    def _set(self, limit: float | None) -> None:
        self.limit = limit
        self.end = math.inf if limit is None else time.monotonic() + limit
        self.reached = f"after {limit or 0:g} s"
