"""Counts of emulated cells beside those of a saved run: a test of regressions without a GPU."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mmcore.result import Result

COUNTS = ("instructions", "global_sectors", "bank_conflicts")
"""The figures of which fewer are better, and which are the same in every run of the same code."""

OCCUPANCY = "occupancy"
"""The figure of which more is better. Registers and shared memory matter as far as they lower it."""


@dataclass(frozen=True)
class Change:
    """A figure that differs from the saved one; ``now`` is None if the emulator gave up counting."""

    test: str
    count: str
    before: float
    now: float | None

    @property
    def percent(self) -> float | None:
        """The growth in percent; None if it has no number."""
        return None if self.now is None or not self.before else 100 * (self.now - self.before) / self.before

    def grew(self, allowed: float) -> bool:
        """Return True if the count grew by more than ``allowed`` percent."""
        return self.now is not None and self.now > self.before * (1 + allowed / 100)

    def is_worse(self, allowed: float) -> bool:
        """Return True if the count grew, or the occupancy fell, by more than ``allowed`` percent."""
        if self.count == OCCUPANCY:
            return self.now is not None and self.now < self.before * (1 - allowed / 100)
        return self.grew(allowed)

    def __str__(self) -> str:
        digits = ".3g" if self.count == OCCUPANCY else ",.0f"
        now = "not counted" if self.now is None else f"{self.now:{digits}}"
        growth = "" if self.percent is None else f", {self.percent:+.2f} %"
        return f"{self.count.replace('_', ' ')}: {self.before:{digits}} before, {now} now{growth}"


@dataclass(frozen=True)
class CountComparison:
    """The comparison of a run's counts with a saved run's.

    Attributes:
        source: the name of the saved run's file; empty without a comparison.
        compared: the number of cells whose counts were compared.
        changes: the counts that differ.
        allowed: the growth, or the loss of occupancy, in percent that is no regression.
    """

    source: str = ""
    compared: int = 0
    changes: Sequence[Change] = ()
    allowed: float = 0.0

    @property
    def regressed(self) -> bool:
        """True if a count is worse by more than is allowed."""
        return bool(self.worse)

    @property
    def worse(self) -> list[str]:
        """The tests of which a count is worse by more than is allowed."""
        return [*dict.fromkeys(change.test for change in self.changes if change.is_worse(self.allowed))]

    def lines(self) -> Iterator[str]:
        """Yield the report: each cell with a changed count, and a sentence."""
        changed = list(dict.fromkeys(change.test for change in self.changes))
        for test in changed:
            yield test.rpartition("::")[2]
            yield from (f"  {change}" for change in self.changes if change.test == test)
        same = self.compared - len(changed)
        yield f"mmcore: {same} of {self.compared} cells have the counts of {self.source}"
        if self.regressed:
            yield "mmcore: not saved, because counts are worse; --mm-allow-growth PERCENT allows that"


def compared_counts(
    results: Mapping[str, Result], saved: Mapping[str, Mapping[str, Any]], source: str, allowed: float
) -> CountComparison:
    """Compare the counts of results with those of saved benchmarks; both are by test."""
    changes: list[Change] = []
    compared = 0
    for test, result in results.items():
        before = _saved_counts(saved.get(test, {}))
        compared += bool(before)
        for name, number in before.items():
            now = result.figures.get(name)
            if now != number:
                changes.append(Change(test, name, number, now))
    return CountComparison(source, compared, changes, allowed)


def _saved_counts(benchmark: Mapping[str, Any]) -> dict[str, float]:
    """Return the counts and the occupancy in a saved benchmark; fields of another form are ignored."""
    info = benchmark.get("extra_info")
    figures = info.get("figures") if isinstance(info, dict) else None
    known = figures if isinstance(figures, dict) else {}
    counts = {name: known[name] for name in COUNTS if type(known.get(name)) is int}
    occupancy = {name: known[name] for name in (OCCUPANCY,) if type(known.get(name)) in (int, float)}
    return counts | occupancy if counts else {}
