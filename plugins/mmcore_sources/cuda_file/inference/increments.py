"""Extents that a later statement of host code changes: ``if (n % 16 != 0) grid.x++``, ``block.x *= 2``."""

from __future__ import annotations

from mmcore_cuda.cuda_source.tree import LOOPS, Node, ancestors, text_of, walk, without_parentheses
from mmcore_sources.cuda_file.inference.c_expressions import Unreadable, parse_expression

_PRODUCTS = ("*=", "/=", "<<=", ">>=")


def rounded_up_later(scope: Node | None, target: str, value: Node, line: int) -> Node:
    """Return the value of a variable, as a quotient that is rounded up if one is added to it for a remainder.

    Statements from the ``line`` on do not count, unless it is 0.
    """
    quotient = without_parentheses(value)
    if scope is None or quotient.type != "binary_expression" or text_of(quotient.children[1]) != "/":
        return value
    nodes = (each for each in walk(scope) if not line or each.start_point.row < line)
    if not any(_adds_one(each, target) and _is_for_a_remainder(each) for each in nodes):
        return value
    number, step = text_of(quotient.children[0]), text_of(quotient.children[2])
    return parse_expression(f"(({number}) + ({step}) - 1) / ({step})")


def multiplied_later(scope: Node | None, target: str, value: Node, line: int) -> Node:
    """Return the value of a variable after ``block.x *= 2`` and the like, outside of branches and loops.

    Raises Unreadable where a branch or a loop does so. Statements from the ``line`` on do not count, unless it is 0.
    """
    nodes = (each for each in walk(scope) if each.type == "assignment_expression") if scope is not None else ()
    for node in (each for each in nodes if not line or each.start_point.row < line):
        name, sign, factor = map(text_of, node.children[:3])
        if name == target and sign in _PRODUCTS and node.start_byte >= value.end_byte:
            if any(each.type in (*LOOPS, "if_statement") for each in ancestors(node)):
                raise Unreadable(target)
            value = parse_expression(f"({text_of(value)}) {sign.removesuffix('=')} ({factor})")
    return value


def _adds_one(node: Node, target: str) -> bool:
    if node.type == "update_expression":
        return text_of(node).replace(" ", "") in (f"{target}++", f"++{target}")
    return node.type == "assignment_expression" and text_of(node).replace(" ", "") == f"{target}+=1"


def _is_for_a_remainder(node: Node) -> bool:
    """Return whether a statement depends on a remainder."""
    above = next((each for each in ancestors(node) if each.type == "if_statement"), None)
    condition = above.child_by_field_name("condition") if above is not None else None
    return condition is not None and "%" in text_of(condition)
