"""Integer parameters that a kernel only tests, such as ``transposed`` and ``accumulate``."""

from __future__ import annotations

from collections.abc import Container, Iterable

from mmcore_cuda.cuda_source.tree import Node, text_of, walk
from mmcore_sources.cuda_file.inference.body import Body

_TESTS = ("parenthesized_expression", "condition_clause", "conditional_expression", "if_statement")
_LITERALS = ("number_literal", "char_literal", "true", "false")
_JOINS, _COMPARES = ("&&", "||"), ("==", "!=")


def flags_of(body: Body, names: Iterable[str]) -> list[str]:
    """Return those of the names that the body uses, and each time as a condition alone."""
    places: dict[str, list[Node]] = {}
    for node in walk(body.function.body):
        if node.type in ("identifier", "field_expression"):
            places.setdefault(text_of(node), []).append(node)
    return [name for name in names if name in places and all(_is_tested(each, body.constants) for each in places[name])]


def _is_tested(node: Node, constants: Container[str]) -> bool:
    """Return whether an expression is a condition, or compared with a number or constant where that is one."""
    above = node.parent
    if above is None:
        return False
    if above.type == "unary_expression":
        return text_of(above.children[0]) == "!"
    if above.type == "binary_expression":
        sign, others = text_of(above.children[1]), [each for each in above.children[::2] if each != node]
        known = all(each.type in _LITERALS or text_of(each).rpartition("::")[2] in constants for each in others)
        return sign in _JOINS or (sign in _COMPARES and known)
    if above.type == "conditional_expression":
        return above.children[0] == node
    if above.type == "parenthesized_expression" and above.parent is not None:
        return above.parent.type in _TESTS or _is_tested(above, constants)
    return above.type in ("condition_clause", "if_statement")
