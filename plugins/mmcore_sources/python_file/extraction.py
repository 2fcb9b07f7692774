"""A function of a Python file, loaded without running the rest of the file."""

from __future__ import annotations

import ast
import linecache
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mmcore_sources.python_file.defaults import COMMAND_LINE, with_defaults

_OPTIONS = ("device", "inline", "fastmath")
"""The options of decorators that are kept; signatures would compile at once, for a GPU."""


@dataclass(frozen=True)
class FunctionInFile:
    """A function of a Python file or notebook.

    Attributes:
        path: the file, or a cell of a notebook.
        text: the text of the file.
        name: the function's name.
        lines_before: the number of lines before its cell in a notebook; 0 in a file.
        values: the values of parameters of functions around it, by name.
    """

    path: Path
    text: str
    name: str
    lines_before: int = 0
    values: Mapping[str, Any] = field(default_factory=dict)

    def load(self, decorators: tuple[str, ...], constants: Mapping[str, Any] | None = None) -> Any:
        """Return the function, after running only the imports, constants and functions that it needs.

        Of its decorators, those whose last words are given are applied. ``constants`` are values that
        replace the module's, by name.
        """
        lines = self.text.splitlines(keepends=True)[self.lines_before :]
        linecache.cache[str(self.path)] = (len(self.text), None, lines, str(self.path))  # compilers read it there
        given = {**self.values, **(constants or {})}
        statements = _needed_statements(with_defaults(ast.parse(self.text)), self.name, decorators, given)
        for statement in statements:
            if statement.lineno > self.lines_before:
                ast.increment_lineno(statement, -self.lines_before)
        names: dict[str, Any] = {"__name__": self.path.stem, "__file__": str(self.path), **given}
        with _command_line(str(self.path)):
            exec(compile(ast.Module(statements, []), str(self.path), "exec"), names)
        return names[self.name]


@contextmanager
def _command_line(*words: str) -> Iterator[None]:
    """Give the body a command line of its own in ``sys.argv``: that of this process is mmcore's."""
    before, sys.argv = sys.argv, [*words]
    try:
        yield
    finally:
        sys.argv = before


def _needed_statements(
    tree: ast.Module, function: str, decorators: tuple[str, ...], given: Mapping[str, Any]
) -> list[ast.stmt]:
    """Return the imports, constants and functions of a module that a function needs, in their order.

    Names that are given need none.
    """
    offered: dict[str, list[ast.stmt]] = {}
    statements = _statements(tree.body, function)
    for statement in statements:
        _strip_decorators(statement, function, decorators)
        for name in _offered(statement):
            if name not in given:
                offered.setdefault(name, []).append(statement)
    needed, names, known = set[int](), [function, "*"], set[str]()
    while names:
        known.add(name := names.pop())
        for statement in offered.pop(name, ()):
            needed.add(id(statement))
            names += [each.id for each in ast.walk(statement) if isinstance(each, ast.Name)]
    for statement in statements:
        if id(statement) in needed and isinstance(statement, ast.Import | ast.ImportFrom):
            statement.names = [each for each in statement.names if _imported(each) in known]
    return [each for each in statements if id(each) in needed]


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
            return list(map(_imported, names))
        case ast.FunctionDef(name):
            return [name]
        case ast.Assign(targets, value) if _is_constant(value):
            return [each.id for target in targets for each in ast.walk(target) if isinstance(each, ast.Name)]
        case ast.AnnAssign(ast.Name(name), _, ast.expr() as value) if _is_constant(value):
            return [name]
    return []


def _imported(name: ast.alias) -> str:
    return name.asname or name.name.partition(".")[0]


def _is_constant(value: ast.expr) -> bool:
    """Return whether an expression consists of literals, names, arithmetic, and types such as ``float32(0)``.

    A word of the command line is none: there is only the program's name.
    """
    if any(isinstance(each, ast.Subscript) and ast.unparse(each.value) in COMMAND_LINE for each in ast.walk(value)):
        return False
    calls = (each for each in ast.walk(value) if isinstance(each, ast.Call))
    types = ("int", "float", "int32", "int64", "float16", "float32", "float64", "ceil", "sqrt", "len", "min", "max")
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
