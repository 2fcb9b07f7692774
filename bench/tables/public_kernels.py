"""What came of the kernels of public repositories."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from bench.public_kernels.corpus import KERNELS
from bench.public_kernels.declared import FAMILIES
from bench.tables import sources
from bench.tables.markdown import markdown
from bench.tables.sources import results


def public_kernels() -> str:
    """The kernels of each repository by family and, where they were measured on the H200, what came of them."""
    measured = _measured()
    repositories = list(dict.fromkeys(each.repository for each in KERNELS.values()))
    rows = [
        [name, *_cells({key: each for key, each in measured.items() if key[0] == name}, name)] for name in repositories
    ]
    rows.append(["all", *_cells(measured, "")])
    header = ("repository", *FAMILIES, "kernels", "compile", "right verdict", "most of cuBLAS")
    return markdown(header, rows)


def _cells(measured: Mapping[tuple[str, str], Sequence[Mapping[str, Any]]], repository: str) -> list[str]:
    """A line of figures about one repository, or all of them where it is empty."""
    kernels = [each for each in KERNELS.values() if repository in ("", each.repository)]
    families = Counter(each.family for each in kernels)
    counts = [str(families[family] or "") for family in FAMILIES]
    if not measured:
        return [*counts, str(len(kernels)), "", "", ""]
    compiled = sum(all(row["compiled"] for row in rows) for rows in measured.values())
    right = sum(all(row["as_expected"] for row in rows) for rows in measured.values())
    percent = max((row["percent_of_cublas"] or 0.0 for rows in measured.values() for row in rows), default=0.0)
    return [*counts, str(len(kernels)), str(compiled), str(right), f"{percent:.1f} %" if percent else ""]


def _measured() -> dict[tuple[str, str], list[Mapping[str, Any]]]:
    """The rows of each kernel, by repository and kernel; nothing where the run was not made."""
    found: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    path = sources.H200 / "public_kernels.json"
    if path.exists():
        with results(path) as document:
            for row in document["rows"]:
                found.setdefault((row["repository"], row["kernel"]), []).append(row)
    return found
