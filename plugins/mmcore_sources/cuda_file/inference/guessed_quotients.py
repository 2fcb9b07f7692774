"""Guessed values of a template's parameters with which no quotient in the kernel is 0."""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from mmcore.errors import InvalidKernel
from mmcore_cuda.cuda_source.functions import Function
from mmcore_cuda.cuda_source.program import Program
from mmcore_cuda.cuda_source.tree import text_of, walk
from mmcore_sources.cuda_file.inference.c_expressions import Unreadable
from mmcore_sources.cuda_file.inference.expressions import evaluate, names_in
from mmcore_sources.cuda_file.inference.host_code import Reader

_LARGEST = 256


def with_whole_quotients(
    source: Program, function: Function, values: Mapping[str, Any], guessed: Collection[str]
) -> dict[str, Any]:
    """Return a template's values, of which guessed ones are doubled until no quotient of constants is 0."""
    values = dict(values)
    for quotient in _quotients(source, function, values) if guessed else ():
        grown = (names_in(quotient.left) & {*guessed}) - names_in(quotient.right)
        while grown and _is_zero(quotient, values) and max(values[name] for name in grown) < _LARGEST:
            values |= {name: 2 * values[name] for name in grown}
    return values


def _quotients(source: Program, function: Function, names: Collection[str]) -> Iterator[ast.BinOp]:
    """Yield the quotients in a kernel that depend on nothing but the template's parameters."""
    reader = Reader(source, {name: ast.Name(name) for name in names}, function.body)
    for node in (each for each in walk(function.body) if each.type == "binary_expression"):
        if text_of(node.children[1]) == "/":
            with contextlib.suppress(Unreadable):
                dividend, divisor = (reader.number(node.children[position]) for position in (0, 2))
                if names_in(dividend) | names_in(divisor) <= {*names}:
                    yield ast.BinOp(dividend, ast.FloorDiv(), divisor)


def _is_zero(quotient: ast.BinOp, values: Mapping[str, Any]) -> bool:
    try:
        return bool(evaluate(quotient.left, values) > 0 and evaluate(quotient, values) == 0)
    except InvalidKernel:
        return False
