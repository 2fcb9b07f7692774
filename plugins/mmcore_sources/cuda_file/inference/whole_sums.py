"""Sums of whole numbers and parameters in their shortest form: ``128 * STAGES + 96``."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from mmcore_sources.cuda_file.inference.quotients import ceiling, constant


def product(left: ast.expr, right: ast.expr) -> ast.expr:
    """Return the product of two whole numbers."""
    return _expression(_terms(ast.BinOp(left, ast.Mult(), right)))


def total(left: ast.expr, right: ast.expr) -> ast.expr:
    """Return the sum of two whole numbers."""
    return _expression(_terms(ast.BinOp(left, ast.Add(), right)))


def largest(numbers: Sequence[ast.expr]) -> ast.expr:
    """Return the largest of some whole numbers."""
    constants = [number for each in numbers if (number := constant(each)) is not None]
    others = {ast.unparse(each): each for each in numbers if constant(each) is None}
    parts = [*others.values(), *([ast.Constant(max(constants))] if constants else [])]
    return parts[0] if len(parts) == 1 else ast.Call(ast.Name("max"), parts, [])


def aligned(number: ast.expr, step: ast.expr) -> ast.expr:
    """Return the least multiple of a step from a number on."""
    width, terms = constant(step), _terms(number)
    if width is None:
        return product(ceiling(number, step), step)
    if all(factor % width == 0 for factor in terms.values()):
        return _expression(terms)
    value = constant(number)
    return product(ceiling(number, step), step) if value is None else ast.Constant(-(-value // width) * width)


def _terms(number: ast.expr) -> dict[str, int]:
    """Return the factor of each expression in a sum; that of "1" is the number without any."""
    match number:
        case ast.BinOp(left, ast.Add() | ast.Sub(), right):
            terms, sign = _terms(left), -1 if isinstance(number.op, ast.Sub) else 1
            for text, factor in _terms(right).items():
                terms[text] = terms.get(text, 0) + sign * factor
            return terms
        case ast.BinOp(left, ast.Mult(), right):
            sides = sorted((_terms(left), _terms(right)), key=len)
            if len(sides[0]) == 1:
                ((one, factor),) = sides[0].items()
                return {_multiplied(one, text): factor * each for text, each in sides[1].items()}
    value = constant(number)
    return {ast.unparse(number): 1} if value is None else {"1": value}


def _multiplied(one: str, other: str) -> str:
    """Return the product of two expressions."""
    if "1" in (one, other):
        return other if one == "1" else one
    return ast.unparse(_parsed(" * ".join(sorted(f"({each})" for each in (one, other)))))


def _expression(terms: dict[str, int]) -> ast.expr:
    """Return the sum of some expressions with their factors, the number last."""
    result: ast.expr | None = None
    for text, factor in sorted(terms.items(), key=lambda term: (term[0] == "1", term[1] < 0)):
        one, times = _parsed(text), ast.Constant(abs(factor))
        part: ast.expr = times if text == "1" else one if times.value == 1 else ast.BinOp(times, ast.Mult(), one)
        if factor and result is None:
            result = part if factor > 0 else ast.UnaryOp(ast.USub(), part)
        elif factor and result is not None:
            result = ast.BinOp(result, ast.Add() if factor > 0 else ast.Sub(), part)
    return result or ast.Constant(0)


def _parsed(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body
