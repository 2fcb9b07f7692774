"""The outcomes of random cases, of bad plugins, of changed code and of public kernels."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from bench.studies.public_kernels.corpus import KERNELS
from bench.studies.public_kernels.declared import FAMILIES
from bench.studies.tables.table import Row, grouped, percent
from mmcore.kernel.problem import Problem
from mmcore.verify.tolerance import hides_a_term
from tests.fuzzing.arithmetics import ARITHMETICS


def mutants(document: Any) -> Iterator[list[str]]:
    """Yield the outcomes of the drawn mutants at two revisions, by room."""
    mutants = document["mutants"]
    first, last = mutants[0]["outcomes"]
    for mutant in mutants:
        mutant["room"] = mutant["file"].replace("plugins/", "").partition("/")[0]
    for room, rows in [*sorted(grouped(mutants, "room").items()), ("all", mutants)]:
        compared = [row["outcomes"] for row in rows if row["outcomes"][last] != "gone"]
        killed = [str(sum(each[revision] == "killed" for each in compared)) for revision in (first, last)]
        yield [room, str(len(rows)), str(len(compared)), *killed]


_FUZZED = ("emulator", "nvidia-h200")
_KINDS = {"verified": "verified", "refused": "refused", "forced": "forced", "damaged": "damaged and rejected"}


def fuzzing(*documents: Any) -> Iterator[list[str]]:
    """Yield the fuzzed cases by outcome and device."""
    found = [sum(map(Counter[str], document["outcomes"].values()), Counter[str]()) for document in documents]
    yield ["", *(f"{device}, {document['date']}" for device, document in zip(_FUZZED, documents, strict=True))]
    yield ["seeds", *(", ".join(map(str, document["seeds"])) for document in documents)]
    yield ["seconds", *(str(document["seconds"]) for document in documents)]
    yield ["cases", *(str(counts.total()) for counts in found)]
    for outcome in sorted(set().union(*found)):
        yield [outcome, *(str(counts[outcome]) for counts in found)]


def fuzzing_by_kernel(*documents: Any) -> Iterator[list[str]]:
    """Yield the fuzzed cases by kernel and device."""
    yield ["kernel", *(f"{device}: {title}" for device in _FUZZED for title in _KINDS.values())]
    for kernel in sorted(set().union(*(document["outcomes"] for document in documents))):
        found = [document["outcomes"].get(kernel, {}) for document in documents]
        yield [kernel, *(str(_of_kind(counts, kind)) for counts in found for kind in _KINDS)]


def _of_kind(counts: Mapping[str, int], kind: str) -> int:
    return sum(count for outcome, count in counts.items() if outcome.partition(":")[0] == kind)


def zoo(emulated: Any, on_h200: Any) -> Iterator[list[str]]:
    """Yield the reports of each bad plugin on the emulator and on the H200."""
    reported = {plugin["plugin"]: plugin["reported"] for plugin in on_h200["plugins"]}
    for plugin in emulated["plugins"]:
        # Markdown shows this text unchanged inside a table.
        said = (
            re.sub(r"([|*_<>`\\])", r"\\\1", text)
            for text in (plugin["reported"], reported.get(plugin["plugin"], "not run"))
        )
        yield [f"`{plugin['plugin']}`", plugin["does"], *said, plugin["command"] and f"`mmcore {plugin['command']}`"]


def types(document: Any) -> Iterator[list[str]]:
    """Yield the verdicts by types: right products, products with a mistake, and those of a lower precision."""
    for name, kinds in document["types"].items():
        counts = {kind: Counter(outcomes) for kind, outcomes in kinds.items()}
        terms = ("dropped term", "doubled term", "swapped terms")
        mistakes = sum((counts.pop(kind) for kind in terms), Counter[str]())
        right = counts.pop("right")
        lower = sum(counts.values(), Counter[str]())
        cells = (right["accepted"], mistakes["rejected"], mistakes["within the tolerance"], lower["rejected"])
        missed = [f"{kind} {each['accepted']}" for kind, each in counts.items() if each["accepted"]]
        yield [name, *map(str, cells), ", ".join(missed) or "0"]


_ENDLESS = 2**31


def terms_that_show() -> Iterator[list[str]]:
    """Yield the largest k at which a dropped term always shows among uniform numbers."""
    for each in ARITHMETICS:
        least, most = 0, _ENDLESS
        while least < most - 1:
            middle = (least + most) // 2
            hides = hides_a_term(Problem(1, 1, middle, each.dtype, each.output), each.accumulator)
            least, most = (least, middle) if hides else (middle, most)
        yield [str(each), "any" if most == _ENDLESS else str(least)]


def public_kernels(*documents: Any) -> Iterator[list[str]]:
    """Yield the kernels of each repository by family, and their verdicts on the emulator and on the H200."""
    for repository in (*dict.fromkeys(each.repository for each in KERNELS.values()), ""):
        kernels = [each for each in KERNELS.values() if repository in ("", each.repository)]
        families = Counter(each.family for each in kernels)
        rows = [[row for row in document["rows"] if repository in ("", row["repository"])] for document in documents]
        judged = [cell for found in rows for cell in _judged(grouped(found, "kernel"))]
        most = max((row["percent_of_cublas"] or 0.0 for row in rows[1]), default=0.0)
        counts = [str(families[family] or "") for family in FAMILIES]
        yield [repository or "all", *counts, str(len(kernels)), *judged, percent(most / 100 or None, ".1")]


def _judged(measured: Mapping[str, list[Row]]) -> tuple[str, str]:
    """Return the number of kernels with a verdict, and of those with the right one."""
    judged = [rows for rows in measured.values() if all(row["as_expected"] is not None for row in rows)]
    right = sum(all(row["as_expected"] for row in rows) for rows in judged)
    return (str(len(judged)), str(right)) if judged else ("", "")
