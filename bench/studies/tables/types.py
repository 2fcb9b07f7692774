"""The verdicts about products of every type, and the sizes at which a dropped term can hide."""

from __future__ import annotations

from collections import Counter
from typing import Any

from bench.studies.tables import sources
from bench.studies.tables.markdown import markdown
from bench.studies.tables.sources import results
from mmcore.kernel.problem import Problem
from mmcore.verify.tolerance import hides_a_term
from tests.fuzzing.arithmetics import ARITHMETICS

_TERMS = ("dropped term", "doubled term", "swapped terms")
_ENDLESS = 2**31


def types() -> str:
    """Return the verdicts by types: right products, products with a mistake, and those of a lower precision."""
    found = _document()
    rows = []
    for name, kinds in found["types"].items():
        counts = {kind: Counter(outcomes) for kind, outcomes in kinds.items()}
        mistakes = sum((counts.pop(kind) for kind in _TERMS), Counter[str]())
        right = counts.pop("right")
        lower = sum(counts.values(), Counter[str]())
        cells = (right["accepted"], mistakes["rejected"], mistakes["within the tolerance"], lower["rejected"])
        missed = [f"{kind} {each['accepted']}" for kind, each in counts.items() if each["accepted"]]
        rows.append([name, *map(str, cells), ", ".join(missed) or "0"])
    columns = ("right: accepted", "mistakes: rejected", "less than rounding", "lower precision: rejected", "accepted")
    return markdown(" | ".join(("types", *columns)), rows)


def terms_that_show() -> str:
    """Return the largest k at which a dropped term always shows among uniform numbers."""
    rows = []
    for each in ARITHMETICS:
        rows.append([str(each), _most(each.dtype, each.accumulator, each.output)])
    return markdown("types | the largest k", rows)


def _most(dtype: str, accumulator: str, output: str) -> str:
    least, most = 0, _ENDLESS
    while least < most - 1:
        middle = (least + most) // 2
        hides = hides_a_term(Problem(1, 1, middle, dtype, output), accumulator)
        least, most = (least, middle) if hides else (middle, most)
    return "any" if most == _ENDLESS else str(least)


def float22() -> str:
    """Return the share of the tolerance that sums of 8-bit floats take on tensor cores, by k."""
    rows = [[k, f"{each['error']:.3f}", f"{each['tolerance']:.2g}"] for k, each in _document()["float22"].items()]
    return markdown("k | largest error by the tolerance | tolerance by C's own size", rows)


def _document() -> Any:
    with results(sources.RESULTS / "numpy" / "types.json") as document:
        return document
