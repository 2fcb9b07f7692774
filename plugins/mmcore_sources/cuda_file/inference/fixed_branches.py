"""Branches of a kernel that depend on nothing but the values of its template, such as ``if (TRANSPOSED)``."""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

from mmcore_cuda.cuda_source.functions import Function
from mmcore_cuda.cuda_source.program import Program
from mmcore_cuda.cuda_source.tree import Node, identifiers, text_of, walk
from mmcore_sources.cuda_file.inference.c_expressions import Unreadable
from mmcore_sources.cuda_file.inference.class_types import enumerators
from mmcore_sources.cuda_file.inference.conditions import condition_of
from mmcore_sources.cuda_file.inference.host_code import Reader

BRANCHES = ("if_statement", "conditional_expression")
"""The types of nodes that have a condition and two branches."""


def skipped_branches(source: Program, function: Function, values: Mapping[str, Any]) -> Iterator[tuple[int, int]]:
    """Yield the first byte and the end of each branch of a kernel that these values of names never take."""
    known = {
        name: number for each in function.template for name, number in enumerators(Reader(source), each.type).items()
    }
    known = {name: number for name, number in known.items() if name not in {each.name for each in function.parameters}}
    numbers: dict[str, ast.expr] = {
        name: ast.Constant(each) for name, each in {**known, **values}.items() if isinstance(each, int)
    }
    reader = Reader(source, numbers)
    for node in (each for each in walk(function.body) if each.type in BRANCHES):
        condition = condition_of(node)
        if condition is None or not identifiers(condition):
            continue
        others = {*_unqualified(condition)} - numbers.keys()
        if others and (not others <= source.constants.keys() or others == {*_unqualified(condition)}):
            continue  # a constant alone may be a tuning parameter
        with contextlib.suppress(Unreadable):
            branch = node.child_by_field_name("alternative" if reader.holds(condition) else "consequence")
            if branch is not None:
                yield branch.start_byte, branch.end_byte


def _unqualified(condition: Node) -> Iterator[str]:
    """Yield the names in a condition except those of a class or enumeration, such as ``Config::TRANSPOSED``."""
    for node in walk(condition):
        if node.type == "identifier" and not (node.parent and node.parent.type == "qualified_identifier"):
            yield text_of(node)
