"""The errors of predicted times."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from typing import Any

from bench.studies.prediction.errors import busiest, errors, halves, rungs
from bench.studies.tables.table import percent

_ERROR = 0.02  # of a measured time, which docs/measuring.md describes


def halves_errors(*documents: Any) -> Iterator[list[str]]:
    """Yield the errors of the kernels that the model was fitted to, and of the others, on each card."""
    for document in documents:
        for title, rows in zip(("fitted to", "left out"), halves(document["rows"]), strict=True):
            found = errors(rows)
            fractions = (found.median, found.within_two, found.covered, found.ratios_covered)
            groups = (statistics.median(found.group_ranks), found.group_ranks[0])
            yield [
                rows[0]["card"],
                title,
                *map(str, (found.kernels, found.cells)),
                *(percent(fraction) for fraction in fractions),
                *(f"{rank:.2f}" for rank in (found.rank, *groups)),
            ]


def order(*documents: Any) -> Iterator[list[str]]:
    """Yield how often the order of rungs and the busiest unit are right, on each card."""
    for document in documents:
        card, units = document["rows"][0]["card"], [*busiest(document["rows"])]
        right = sum(measured == predicted for _, measured, predicted in units)
        faster = "the faster of two neighbouring rungs of the ladder"
        yield _share(f"{faster}, {card}", *rungs(document["rows"]))
        yield _share(f"{faster}, with times {percent(_ERROR)} or more apart, {card}", *rungs(document["rows"], _ERROR))
        if units:
            yield _share(f"the busiest unit by ncu at 1024, {card}", right, len(units))


def _share(title: str, right: int, number: int) -> list[str]:
    return [title, str(right), str(number), percent(right / number)]
