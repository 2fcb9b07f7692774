"""Single expressions of C: their syntax trees, and the values of literals."""

from __future__ import annotations

import ast
import math
import re

from mmcore.errors import InvalidKernel
from mmcore_cuda.cuda_source.tree import Node, parse, walk

_NUMBER = re.compile(r"(0[xX][0-9a-fA-F]+|[0-9']*\.?[0-9]*(?:[eE][-+]?\d+)?)([uUlLfF]*)")
_LONGEST = 40
_UNSIGNED = re.compile(r"\bunsigned\s*\(")  # of unsigned(n), which the grammar takes for a declaration


class Unreadable(InvalidKernel):
    """An expression of C that the reader does not understand."""


def parse_expression(text: str) -> Node:
    """Return the syntax tree of one expression of C."""
    for node in walk(parse(f"int _ = ({_UNSIGNED.sub('uint32_t(', text)});".encode())):
        if node.type == "parenthesized_expression" and len(node.named_children) == 1:
            return node.named_children[0]
    raise Unreadable(text)


def literal(text: str) -> tuple[ast.expr, bool]:
    """Return the number of a literal, and whether C computes it in floating point."""
    match = _NUMBER.fullmatch(text)
    if not match or not match[1] or len(text) > _LONGEST:
        raise Unreadable(text)
    digits = match[1].replace("'", "")
    if digits[:2].lower() == "0x":
        return ast.Constant(int(digits, 16)), False
    if digits.isdigit():
        return ast.Constant(int(digits)), "f" in match[2].lower()
    value = float(digits)
    if not math.isfinite(value):
        raise Unreadable(text)
    return ast.Constant(int(value) if value.is_integer() else value), True
