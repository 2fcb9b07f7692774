"""The errors of predicted times: of times, of their order, and of the busiest unit."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

import numpy as np

from bench.studies.prediction.fit import fitted_half
from bench.studies.prediction.rows import Row
from mmcore_performance.prediction import times_as_fast

_RUNG = re.compile(r"ladder\.(\w+)\.(\d\d)_")
_LEAST_GROUP = 8  # kernels of one type and size, whose order is compared


@dataclass(frozen=True)
class Errors:
    """The errors of some rows.

    Attributes:
        cells, kernels: how many there are.
        median: median relative error of the predicted times.
        within_two: fraction of predicted times within a factor of two.
        covered: fraction of measured times within the predicted interval.
        ratios_covered: the same of the ratios of two kernels' times of one card, type and size.
        rank: Spearman's correlation of the predicted with the measured times.
        group_ranks: the same within the kernels of each card, type and size, in ascending order.
    """

    cells: int
    kernels: int
    median: float
    within_two: float
    covered: float
    ratios_covered: float
    rank: float
    group_ranks: tuple[float, ...]


def errors(rows: Sequence[Row]) -> Errors:
    """Return the errors of rows with measured and predicted times."""
    measured = np.array([row["seconds"] for row in rows])
    predicted, low, high = np.array([row["predicted"] for row in rows]).T
    ratio = predicted / measured
    groups: dict[tuple[str, str, int], list[int]] = defaultdict(list)
    for index, row in enumerate(rows):
        groups[row["card"], row["type"], row["m"]].append(index)
    return Errors(
        len(rows),
        len({row["kernel"] for row in rows}),
        float(np.median(abs(ratio - 1))),
        float(np.mean(np.maximum(ratio, 1 / ratio) <= 2)),
        float(np.mean((low <= measured) & (measured <= high))),
        float(np.mean([_is_covered(rows[a], rows[b]) for at in groups.values() for a, b in combinations(at, 2)])),
        rank_correlation(measured, predicted),
        tuple(
            sorted(rank_correlation(measured[at], predicted[at]) for at in groups.values() if len(at) >= _LEAST_GROUP)
        ),
    )


def _is_covered(a: Row, b: Row) -> bool:
    """Return whether the measured ratio of two times is within the predicted interval."""
    _, low, high = times_as_fast(a["predicted"], b["predicted"])
    return bool(low <= a["seconds"] / b["seconds"] <= high)


def rank_correlation(first: Iterable[float], second: Iterable[float]) -> float:
    """Return Spearman's rank correlation."""
    one, other = (np.argsort(np.argsort(np.array(list(values)))) for values in (first, second))
    return float(np.corrcoef(one, other)[0, 1])


def halves(rows: Iterable[Row]) -> tuple[list[Row], list[Row]]:
    """Return the predicted rows of the kernels that the model is fitted to, and of the others."""
    predicted = [row for row in rows if "predicted" in row]
    return [row for row in predicted if fitted_half(row["kernel"])], [
        row for row in predicted if not fitted_half(row["kernel"])
    ]


def rungs(rows: Iterable[Row], apart: float = 0.0) -> tuple[int, int]:
    """Return how many neighbouring rungs of the ladder are predicted in their order, and how many there are.

    Rungs with measured times that differ by less than the fraction ``apart`` are left out.
    """
    ladders: dict[tuple[str, str, int], list[tuple[str, float, float]]] = defaultdict(list)
    for row in rows:
        if "predicted" in row and (rung := _RUNG.match(row["kernel"])):
            ladders[row["card"], rung[1], row["m"]].append((rung[2], row["seconds"], row["predicted"][0]))
    right = [
        (measured < faster) == (predicted < quicker)
        for steps in map(sorted, ladders.values())
        for (_, faster, quicker), (_, measured, predicted) in pairwise(steps)
        if abs(measured / faster - 1) >= apart
    ]
    return sum(right), len(right)


def busiest(rows: Iterable[Row]) -> Iterator[tuple[str, str, str]]:
    """Yield each kernel that ncu measured, its busiest unit by ncu, and the predicted one."""
    for row in rows:
        if "busiest" in row and "predicted" in row:
            yield row["kernel"], row["busiest"], row["unit"]
