"""Conditions around a launch in the host code, which give values to names."""

from __future__ import annotations

import ast
import re

from mmcore_cuda.cuda_source.program import HostLaunch
from mmcore_cuda.cuda_source.tree import Node, text_of

_LEAVES = re.compile(r"\b(?:return|exit|abort|throw|_exit)\b")
_EQUALS = re.compile(r"\( ?(\w+) == (\d+) ?\)")


def conditions_around(launch: HostLaunch) -> dict[str, ast.expr]:
    """Return the values that conditions around a launch give to names, as ``if (tile == 16)``."""
    values: dict[str, ast.expr] = {}
    node = launch.geometry[0]
    while (above := node.parent) is not None:
        condition = above.child_by_field_name("condition") if above.type == "if_statement" else None
        match = _EQUALS.fullmatch(text_of(condition)) if condition is not None else None
        if match is not None and node == above.child_by_field_name("consequence"):
            values.setdefault(match[1], ast.Constant(int(match[2])))
        node = above
    return values


def leaves(branch: Node) -> bool:
    """Return whether a branch leaves its function."""
    return _LEAVES.search(text_of(branch)) is not None


def condition_of(statement: Node) -> Node | None:
    """Return the expression in the condition of a statement, without its parentheses."""
    clause = statement.child_by_field_name("condition")
    value = clause.child_by_field_name("value") if clause is not None else None
    return clause if value is None else value
