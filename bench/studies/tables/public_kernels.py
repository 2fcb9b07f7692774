"""The verdicts of the kernels of public repositories."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from bench.studies.public_kernels.corpus import KERNELS
from bench.studies.public_kernels.declared import FAMILIES
from bench.studies.tables import sources
from bench.studies.tables.markdown import markdown
from bench.studies.tables.sources import results

Measured: TypeAlias = Mapping[str, Sequence[Mapping[str, Any]]]


def public_kernels() -> str:
    """Return the kernels of each repository by family, and their verdicts on the emulator and on the H200."""
    emulated, measured = _measured(sources.RESULTS / "emulator"), _measured(sources.H200)
    repositories = dict.fromkeys(each.repository for each in KERNELS.values())
    rows = [_line(name, _of(name, emulated), _of(name, measured)) for name in repositories]
    header = " | ".join(
        ("repository", *FAMILIES, "kernels", "emulated", "right", "on an H200", "right", "most of cuBLAS")
    )
    return markdown(header, [*rows, _line("", emulated, measured)])


def _line(repository: str, emulated: Measured, measured: Measured) -> list[str]:
    """Return the cells of one repository, or of all if it is empty."""
    kernels = [each for each in KERNELS.values() if repository in ("", each.repository)]
    families = Counter(each.family for each in kernels)
    counts = [str(families[family] or "") for family in FAMILIES]
    percent = max((row["percent_of_cublas"] or 0.0 for rows in measured.values() for row in rows), default=0.0)
    best = f"{percent:.1f} %" if percent else ""
    return [repository or "all", *counts, str(len(kernels)), *_judged(emulated), *_judged(measured), best]


def _judged(measured: Measured) -> tuple[str, str]:
    """Return the number of kernels with a verdict, and of those with the right one."""
    judged = [rows for rows in measured.values() if all(row["as_expected"] is not None for row in rows)]
    right = sum(all(row["as_expected"] for row in rows) for rows in judged)
    return (str(len(judged)), str(right)) if judged else ("", "")


def _of(repository: str, measured: Measured) -> Measured:
    return {name: rows for name, rows in measured.items() if rows[0]["repository"] == repository}


def _measured(folder: Path) -> Measured:
    """Return the rows of each kernel by name."""
    found: dict[str, list[Mapping[str, Any]]] = {}
    with results(folder / "public_kernels.json") as document:
        for row in document["rows"]:
            found.setdefault(row["kernel"], []).append(row)
    return found
