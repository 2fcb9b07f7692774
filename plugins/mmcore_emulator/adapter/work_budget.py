"""The budget of an examination's work, and which runs it affords."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from mmcore_emulator.adapter.allowed_sizes import PLAIN, Size
from mmcore_emulator.adapter.candidate_sizes import CodeSizes

_TURNING = 0.6  # products that turn loops again have this part of an examination's work at least
_GROWTH = 3  # larger sizes for code that was not executed have 1/3 of an examination's work
_PLAIN_EXCESS = 1.5  # plain and small runs of sizes that are left may take an examination so many times as long
_LITTLE = 1 / 8  # the part of an examination's work that a small run takes at most
_SECONDS = 1e-7  # seconds of a unit of a launch's work
_EXCESS = 8  # a launch that has so many times the work of the whole examination is stopped


class WorkBudget:
    """The estimated seconds of an examination's runs, and the most that they may take.

    Args:
        sizes: what estimates the seconds of a size.
        seconds: the seconds of the whole examination.
        counted: returns the units of work that all launches so far have done.
    """

    def __init__(self, sizes: CodeSizes, seconds: float, counted: Callable[[], float]) -> None:
        self.most_work = _EXCESS * seconds / _SECONDS
        self._sizes, self._seconds, self._counted = sizes, seconds, counted
        self._estimated, self._most = 0.0, seconds  # of the runs so far
        self._estimated_of_blocks = 0.0  # of products of which single blocks are run
        self._work_beside = 0.0  # of runs that are in no estimate

    def affords(self, size: Size) -> bool:
        """Return whether the work that is left suffices for a size, and count on its run; plain runs may exceed it.

        Single blocks of products have a budget of their own.
        """
        if size.of_blocks:
            seconds = self._sizes.seconds_of_blocks(size.problem)
            if affordable := self._estimated_of_blocks + seconds <= self._seconds:
                self._estimated_of_blocks += seconds
            return affordable
        seconds = self._sizes.seconds(size.problem, plain=size.is_plain)
        cheap = size.is_plain or self._slower() * seconds <= self._seconds * _LITTLE
        most = self._most * (_PLAIN_EXCESS if cheap else 1)
        if affordable := self._slower() * (self._estimated + seconds) <= most:
            self._estimated += seconds
        return affordable

    def why_not(self, size: Size) -> str:
        """Return why a size is not run, as a clause: for its own work, or that of the sizes before it."""
        if self._sizes.seconds(size.problem, plain=True) > self._seconds:
            return f"{size.problem} takes too long"
        m, n, k = size.problem.m, size.problem.n, size.problem.k
        return f"no time is left for --size {m}x{n}x{k}"

    def leave_for_turns(self) -> None:
        """Leave enough work for products that turn loops again."""
        self._most = max(self._most, self._spent() + self._seconds * _TURNING)

    def leave_for_growth(self) -> None:
        """Leave no more work than larger sizes take for code that was not executed."""
        self._most = min(self._most, self._spent() + self._seconds / _GROWTH)

    @contextmanager
    def run(self, size: Size) -> Iterator[None]:
        """Compare the work in a ``with`` statement, the run of a size, with its estimate."""
        beside = 1.0 if size.is_beside or size.of_blocks else 1 - 1 / PLAIN if size.is_plain else 0.0
        with self.beside(beside):
            yield

    @contextmanager
    def beside(self, part: float = 1.0) -> Iterator[None]:
        """Compare a part of the work in a ``with`` statement with no estimate."""
        before = self._counted()
        try:
            yield
        finally:
            self._work_beside += part * (self._counted() - before)

    def _spent(self) -> float:
        return self._slower() * self._estimated

    def _slower(self) -> float:
        """Return the correction of estimates by the work of the earlier runs, which is counted in instructions."""
        counted = (self._counted() - self._work_beside) * _SECONDS
        return max(1, counted / self._estimated) if self._estimated else 1
