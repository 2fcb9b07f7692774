"""The sums of products in a kernel's body, which other kernels of a file, such as initialisers, lack."""

from __future__ import annotations

import re
from collections.abc import Iterator, Set

from mmcore_cuda.cuda_source.tree import LOOPS, Node, sides, text_of, walk

_MULTIPLIES = re.compile(r"fma|mma|mad|dp[24]a|dot", re.IGNORECASE)


def sums_products(body: Node, declared: Set[str]) -> bool:
    """Return whether a body may sum products in a loop; assembly and calls of ``declared`` functions may do so."""
    nodes = list(walk(body))
    if any(each.type == "gnu_asm_expression" or _may_multiply(each, declared) for each in nodes):
        return True
    return any(each.type in LOOPS for each in nodes) and any(map(_adds_a_product, nodes))


def _may_multiply(node: Node, declared: Set[str]) -> bool:
    if node.type != "call_expression":
        return False
    name = text_of(node.children[0]).partition("<")[0]
    return name in declared or _MULTIPLIES.search(name) is not None


def _adds_a_product(node: Node) -> bool:
    """Return whether a node is ``sum += a * b`` or ``sum = sum + a * b``; a function may multiply."""
    if node.type != "assignment_expression":
        return False
    target, sign, value = sides(node)
    again = text_of(sign) == "+=" or (text_of(sign) == "=" and text_of(target) in map(text_of, _operands(value)))
    return again and any(map(_is_product, _operands(value)))


def _is_product(node: Node) -> bool:
    called = text_of(node.children[0]) if node.type == "call_expression" else ""
    return "mul" in called or (node.type == "binary_expression" and text_of(node.children[1]) == "*")


def _operands(node: Node) -> Iterator[Node]:
    """Yield an expression and its operands, skipping indexes."""
    yield node
    if node.type != "subscript_expression":
        for child in node.named_children:
            yield from _operands(child)
