"""Quotients and whole numbers in the arithmetic of a launch."""

from __future__ import annotations

import ast

from mmcore.errors import InvalidKernel
from mmcore_sources.cuda_file.inference.expressions import evaluate


def constant(expression: ast.expr) -> int | None:
    """Return the value of an expression without names; None for others."""
    try:
        return int(evaluate(expression, {}))
    except InvalidKernel:
        return None


def truncated(number: ast.expr, real: bool) -> tuple[ast.expr, bool]:
    """Return a number as a whole one, and that it is not computed in floating point."""
    integral = (
        isinstance(number, ast.Call) and isinstance(number.func, ast.Name) and number.func.id in ("ceil", "floor")
    )
    return (ast.Call(ast.Name("floor"), [number], []) if real and not integral else number), False


def ceiling(number: ast.expr, step: ast.expr) -> ast.expr:
    """Return ``ceil(number / step)``."""
    return ast.Call(ast.Name("ceil"), [ast.BinOp(number, ast.Div(), step)], [])


def rounded_up(number: ast.expr, step: ast.expr) -> ast.expr:
    """Return a quotient of whole numbers, as ``ceil(n / 16)`` if it is ``(n + 16 - 1) // 16`` or the like."""
    plain, unit = ast.unparse(number), ast.unparse(step)
    match number:
        case ast.BinOp(left, ast.Mult(), right) if constant(left) is None and ast.unparse(right) == unit:
            return left
    for node in ast.walk(number):
        if isinstance(node, ast.Name | ast.BinOp) and node is not number:
            text, size = ast.unparse(node), constant(step)
            added = [f"{text} + {unit} - 1", f"{text} + ({unit} - 1)", f"{unit} + {text} - 1", f"{text} - 1 + {unit}"]
            added += [f"{text} + {size - 1}"] if size is not None else []
            if plain in added:
                return ceiling(node, step)
    return ast.BinOp(number, ast.FloorDiv(), step)
