"""The order of a source's changes by the faults of a result."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence

from mmcore.result import Result
from mmcore_cuda.cuda_source.tree import Node, walk
from mmcore_sources.cuda_file.hints.whole_cells import WHOLE
from mmcore_sources.cuda_file.repairs.edit import Edit
from mmcore_sources.cuda_file.repairs.return_edits import BEFORE_LOOP

CONDITIONS = ("if_statement", "conditional_expression")
"""The types of nodes that are conditions outside of loops."""


def likely_first(
    several: Iterable[Edit], text: str, nodes: Sequence[Node], sizes: Collection[str], result: Result
) -> list[Edit]:
    """Return the changes that can mend a result, likely ones first.

    A guard is likely wrong where an access is out of bounds, and another line where it has a fault. No size in place
    of another one mends a product that is wrong at equal sizes; it is likely where only unequal ones are wrong.

    Args:
        several: the changes.
        text: the source.
        nodes: the nodes of the kernel and of its device functions.
        sizes: the names of the kernel's sizes.
        result: the result, whose violations are those of this source.
    """
    edits, lines = [*several], {each.line for each in result.violations}
    outside = {each.line for each in result.violations if each.kind.startswith("out-of-bounds") and each.line}
    guards = _guards(nodes, outside)
    guarding = {each.text for each in edits if each.line in guards or (outside and each.what == BEFORE_LOOP)}
    name = re.compile(rf"\b(?:{'|'.join(map(re.escape, sizes))})\b" if sizes else r"(?!)")
    nameless = name.sub("", text)
    of_sizes = {each.text for each in edits if name.sub("", each.text) == nameless}
    cell = result.cell
    equal = cell.m == cell.n == cell.k and not (cell.lda or cell.ldb or cell.ldc)
    right = result.verification is not None and result.verification.verified
    unequal = equal and right and any(each["why"].startswith(WHOLE) and not each["right"] for each in result.sizes)
    if equal and not right:
        edits = [each for each in edits if each.text not in of_sizes]
    return sorted(
        edits,
        key=lambda each: (each.text not in guarding, each.line not in lines, not (unequal and each.text in of_sizes)),
    )


def _guards(nodes: Sequence[Node], lines: set[int]) -> set[int]:
    """Return the lines of the conditions around some lines, or under which threads end."""
    conditions = [each for each in nodes if each.type in CONDITIONS] if lines else []
    return {
        node.start_point.row + 1
        for node in conditions
        if any(node.start_point.row < line <= node.end_point.row + 1 for line in lines)
        or any(each.type == "return_statement" for each in walk(node))
    }
