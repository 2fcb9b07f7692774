"""The sizes at which a changed kernel is right, as a verdict of its own finds them."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from mmcore.cell import Cell
from mmcore.kernel.declaration import Kernel
from mmcore.registry import registry
from mmcore.result import Result
from mmcore.verdict import judged
from mmcore_cuda.cuda_source.tree import Node, ancestors, identifiers, text_of
from mmcore_sources.cuda_file.hints.tried_cells import at_sizes, is_clean, is_wrong, measured, size_of
from mmcore_sources.cuda_file.hints.vector_rows import right_in_vectors
from mmcore_sources.cuda_file.hints.whole_cells import WHOLE, has_whole_rows_and_columns
from mmcore_sources.cuda_file.repairs.edits import device_nodes
from mmcore_sources.cuda_file.repairs.likely_edits import CONDITIONS
from mmcore_sources.python_file.changes import syntax_tree
from mmcore_sources.python_file.extraction import FunctionInFile

_OF_FRAGMENTS = re.compile(r"\b(?:load|store)_matrix_sync\b")


def where_right(cells: Sequence[Cell], kernel: Kernel) -> str:
    """Return the sizes of the cells in words if a kernel is right at all sizes and has no hazards; else "".

    A kernel that guards no remainders is right enough at whole tiles, which the words name, and one of vectors at
    remainders of whole vectors. Whole tiles say nothing about a guard.

    The cells are small products that are tried first, and do not name the kernel.
    """
    results: list[Result] = []
    for cell in cells:
        result = measured(cell, kernel)
        if result is None or not result.verified:
            return ""
        results.append(result)
    named = " and at ".join(dict.fromkeys(map(size_of, cells)))
    verdict = _without_host_faults(judged(results[0], kernel, "all"))
    if verdict.verified:
        return named
    if (vectors := right_in_vectors(verdict, kernel)) is not None:
        cell, need = vectors
        return f"{' and at '.join(dict.fromkeys(map(size_of, (*cells, cell))))} ({need})"
    if any(each["why"].startswith(WHOLE) and not each["right"] for each in verdict.sizes) or _guards(kernel):
        return ""
    pairs = zip(cells, results, strict=True)
    whole = all(has_whole_rows_and_columns(cell, kernel) and is_clean(result, kernel) for cell, result in pairs)
    larger = at_sizes(cells[0], kernel, *(3 * getattr(cells[0], name) for name in "mnk"))
    return f"whole tiles, at {named}," if whole and not is_wrong(larger, kernel) else ""


def _without_host_faults(verdict: Result) -> Result:
    """Return a verdict without the faults of the unchanged file's host code."""
    file = registry().files.get(verdict.kernel)
    faults = file.faults if file is not None else ()
    return replace(verdict, violations=tuple(each for each in verdict.violations if each not in faults))


def _guards(kernel: Kernel) -> bool:
    """Return whether a kernel compares numbers outside the conditions of loops, or may do so.

    A condition around loads and stores of whole fragments guards no remainder, nor does one on the turns of a loop.
    """
    build: Any = kernel.build
    if build is None:
        nodes = device_nodes(kernel.source_text(), kernel.entry.partition("<")[0])
        branches = (each for each in nodes if each.type in CONDITIONS and not _OF_FRAGMENTS.search(text_of(each)))
        conditions = [each for branch in branches if (each := branch.child_by_field_name("condition")) is not None]
        compared = (each for each in conditions if {"<", ">"} & {*text_of(each)})
        return not all(_counts_turns(each) for each in compared)
    in_file = getattr(build, "function", None)
    if not isinstance(in_file, FunctionInFile):
        return True
    return any(isinstance(each, ast.Compare) for each in ast.walk(syntax_tree(in_file)))


def _counts_turns(condition: Node) -> bool:
    """Return whether a condition has only what a loop around it counts, and constants, as before a load in advance."""
    names = {name for name in identifiers(condition) if not name.isupper()}
    for loop in (each for each in ancestors(condition) if each.type == "for_statement"):
        parts = [loop.child_by_field_name(each) for each in ("initializer", "condition", "update")]
        counted = {name for part in parts if part is not None for name in identifiers(part)}
        begins = text_of(parts[0]) if parts[0] is not None else ""
        if names and names <= counted and re.search(r"=\s*\d+\s*;?$", begins):
            return True
    return False
