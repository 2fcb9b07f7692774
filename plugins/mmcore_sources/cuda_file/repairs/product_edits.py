"""Changes of the products that a kernel sums: another operator between two elements, and factors that round."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from mmcore_cuda.cuda_source.tree import Node, sides, text_of
from mmcore_sources.cuda_file.repairs.edit import Edit, replaced

_ELEMENTS = ("subscript_expression", "pointer_expression")
_TO_FLOAT = ("__half2float", "__bfloat162float")
_FLOAT = re.compile(r"float (alpha|beta)\b", re.IGNORECASE)


def product_edits(source: bytes, nodes: Sequence[Node]) -> Iterator[Edit]:
    """Yield sources that multiply two elements which a line adds, subtracts or divides, and factors of more digits."""
    for call, factors in rounded_products(nodes):
        name = text_of(call.children[0])
        new = " * ".join(f"{name}({text_of(each)})" for each in factors)
        yield replaced(source, [(call, new)], f"{new} instead of {text_of(call)}")
    for node in (each for each in nodes if each.type == "binary_expression"):
        left, sign, right = sides(node)
        if left.type == "binary_expression" and text_of(left.children[1]) in ("+", "-"):
            left = left.children[2]  # sum + a[i] + b[i]
        if text_of(sign) in ("+", "-", "/") and left.type in _ELEMENTS and right.type in _ELEMENTS:
            first, second = text_of(left), text_of(right)
            what = f"{first} * {second} instead of {first} {text_of(sign)} {second}"
            yield replaced(source, [(sign, "*")], what)
    yield from _rounding_factors(source, nodes)


def rounded_products(nodes: Sequence[Node]) -> Iterator[tuple[Node, Sequence[Node]]]:
    """Yield conversions to float of a product that 16 bits have rounded, each with the two factors."""
    for call in (each for each in nodes if each.type == "call_expression"):
        arguments = call.children[1].named_children
        if text_of(call.children[0]) in _TO_FLOAT and len(arguments) == 1 and arguments[0].type == "binary_expression":
            left, sign, right = sides(arguments[0])
            if text_of(sign) == "*":
                yield call, (left, right)


def _rounding_factors(source: bytes, nodes: Sequence[Node]) -> Iterator[Edit]:
    """Yield sources whose lines multiply by alpha and beta as double, which rounds no sum of 32 bits."""
    names = {text_of(each.children[-1]) for each in nodes
             if each.type == "parameter_declaration" and _FLOAT.search(text_of(each))}  # fmt: skip
    lines: dict[int, list[Node]] = {}
    for node in (each for each in nodes if each.type == "identifier" and text_of(each) in names):
        if node.parent is not None and node.parent.type == "binary_expression":
            lines.setdefault(node.start_point.row, []).append(node)
    for places in lines.values():
        factors = " and ".join(dict.fromkeys(f"(double){text_of(each)}" for each in places))
        changes = [(each, f"(double){text_of(each)}") for each in places]
        yield replaced(source, changes, f"{factors}, as float rounds whole numbers from 2²⁴ on,")
