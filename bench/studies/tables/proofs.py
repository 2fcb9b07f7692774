"""The outcomes of proofs of registered and of public kernels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from bench.studies.public_kernels.corpus import KERNELS
from bench.studies.tables.table import Row, grouped
from mmcore_emulator.adapter.proof import NOT_PROVED, PROVED, WRONG

_NOT_RUN = "not run"
_SHALLOW = "with fewer tiles than stages, it reads past A or B, or leaves C undefined"


def outcomes(document: Any) -> Iterator[list[str]]:
    """Yield the outcomes of right kernels by family, and those of wrong ones."""
    right = [row for row in document["kernels"] if row["expected"] == "right"]
    wrong = [row for row in document["kernels"] if row["expected"] != "right"]
    groups = {name: [row for row in right if _group(row) == name] for name in ("lectures", "ladder", "other languages")}
    by_repository = grouped(
        [row | {"repository": _group(row)} for row in right if _group(row) not in groups], "repository"
    )
    for name, rows in [*groups.items(), *sorted(by_repository.items()), ("all", right), ("wrong kernels", wrong)]:
        counts = Counter(row["outcome"] for row in rows)
        yield [name, str(len(rows)), *(str(counts[each]) for each in (PROVED, NOT_PROVED, WRONG, _NOT_RUN))]


def _group(row: Mapping[str, Any]) -> str:
    """Return the row of the table in which a kernel is counted."""
    if public := KERNELS.get(row["kernel"]):
        return public.repository
    family: str = row["family"]
    return {"ladder": family, "triton": "other languages", "cutedsl": "other languages"}.get(family, "lectures")


def unproved(document: Any) -> Iterator[list[str]]:
    """Yield the kernels without a proof, those with the same reasons together, and the reasons."""
    by_reasons: dict[tuple[str, ...], list[Row]] = {}
    for row in document["kernels"]:
        if "shallow" in row:
            by_reasons.setdefault((PROVED, f"only at a k of {row['sizes'][2]}: {_SHALLOW}"), []).append(row)
        elif row["outcome"] != PROVED:
            public = KERNELS.get(row["kernel"])
            wrong = public.wrong if public else ""
            found = dict.fromkeys([wrong] if wrong else map(_short, row["reasons"] or ["the sum is another one"]))
            by_reasons.setdefault((row["outcome"], *found), []).append(row)
    for (outcome, *reasons), rows in sorted(by_reasons.items()):
        names = ", ".join(f"`{row['kernel']}`" for row in rows)
        yield [names, outcome, "; ".join(reasons).replace("|", "\\|")]


def _short(reason: str) -> str:
    return reason.partition(";")[0]
