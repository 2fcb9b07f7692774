"""Loops of a Python kernel that never end, since their condition does not change, or not towards their end."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Sequence

_UNTIL = {ast.Lt: ast.Sub, ast.LtE: ast.Sub, ast.Gt: ast.Add, ast.GtE: ast.Add}
_WORDS = {ast.Sub: "shrinks", ast.Add: "grows"}


def endless_loop(text: str, lines: Iterable[int]) -> str:
    """Return the innermost ``while`` loop around any of the lines that never ends, in a clause; "" without one.

    A loop may end if it has a way out, or if its condition reads an element, calls a function, or changes.
    """
    wanted, clause = {*lines}, ""
    try:
        functions = [each for each in ast.walk(ast.parse(text)) if isinstance(each, ast.FunctionDef)]
    except SyntaxError:
        return ""
    for function in functions:
        for loop in (each for each in ast.walk(function) if isinstance(each, ast.While)):  # outer loops come first
            if wanted & {*range(loop.lineno, (loop.end_lineno or loop.lineno) + 1)}:
                clause = _endless(loop, function) or clause
    return clause


def _endless(loop: ast.While, function: ast.FunctionDef) -> str:
    """Return why a loop never ends, as a clause; "" if it may end."""
    inside = [node for statement in loop.body for node in ast.walk(statement)]
    if any(isinstance(node, ast.Break | ast.Return) for node in inside):
        return ""
    place, condition = f"the loop in line {loop.lineno} never ends", loop.test
    if isinstance(condition, ast.Constant):
        return f"{place}: its condition is always {ast.unparse(condition)}" if condition.value else ""
    if not isinstance(condition, ast.Compare) or any(map(_is_unknown, ast.walk(condition))):
        return ""
    local = _stored(ast.walk(function))
    names = [node.id for node in ast.walk(condition) if isinstance(node, ast.Name) and node.id in local]
    if not names:
        return ""
    if not {*names} & _stored(inside):
        return f"{place}, since {names[0]} does not change in it"
    left, until = condition.left, _UNTIL.get(type(condition.ops[0]))
    if until and isinstance(left, ast.Name) and _only(until, left.id, inside):
        return f"{place}, since {left.id} only {_WORDS[until]} in it"
    return ""


def _is_unknown(node: ast.AST) -> bool:
    """Return whether a node may give another value each time; a shape's does not."""
    is_element = isinstance(node, ast.Subscript) and not isinstance(node.value, ast.Attribute)
    return is_element or isinstance(node, ast.Call)


def _stored(nodes: Iterable[ast.AST]) -> set[str]:
    """Return the variables that are assigned."""
    return {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}


def _only(sign: type[ast.operator], name: str, nodes: Sequence[ast.AST]) -> bool:
    """Return whether a variable changes by positive steps of one sign alone, ``name += 1``."""
    steps = [node for node in nodes if isinstance(node, ast.AugAssign) and name in _stored([node.target])]
    stores = [node for node in nodes if isinstance(node, ast.Name) and node.id == name and name in _stored([node])]
    return len(steps) == len(stores) and all(
        isinstance(step.op, sign) and re.fullmatch(r"[1-9]\d*", ast.unparse(step.value)) for step in steps
    )
