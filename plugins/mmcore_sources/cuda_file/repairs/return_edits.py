"""A guard that ends the threads beyond C before they access a matrix."""

from __future__ import annotations

from collections.abc import Sequence

from mmcore_cuda.cuda_source.tree import LOOPS, Node, text_of, walk
from mmcore_sources.cuda_file.repairs.edit import before
from mmcore_sources.cuda_file.repairs.operands import Operands

BEFORE_LOOP = "a guard before the loop"
"""The change in words."""


def return_before_loop(nodes: Sequence[Node], operands: Operands) -> tuple[Node, str] | None:
    """Return the first loop or access of an element with a guard before it; None if there is a barrier.

    The threads return whose row and column, as in a store to C, are outside.
    """
    if any(text_of(each) == "__syncthreads" for each in nodes):
        return None
    for node in (each for each in nodes if each.type == "assignment_expression"):
        target = node.children[0]
        place = operands.place(target) if operands.is_element(target, "C") else None
        first = None if place is None else _first_access(node)
        if place is not None and first is not None:
            return before(first, f"if ({place.outside}) return;")
    return None


def _first_access(node: Node) -> Node | None:
    """Return the first statement of the function around a node that contains a loop or a subscript."""
    while node.parent is not None and node.parent.type != "function_definition":
        node = node.parent
    kinds = (*LOOPS, "subscript_expression")
    return next((each for each in node.named_children if any(part.type in kinds for part in walk(each))), None)
