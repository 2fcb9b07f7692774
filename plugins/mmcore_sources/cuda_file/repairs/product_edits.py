"""Changes of the products that a kernel sums: another operator between two elements, and factors that round."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from mmcore_cuda.cuda_source.tree import Node, text_of
from mmcore_sources.cuda_file.repairs.edit import Edit, replaced

_ELEMENTS = ("subscript_expression", "pointer_expression")
_FLOAT = re.compile(r"float (alpha|beta)\b", re.IGNORECASE)


def product_edits(source: bytes, nodes: Sequence[Node]) -> Iterator[Edit]:
    """Yield sources that multiply two elements which a line adds, subtracts or divides, and factors of more digits."""
    for node in (each for each in nodes if each.type == "binary_expression"):
        left, sign, right = node.children
        if left.type == "binary_expression" and text_of(left.children[1]) in ("+", "-"):
            left = left.children[2]  # sum + a[i] + b[i]
        if text_of(sign) in ("+", "-", "/") and left.type in _ELEMENTS and right.type in _ELEMENTS:
            first, second = text_of(left), text_of(right)
            what = f"{first} * {second} instead of {first} {text_of(sign)} {second}"
            yield replaced(source, [(sign, "*")], what)
    yield from _rounding_factors(source, nodes)


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
