"""The tiles of C that the blocks of a constant grid count themselves, as those of a persistent kernel do."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterator

from mmcore_cuda.cuda_source.tree import Node, identifiers, text_of, walk
from mmcore_sources.cuda_file.inference.expressions import LaunchText, names_in, parse_expressions
from mmcore_sources.cuda_file.inference.host_code import Reader
from mmcore_sources.cuda_file.inference.roles import Roles
from mmcore_sources.cuda_file.inference.source_kernel import SourceKernel

_LARGEST = 512
_ROUNDS_UP = re.compile(r"(?i)\w*(?:ceil|cdiv|div_?up)\w*")


def counted_tile(kernel: SourceKernel, roles: Roles, rule: LaunchText) -> tuple[int, int] | None:
    """Return the rows and columns of a tile, as in ``M / BM * (N / BN)`` or ``(M + BM - 1) / BM``; None if unclear."""
    if any(names_in(part) & {"m", "n"} for part in parse_expressions(rule.grid, "the grid")):
        return None
    rows, columns = (_edge(kernel, roles.names_of(size)) for size in "mn")
    tile = (rows, columns)
    return tile if all(1 < edge <= _LARGEST for edge in tile) else None


def _edge(kernel: SourceKernel, names: set[str]) -> int:
    """Return the common multiple of the constants that a kernel divides a size by; 1 without one."""
    values: dict[str, ast.expr] = {
        name: ast.Constant(each) for name, each in kernel.values.items() if isinstance(each, int)
    }
    reader = Reader(kernel.source, values, kernel.function.body)
    numbers = [reader.whole(divisor) for divisor in _divisors(kernel.function.body, names)]
    return math.lcm(*(number for number in numbers if number))


def _divisors(body: Node, names: set[str]) -> Iterator[Node]:
    """Yield the divisors of some sizes, also in calls of functions that divide and round up."""
    for node in walk(body):
        if node.type == "binary_expression" and text_of(node.children[1]) == "/":
            dividend, divisor = node.children[0], node.children[2]
        elif node.type == "call_expression" and _ROUNDS_UP.fullmatch(text_of(node.children[0])):
            if len(node.children[1].named_children) != 2:
                continue
            dividend, divisor = node.children[1].named_children
        else:
            continue
        if names & {*identifiers(dividend)}:
            yield divisor
