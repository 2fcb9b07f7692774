"""Severities: hazards are mistakes of a kernel; warnings are only signs that it may have one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, TypeVar

WARNINGS = (
    "overwritten-output",
    "skipped-barrier",
    "split-barrier",
    "phase-waited-twice",
    "unawaited-copy",
    "unfenced-mbarrier",
    "misplaced-array",
)
"""Kinds of violations that are warnings."""


class _Violation(Protocol):
    @property
    def kind(self) -> str: ...
    @property
    def source(self) -> str | None: ...
    @property
    def line(self) -> int | None: ...


V = TypeVar("V", bound=_Violation)


def hazards_and_warnings(violations: Iterable[V]) -> tuple[tuple[V, ...], tuple[V, ...]]:
    """Return the hazards and the warnings among violations, each sorted by source and line.

    Deadlocks come last, because they follow from another hazard more often than they cause one.
    """
    found = sorted(violations, key=lambda each: (each.kind == "deadlock", each.source or "~", each.line or 0))
    if any(each.kind == "deadlock" for each in found):
        found = [each for each in found if each.kind != "unawaited-copy"]
    hazards = tuple(each for each in found if each.kind not in WARNINGS)
    return hazards, tuple(each for each in found if each.kind in WARNINGS)
