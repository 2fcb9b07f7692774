"""Grids that round down, rounded up: in the launch rule, and in words of the source."""

from __future__ import annotations

import ast
from dataclasses import replace

from mmcore.errors import InvalidKernel
from mmcore.kernel.declaration import Kernel
from mmcore_cuda.cuda_source.tree import Node, walk, whole_text
from mmcore_sources.cuda_file.host_bugs.host import HostCode
from mmcore_sources.cuda_file.inference.expressions import LaunchText, parse_expressions
from mmcore_sources.cuda_file.repairs.edit import in_lines, replaced
from mmcore_sources.cuda_file.repairs.loop_edits import rounded_up


def rounded_up_grid(kernel: Kernel) -> tuple[Kernel, str] | None:
    """Return a kernel whose grid rounds up, and the change in words; None if its grid does not round down."""
    rule = kernel.launch
    if not isinstance(rule, LaunchText):
        return None
    parts = [_RoundedUp().visit(each) for each in parse_expressions(rule.grid, "the grid")]
    grid = ", ".join(map(ast.unparse, parts))
    if grid == ", ".join(rule.parts):
        return None
    what = "" if "//" in grid else rule.rounded_up or _in_source(kernel)
    changed = replace(kernel, launch=replace(rule, grid=grid))
    return changed, what or f"the grid {grid} instead of {rule.grid}, which rounds down"


def _in_source(kernel: Kernel) -> str:
    """Return the change of the host code that rounds its grid up, in words; empty if it is not in one line."""
    text = kernel.source_text()
    host, name = HostCode(text), kernel.entry.partition("<")[0]
    launch = next((each for each in host.launches if each.name == name and each.geometry), None) if name else None
    if launch is None:
        return ""
    changes = dict[int, tuple[Node, str]]()
    for each in host.resolved(launch.geometry[0], launch.scope):
        for node in walk(each):
            if node.type == "binary_expression" and host.contains(node) and _rounds_down(host, node, launch.scope):
                changes.setdefault(node.start_byte, (node, rounded_up(node)))
    expanded, rows = whole_text(host.root), {node.start_point.row for node, _ in changes.values()}
    if len(rows) != 1 or any(expanded.splitlines()[row] != text.encode().splitlines()[row] for row in rows):
        return ""
    return in_lines(replaced(expanded, changes.values()))


def _rounds_down(host: HostCode, node: Node, scope: Node) -> bool:
    """Return whether an expression is a quotient that is rounded down."""
    try:
        quotient = host.reader(node, scope).number(node)
    except InvalidKernel:
        return False
    return isinstance(quotient, ast.BinOp) and isinstance(quotient.op, ast.FloorDiv) and bool(rounded_up(node))


class _RoundedUp(ast.NodeTransformer):
    """A change of quotients that are rounded down, unless they are of sums such as ``n + 15``."""

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        """Return a quotient that rounds up instead of ``m // 16``."""
        return self._changed(node, node) if isinstance(node.op, ast.FloorDiv) else self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Return a quotient that rounds up instead of ``floor(m / 16)`` and ``ceil(m // 16)``."""
        match node:
            case ast.Call(ast.Name("floor"), [ast.BinOp(op=ast.Div()) as quotient]):
                return self._changed(node, quotient)
            case ast.Call(ast.Name("ceil"), [ast.BinOp(op=ast.FloorDiv()) as quotient]):
                return self._changed(node, quotient)
        return self.generic_visit(node)

    def _changed(self, node: ast.expr, quotient: ast.BinOp) -> ast.AST:
        if isinstance(quotient.left, ast.BinOp) and isinstance(quotient.left.op, ast.Add | ast.Sub):
            return node
        return ast.Call(ast.Name("ceil"), [ast.BinOp(quotient.left, ast.Div(), quotient.right)], [])
