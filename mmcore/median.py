"""The exact confidence interval of a median, by rank, for numbers of any distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence

CONFIDENCE = 0.95
LEAST = 6
"""The number of values from which the interval has its confidence; that of fewer is their range."""


def interval_of_median(values: Sequence[float]) -> tuple[float, float]:
    """Return the confidence interval of the median of the distribution that the values come from."""
    ranked = sorted(values)
    outside = _rank(len(ranked))
    return ranked[outside], ranked[-1 - outside]


def _rank(count: int) -> int:
    """Return how many of ``count`` sorted values, on either side, are outside the interval of their median."""
    skipped, tail = 0, 1 / 2**count
    while skipped < (count - 1) // 2:
        # How often the median is not between the values of the next ranks.
        tail += math.comb(count, skipped + 1) / 2**count
        if 2 * tail > 1 - CONFIDENCE:
            break
        skipped += 1
    return skipped
