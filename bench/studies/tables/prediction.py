"""The errors of predicted times."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from typing import Any

from bench.studies.prediction.errors import busiest, errors, halves, rungs
from bench.studies.tables.table import percent


def halves_errors(document: Any) -> Iterator[list[str]]:
    """Yield the errors of the kernels that the model was fitted to, and of the others."""
    for title, rows in zip(("fitted to", "left out"), halves(document["rows"]), strict=True):
        found = errors(rows)
        fractions = (found.median, found.within_two, found.covered)
        groups = (statistics.median(found.group_ranks), found.group_ranks[0])
        yield [
            title,
            *map(str, (found.kernels, found.cells)),
            *(percent(fraction) for fraction in fractions),
            *(f"{rank:.2f}" for rank in (found.rank, *groups)),
        ]


def order(document: Any) -> Iterator[list[str]]:
    """Yield how often the order of rungs and the busiest unit are right."""
    units = [measured == predicted for _, measured, predicted in busiest(document["rows"])]
    cases = {
        "the faster of two neighbouring rungs of the ladder": rungs(document["rows"]),
        "the busiest unit by ncu, at 1024": (sum(units), len(units)),
    }
    for title, (right, number) in cases.items():
        yield [title, str(right), str(number), percent(right / number)]
