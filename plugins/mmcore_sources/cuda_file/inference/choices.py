"""Choices between two values in the arithmetic of a launch, many of which are quotients that are rounded up."""

from __future__ import annotations

import ast

from mmcore_sources.cuda_file.inference.c_expressions import Unreadable
from mmcore_sources.cuda_file.inference.quotients import ceiling, constant

_NEGATED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.GtE,
    ast.GtE: ast.Lt,
    ast.Gt: ast.LtE,
    ast.LtE: ast.Gt,
}


def choice(condition: ast.expr, chosen: ast.expr, other: ast.expr) -> ast.expr:
    """Return ``chosen if condition else other``; as a condition, or a number that is rounded up, if it is one."""
    if ast.unparse(chosen) == ast.unparse(other):
        return chosen
    for test, one, none in ((condition, chosen, other), (negated(condition), other, chosen)):
        if (constant(one), constant(none)) == (1, 0):
            return negated(negated(test))
        if (divided := _divided(test)) is not None and (up := _rounded_up(*divided, one, none)) is not None:
            return up
        match test:
            case ast.Compare(left, [ast.Eq()], [ast.Constant(0)]) if constant(one) == 1 and _same(left, none):
                return ast.Call(ast.Name("max"), [ast.Constant(1), none], [])
    return ast.IfExp(condition, chosen, other)


def typed_choice(
    condition: ast.expr, chosen: tuple[ast.expr, bool], other: tuple[ast.expr, bool]
) -> tuple[ast.expr, bool]:
    """Return a choice of two values, each with whether C computes it in floating point.

    Raises Unreadable for two constants other than 0 and 1, as a launch is read for one of them.
    """
    constants = constant(chosen[0]), constant(other[0])
    if None not in constants and {*constants} != {0, 1}:
        raise Unreadable(ast.unparse(condition))
    return choice(condition, chosen[0], other[0]), chosen[1] or other[1]


def extreme(function: str, *values: tuple[ast.expr, bool]) -> tuple[ast.expr, bool]:
    """Return the minimum or maximum of values, each with whether C computes it in floating point."""
    return ast.Call(ast.Name(function), [number for number, _ in values], []), any(real for _, real in values)


def added(left: ast.expr, right: ast.expr) -> ast.expr:
    """Return a sum, as ``ceil(n / 16)`` if it is ``n // 16 + (n % 16 != 0)``."""
    for quotient, condition in ((left, right), (right, left)):
        divided = _divided(condition) if isinstance(condition, ast.Compare) else None
        if divided is not None and _same(quotient, ast.BinOp(divided[0], ast.FloorDiv(), divided[1])):
            return ceiling(*divided)
    return ast.BinOp(left, ast.Add(), right)


def negated(condition: ast.expr) -> ast.Compare | ast.UnaryOp:
    """Return the opposite of a condition."""
    match condition:
        case ast.Compare(left, [operator], [right]):
            return ast.Compare(left, [_NEGATED[type(operator)]()], [right])
        case ast.BoolOp():
            return ast.UnaryOp(ast.Not(), condition)
        case ast.UnaryOp(ast.Not(), ast.BoolOp() as operand):
            return ast.UnaryOp(ast.Not(), ast.UnaryOp(ast.Not(), operand))
    return ast.Compare(condition, [ast.Eq()], [ast.Constant(0)])


def _divided(condition: ast.expr) -> tuple[ast.expr, ast.expr] | None:
    """Return the number and the step of a condition that holds where the number is no multiple of the step."""
    match condition:
        case ast.Compare(ast.BinOp(number, ast.Mod(), step), [ast.NotEq() | ast.Gt()], [ast.Constant(0)]):
            return number, step
        case ast.BinOp(number, ast.Mod(), step):
            return number, step
        case ast.Compare(less, [ast.Lt() | ast.NotEq()], [whole]) | ast.Compare(whole, [ast.Gt()], [less]):
            match less:
                case ast.BinOp(ast.BinOp(number, ast.FloorDiv(), step), ast.Mult(), factor):
                    return (number, step) if _same(number, whole) and _same(step, factor) else None
    return None


def _rounded_up(number: ast.expr, step: ast.expr, more: ast.expr, less: ast.expr) -> ast.expr | None:
    """Return a quotient or multiple that is rounded up, if ``more`` is its value for a remainder, ``less`` without."""
    quotient = ast.BinOp(number, ast.FloorDiv(), step)
    if _same(less, quotient) and _is_one_more(more, quotient):
        return ceiling(number, step)
    rest = ast.BinOp(number, ast.Mod(), step)
    lacking = ast.BinOp(step, ast.Sub(), rest)
    several = (ast.BinOp(number, ast.Add(), lacking), ast.BinOp(ast.BinOp(number, ast.Add(), step), ast.Sub(), rest))
    if _same(less, number) and any(_same(more, each) for each in several):
        return ast.BinOp(ceiling(number, step), ast.Mult(), step)
    return None


def _is_one_more(more: ast.expr, quotient: ast.expr) -> bool:
    one = ast.Constant(1)
    return any(_same(more, ast.BinOp(*pair)) for pair in ((quotient, ast.Add(), one), (one, ast.Add(), quotient)))


def _same(one: ast.expr, other: ast.expr) -> bool:
    return ast.unparse(one) == ast.unparse(other)
