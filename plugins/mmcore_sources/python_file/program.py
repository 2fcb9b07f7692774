"""A Python program as its syntax tree: imports, assignments by scope, and calls. It is never run."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mmcore.cli.earlier_cells import CELL_LINE
from mmcore_sources.python_file.defaults import with_defaults
from mmcore_sources.python_file.extraction import FunctionInFile
from mmcore_sources.python_file.scopes import Assignment, Scope, assignments, walk


@dataclass(frozen=True)
class ImportedName:
    """A name that a program imports from a module beside it.

    Attributes:
        name: the name in the program: "TILE", or "config.TILE" of an imported module.
        full_name: the name that the module imports itself, such as "numba.cuda"; empty for its own names.
        line, scope: the place of the import.
        value: its value if that is an expression of literals; None otherwise.
        function: the function of this name; None otherwise.
    """

    name: str
    full_name: str
    line: int
    scope: Scope
    value: ast.expr | None = None
    function: ast.FunctionDef | None = None


@dataclass(frozen=True)
class Cell:
    """A code cell of a notebook: its number among them, its first line in the program, and its text.

    The cell of the magic ``%%mmcore`` has the number 0, and is a file by itself.
    """

    number: int
    first_line: int
    text: str
    is_cuda: bool


@dataclass(frozen=True)
class PythonProgram:
    """The content of a Python file, or of the code cells of a notebook.

    Attributes:
        path: the file.
        text: its text; the cells of a notebook follow each other.
        tree: its syntax tree.
        cells: the code cells of a notebook; empty for a file.
        imported: the names that it imports from modules beside it.
    """

    path: Path
    text: str
    tree: ast.Module
    cells: tuple[Cell, ...] = ()
    imported: tuple[ImportedName, ...] = ()

    @functools.cached_property
    def lines(self) -> list[str]:
        return self.text.split("\n")

    @functools.cached_property
    def scoped(self) -> list[tuple[ast.AST, Scope]]:
        """All nodes in the order of the file, with their scopes."""
        return list(walk(self.tree, Scope()))

    @functools.cached_property
    def calls(self) -> list[tuple[ast.Call, Scope]]:
        return [(node, scope) for node, scope in self.scoped if isinstance(node, ast.Call)]

    @functools.cached_property
    def functions(self) -> list[ast.FunctionDef]:
        return [node for node, _ in self.scoped if isinstance(node, ast.FunctionDef)]

    @functools.cached_property
    def imports(self) -> dict[str, str]:
        """The full names of imported modules, and of names imported from them, by the names in the file."""
        names: dict[str, str] = {}
        for node, _ in self.scoped:
            if isinstance(node, ast.Import):
                for each in node.names:
                    names[each.asname or each.name.partition(".")[0]] = (
                        each.name if each.asname else each.name.partition(".")[0]
                    )
            elif isinstance(node, ast.ImportFrom):
                names |= {each.asname or each.name: f"{node.module or ''}.{each.name}" for each in node.names}
        return names | {each.name: each.full_name for each in self.imported if each.full_name}

    @functools.cached_property
    def assignments(self) -> list[Assignment]:
        constants = (
            Assignment(each.name, each.value, each.line, each.scope) for each in self.imported if each.value is not None
        )
        own = (each for node, scope in self.scoped for each in assignments(node, scope))
        return sorted([*constants, *own], key=lambda each: each.line)

    @functools.cached_property
    def imported_functions(self) -> dict[str, ast.FunctionDef]:
        """The functions of modules beside the program, by their names in the program."""
        return {each.name: each.function for each in self.imported if each.function is not None}

    def placed(self, line: int) -> Path:
        """Return the path that names the file of a line: the file itself, or a cell of a notebook."""
        cell = self.cell(line)
        if cell is None or cell.number == 0:
            return self.path
        return self.path.with_name(f"{self.path.name}[cell {cell.number}]")

    def cell(self, line: int) -> Cell | None:
        """Return the cell of a line; None in a file."""
        return next((each for each in reversed(self.cells) if each.first_line <= line), None)

    def source_of(self, line: int) -> dict[str, Any]:
        """Return the source of a kernel in a line, and its text in a notebook, as attributes of a declaration."""
        cell = self.cell(line)
        return {"source": self.placed(line), "text": "" if cell is None else cell.text}

    def extracted(self, function: ast.FunctionDef) -> FunctionInFile:
        """Return a function that can be loaded."""
        line = function.lineno
        return FunctionInFile(self.placed(line), self.text, function.name, self.lines_before(line))

    def is_decorated(self, function: ast.FunctionDef, *names: str) -> bool:
        """Return whether a function has a decorator of one of these full names, called or not."""
        decorators = (each.func if isinstance(each, ast.Call) else each for each in function.decorator_list)
        return any(self.full_name(each) in names for each in decorators)

    def lines_before(self, line: int) -> int:
        """Return the number of lines before the cell of a line; 0 in a file."""
        cell = self.cell(line)
        return 0 if cell is None else cell.first_line - 1

    def in_cells(self, text: str) -> str:
        """Return a message with lines of the program as lines of cells."""

        def place(match: re.Match[str]) -> str:
            cell = self.cell(int(match[1]))
            if cell is None:
                return match[0]
            return f"{f'cell {cell.number}, ' if cell.number else ''}line {int(match[1]) - cell.first_line + 1}"

        return re.sub(r"\bline (\d+)\b", place, text) if self.cells else text

    def shifted(self, text: str, line: int) -> str:
        """Return a text at the lines of the program as a text at the lines of the cell of ``line``."""
        return "\n".join(text.split("\n")[self.lines_before(line) :])

    def full_name(self, node: ast.expr) -> str:
        """Return the full name of a dotted expression, such as "numpy.float32" for ``np.float32``; "" for others."""
        match node:
            case ast.Name(name):
                return self.imports.get(name, name)
            case ast.Attribute(owner, attribute) if above := self.full_name(owner):
                return f"{above}.{attribute}"
            case ast.Attribute(_, attribute):
                return f".{attribute}"
        return ""

    def visible(self, scope: Scope, line: int) -> list[Assignment]:
        """Return the assignments that a line of a scope sees, the decisive one of each name last.

        Assignments of the module count wherever they are if the line is in a function.
        """
        return list(_visible(self.assignments, scope, line))

    @functools.cached_property
    def named(self) -> dict[str, list[Assignment]]:
        """The assignments of each name."""
        named: dict[str, list[Assignment]] = {}
        for each in self.assignments:
            named.setdefault(each.name, []).append(each)
        return named

    @functools.cached_property
    def varying(self) -> frozenset[str]:
        """The names that have several values: of loops, of ``+=``, and those assigned repeatedly in one scope."""
        targets = (
            node.target for node, _ in self.scoped if isinstance(node, ast.For | ast.AugAssign | ast.comprehension)
        )
        names = {each.id for target in targets for each in ast.walk(target) if isinstance(each, ast.Name)}
        repeated = (
            name for name, several in self.named.items() if len({each.scope for each in several}) < len(several)
        )
        return frozenset(names.union(repeated))

    def value_of(self, name: str, scope: Scope, line: int) -> Assignment | None:
        """Return the last assignment of a name that a line sees."""
        return next(iter([*_visible(self.named.get(name, ()), scope, line)][::-1]), None)

    @functools.cached_property
    def anywhere(self) -> dict[str, Assignment]:
        """The last assignment of each name in any scope, or else the first argument of a parameter with this name."""
        found: dict[str, Assignment] = {}
        for function in self.functions:
            for parameter in function.args.args:
                passed = self.argument_at_calls(parameter.arg, Scope((function,)))
                if passed is not None and ast.unparse(passed[0]) != parameter.arg:
                    value, caller, line = passed
                    found.setdefault(parameter.arg, Assignment(parameter.arg, value, line, caller))
        return found | {name: several[-1] for name, several in self.named.items()}

    def argument_at_calls(self, name: str, scope: Scope) -> tuple[ast.expr, Scope, int] | None:
        """Return what the first call of the innermost function passes as a parameter, and where."""
        if not scope.functions:
            return None
        function = scope.functions[-1]
        names = [each.arg for each in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)]
        for call, caller in self.calls:
            called = call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")
            if called == function.name and name in names and caller != scope:
                passed = dict(zip(names, call.args, strict=False))
                passed |= keywords_of(call)
                if name in passed:
                    return passed[name], caller, call.lineno
        return None


def keywords_of(call: ast.Call) -> dict[str, ast.expr]:
    """Return the keyword arguments of a call by name; those of ``**mapping`` are unknown."""
    return {each.arg: each.value for each in call.keywords if each.arg}


def _visible(assignments: Iterable[Assignment], scope: Scope, line: int) -> Iterator[Assignment]:
    """Yield the assignments that a line of a scope sees, the outermost scope first."""
    for depth in range(len(scope.functions) + 1):
        functions = scope.functions[:depth]
        own = (each for each in assignments if each.scope.functions == functions)
        yield from (each for each in own if each.line <= line or functions != scope.functions)


def parse_program(path: Path, text: str) -> PythonProgram:
    """Return the program in a text, whose lines may name the cells of a session that its parts are from.

    Raises SyntaxError, or ValueError for a null byte.
    """
    tree, cells = with_defaults(ast.parse(text)), list[Cell]()
    for match in CELL_LINE.finditer(text):
        content = CELL_LINE.split(text[match.end() :], maxsplit=1)[0]
        cells.append(Cell(int(match[1]), text.count("\n", 0, match.end()) + 1, content, False))
    return PythonProgram(path, text, tree, tuple(cells))
