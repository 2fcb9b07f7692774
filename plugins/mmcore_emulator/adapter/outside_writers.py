"""Races of threads outside of the product, which a guard mends, and no atomic operation."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from mmcore.devices.violations import Violation
from mmcore_emulator.sanitizer.races import GUARD, ONE_WRITER


def with_guards(violations: Iterable[Violation]) -> list[Violation]:
    """Return violations in which races name a guard where the same line also writes behind the array.

    A row that is not guarded ends in the next one, whose elements other threads write, and the last row behind C.
    """
    several = list(violations)
    outside = {_place(each) for each in several if each.kind == "out-of-bounds-write"}
    return [
        replace(each, hint=GUARD) if each.hint == ONE_WRITER and _place(each) in outside else each for each in several
    ]


def _place(violation: Violation) -> tuple[str | None, str | None, int | None]:
    return violation.array, violation.source, violation.line
