"""The statements of a Python file that some of its names need: imports, constants and functions."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from mmcore_sources.python_file.defaults import COMMAND_LINE
from mmcore_sources.python_file.local_modules import ALL

_OPTIONS = ("device", "inline", "fastmath")
"""The options of decorators that are kept; signatures would compile at once, for a GPU."""

_EVALUATED = (
    *("int", "float", "int32", "int64", "float16", "float32", "float64", "constexpr"),
    *("ceil", "sqrt", "len", "min", "max"),
)
"""The types and functions that constants are made with."""


@dataclass(frozen=True)
class NeededStatements:
    """The imports, constants and functions that some names need, in their order.

    Attributes:
        statements: the statements.
        offered: the names that the file's imports, constants and functions define.
    """

    statements: list[ast.stmt]
    offered: frozenset[str]


def needed_statements(
    tree: ast.Module, wanted: Iterable[str], given: Collection[str], kernel: str = "", decorators: tuple[str, ...] = ()
) -> NeededStatements:
    """Return the statements of a module that define some names.

    Names that are given need none. Of the decorators of ``kernel``, those whose last words are in ``decorators`` stay.
    """
    offered: dict[str, list[ast.stmt]] = {}
    statements = _statements(tree.body, kernel)
    for statement in statements:
        _strip_decorators(statement, kernel, decorators)
        for name in _offered(statement):
            if name not in given:
                offered.setdefault(name, []).append(statement)
    every = frozenset(offered)
    needed, names, known = set[int](), [*wanted, ALL], set[str]()
    while names:
        known.add(name := names.pop())
        for statement in offered.pop(name, ()):
            needed.add(id(statement))
            names += [each.id for each in ast.walk(statement) if isinstance(each, ast.Name)]
    for statement in statements:
        if id(statement) in needed and isinstance(statement, ast.Import | ast.ImportFrom):
            statement.names = [each for each in statement.names if imported_name(each) in known]
    return NeededStatements([each for each in statements if id(each) in needed], every)


def _statements(body: list[ast.stmt], function: str) -> list[ast.stmt]:
    """Return the statements at a module's level, those within ``if``, ``try``, and what is around a function too."""
    found: list[ast.stmt] = []
    for statement in body:
        if isinstance(statement, ast.FunctionDef | ast.ClassDef) and _has_inside(statement, function):
            found += _statements(statement.body, function)
            continue
        found.append(statement)
        if isinstance(statement, ast.If | ast.Try):
            found += _statements([*statement.body, *statement.orelse], function)
    return found


def _has_inside(outer: ast.FunctionDef | ast.ClassDef, function: str) -> bool:
    return any(isinstance(each, ast.FunctionDef) and each.name == function for each in ast.walk(outer) if each != outer)


def _offered(statement: ast.stmt) -> list[str]:
    """Return the names that an import, a constant or a function defines; none for other statements."""
    match statement:
        case ast.Import(names) | ast.ImportFrom(_, names):
            return list(map(imported_name, names))
        case ast.FunctionDef(name):
            return [name]
        case ast.Assign(targets, value) if _is_constant(value):
            return [each.id for target in targets for each in ast.walk(target) if isinstance(each, ast.Name)]
        case ast.AnnAssign(ast.Name(name), _, ast.expr() as value) if _is_constant(value):
            return [name]
    return []


def imported_name(name: ast.alias) -> str:
    """Return the name that a part of an import defines."""
    return name.asname or name.name.partition(".")[0]


def _is_constant(value: ast.expr) -> bool:
    """Return whether an expression consists of literals, names, arithmetic, and types such as ``float32(0)``.

    A word of the command line is none: there is only the program's name.
    """
    if any(isinstance(each, ast.Subscript) and ast.unparse(each.value) in COMMAND_LINE for each in ast.walk(value)):
        return False
    calls = (each for each in ast.walk(value) if isinstance(each, ast.Call))
    types = (
        "int",
        "float",
        "int32",
        "int64",
        "float16",
        "float32",
        "float64",
        "ceil",
        "sqrt",
        "len",
        "min",
        "max",
        "constexpr",
    )
    return all(ast.unparse(each.func).rpartition(".")[2] in types for each in calls)


def _strip_decorators(statement: ast.stmt, kernel: str, decorators: tuple[str, ...]) -> None:
    """Take from a function the kernel's other decorators, and the signatures in decorators of others."""
    if not isinstance(statement, ast.FunctionDef):
        return
    if statement.name == kernel:
        kept = [each for each in statement.decorator_list if _word(each) in decorators]
        statement.decorator_list = kept
    for decorator in statement.decorator_list:
        if isinstance(decorator, ast.Call) and _word(decorator) != "heuristics":
            decorator.args = []
            decorator.keywords = [each for each in decorator.keywords if each.arg in _OPTIONS]


def _word(decorator: ast.expr) -> str:
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    return ast.unparse(called).rpartition(".")[2]
