"""The proofs of changed kernels, and their bounds beside the errors of random products."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from bench.studies.tables.table import grouped

_OUTCOMES = ("wrong", "not proved", "not ended", "refused", "proved")


def mutants(document: Any) -> Iterator[list[str]]:
    """Yield the outcomes of the proofs of mutants by the kind of change, and the number of proved ones with hazards."""
    every = document["mutants"]
    for kind, rows in [*sorted(grouped(every, "kind").items()), ("all", every)]:
        outcomes = Counter(row["outcome"] for row in rows)
        hazardous = sum(bool(row.get("hazards")) for row in rows)
        yield [kind, *(f"{each:,}" for each in (len(rows), *(outcomes[name] for name in _OUTCOMES), hazardous))]


def bounds(document: Any) -> Iterator[list[str]]:
    """Yield the largest errors of random products of proved kernels, in shares of their bounds, by their types."""
    every = [row for row in document["bounds"] if "within" in row]
    for types, rows in [*sorted(grouped(every, "types").items()), ("all", every)]:
        shares = [row["observed"] / row["bound"] if row["bound"] else row["observed"] for row in rows]
        yield [
            types,
            f"{len(rows):,}",
            f"{sum(row['products'] for row in rows):,}",
            f"{100 * max(shares):.1f} %",
            f"{max(row['tolerances'] for row in rows):.1f}",
            str(sum(not row["within"] for row in rows)),
        ]
