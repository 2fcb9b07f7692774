"""Multiples of m, n and k that separate the cases that passed from those that failed."""

from __future__ import annotations

import math
from collections.abc import Sequence

from mmcore.kernel.constraints import Multiple
from mmcore_tools.conform.outcome import FAILED, PASSED, Outcome

_LEAST = 3  # cases that passed, and sizes among them; fewer are multiples of one number by chance


def separating_multiples(outcomes: Sequence[Outcome]) -> list[Multiple]:
    """Return the multiples that the sizes of all passing cases are, and those of no failing case; none without any."""
    failing = {each.case.size[:3] for each in outcomes if each.case and each.outcome == FAILED}
    passing = {each.case.size[:3] for each in outcomes if each.case and each.outcome == PASSED} - failing
    if len(passing) < _LEAST or not failing:
        return []
    steps = dict(zip("mnk", (math.gcd(*sizes) for sizes in zip(*passing, strict=True)), strict=True))
    if not all(any(size % step for size, step in zip(sizes, steps.values(), strict=True)) for sizes in failing):
        return []
    several = dict.fromkeys(step for step in steps.values() if step > 1)
    return [Multiple(tuple(name for name in "mnk" if steps[name] == step), step) for step in several]
