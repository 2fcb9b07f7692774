"""The scopes of a Python program, and the values that its statements assign."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

_Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Scope:
    """The place of a node.

    Attributes:
        functions: the functions around it from the outermost to the innermost; none at the module's level.
    """

    functions: tuple[_Function, ...] = ()


@dataclass(frozen=True)
class Assignment:
    """A value assigned to a name, or an element of a value: ``rows, columns = A.shape``."""

    name: str
    value: ast.expr
    line: int
    scope: Scope


def walk(node: ast.AST, scope: Scope) -> Iterator[tuple[ast.AST, Scope]]:
    """Yield a node and its descendants with their scopes, in the order of the file."""
    yield node, scope
    inner = Scope((*scope.functions, node)) if isinstance(node, _Function) else scope
    for child in ast.iter_child_nodes(node):
        yield from walk(child, inner)


def assignments(node: ast.AST, scope: Scope) -> Iterator[Assignment]:
    """Yield the assignments of a statement, with the defaults of a function's parameters."""
    match node:
        case ast.Assign(targets, value):
            for target in targets:
                yield from _assigned(target, value, node.lineno, scope)
        case ast.AnnAssign(target, _, ast.expr() as value) | ast.NamedExpr(target, value):
            yield from _assigned(target, value, node.lineno, scope)
        case ast.FunctionDef(_, arguments) | ast.AsyncFunctionDef(_, arguments):
            inner = Scope((*scope.functions, node))
            usual = arguments.args[len(arguments.args) - len(arguments.defaults) :]
            for parameter, default in (
                *zip(usual, arguments.defaults, strict=True),
                *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True),
            ):
                if default is not None:
                    yield Assignment(parameter.arg, default, node.lineno, inner)


def _assigned(target: ast.expr, value: ast.expr, line: int, scope: Scope) -> Iterator[Assignment]:
    match target, value:
        case ast.Name(name), _:
            yield Assignment(name, value, line, scope)
        case ast.Attribute(), _:
            yield Assignment(ast.unparse(target), value, line, scope)
        case ast.Tuple(names) | ast.List(names), ast.Tuple(values) | ast.List(values) if len(names) == len(values):
            for one, other in zip(names, values, strict=True):
                yield from _assigned(one, other, line, scope)
        case ast.Tuple(names) | ast.List(names), _:
            for position, each in enumerate(names):
                if isinstance(each, ast.Name):
                    element = ast.copy_location(ast.Subscript(value, ast.Constant(position)), value)
                    yield Assignment(each.id, element, line, scope)
