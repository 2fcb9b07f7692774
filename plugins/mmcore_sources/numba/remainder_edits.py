"""Changes of a Numba kernel that is right at whole tiles alone: guards on loads and stores, in place of a return."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence

from mmcore_sources.python_file.changes import Change


def guards(function: ast.FunctionDef, names: Mapping[str, str], steps: Sequence[Change]) -> Iterator[Change]:
    """Yield a change that guards the loads of A and B and the stores to C, alone and with one of the loops' ``steps``.

    Threads that would end before a barrier go on.
    """
    matrices = {names[role] for role in "ABC" if role in names}
    returns = [(each, "pass") for each in _returns(function)]
    guarded = [pair for statement in function.body for pair in _guarded(statement, matrices, whole=bool(returns))]
    if not guarded:
        return
    what = "guards on the loads and the store" + " instead of the return" * bool(returns)
    for step in (None, *steps):
        nodes = (*returns, *guarded, *(step.nodes if step is not None else ()))
        yield Change(nodes, what if step is None else f"{what}, and a last step")


def _returns(function: ast.FunctionDef) -> Iterator[ast.Return]:
    """Yield the conditional returns before the last barrier of a kernel."""
    barriers = [each.lineno for each in ast.walk(function)
                if isinstance(each, ast.Call) and ast.unparse(each.func).endswith("syncthreads")]  # fmt: skip
    for node in ast.walk(function):
        if isinstance(node, ast.Return) and node.lineno < max(barriers, default=0):
            yield node


def _guarded(node: ast.AST, matrices: set[str], *, whole: bool) -> Iterator[tuple[ast.AST, str]]:
    """Yield the accesses to matrices below a node that no condition guards, each with a guard.

    With ``whole``, conditions that may guard one axis alone get a guard of both.
    """
    match node:
        case ast.IfExp(test, ast.Subscript(ast.Name(name)) as access) | ast.If(
            test, [ast.Assign(_, ast.Subscript(ast.Name(name)) as access)]
        ) if whole and name in matrices and (inside := _inside(access)):
            yield test, inside
            return
        case ast.If() | ast.IfExp():
            return
        case ast.Assign([ast.Subscript(ast.Name(name)) as target]) if name in matrices and (inside := _inside(target)):
            yield node, f"if {inside}: {ast.unparse(node)}"
            return
        case ast.Subscript(ast.Name(name), ctx=ast.Load()) if name in matrices and (inside := _inside(node)):
            yield node, f"({ast.unparse(node)} if {inside} else 0)"
            return
    for child in ast.iter_child_nodes(node):
        yield from _guarded(child, matrices, whole=whole)


def _inside(access: ast.Subscript) -> str:
    """Return the condition that ``X[row, column]`` is in its matrix; "" for other indexes."""
    array = ast.unparse(access.value)
    match access.slice:
        case ast.Tuple([row, column]):
            return f"{ast.unparse(row)} < {array}.shape[0] and {ast.unparse(column)} < {array}.shape[1]"
    return ""
