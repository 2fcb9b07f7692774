"""Branches of a kernel that depend on nothing but the values of its template, such as ``if (TRANSPOSED)``."""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

from mmcore_cuda.cuda_source.program import Program
from mmcore_cuda.cuda_source.tree import Node, identifiers, walk
from mmcore_sources.cuda_file.inference.c_expressions import Unreadable
from mmcore_sources.cuda_file.inference.conditions import condition_of
from mmcore_sources.cuda_file.inference.host_code import Reader

_BRANCHES = ("if_statement", "conditional_expression")


def skipped_branches(source: Program, body: Node, values: Mapping[str, Any]) -> Iterator[tuple[int, int]]:
    """Yield the first byte and the end of each branch of a body that these values of names never take."""
    numbers: dict[str, ast.expr] = {name: ast.Constant(each) for name, each in values.items() if isinstance(each, int)}
    reader = Reader(source, numbers)
    for node in (each for each in walk(body) if each.type in _BRANCHES):
        condition = condition_of(node)
        if condition is None or not ({*identifiers(condition)} <= numbers.keys() and identifiers(condition)):
            continue
        with contextlib.suppress(Unreadable):
            branch = node.child_by_field_name("alternative" if reader.holds(condition) else "consequence")
            if branch is not None:
                yield branch.start_byte, branch.end_byte
