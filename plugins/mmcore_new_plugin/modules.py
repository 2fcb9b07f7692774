"""A Python module read as its top-level statements: what each binds, what it uses, and how it is written."""

from __future__ import annotations

import ast
import builtins
import functools
import inspect
import symtable
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from mmcore.errors import PluginNotWritten


@dataclass(frozen=True)
class Statement:
    """One statement at the top of a module.

    Attributes:
        module: the module's name.
        line: where it begins, with decorators and the comment above it.
        end: its last line.
        text: its lines.
        node: its tree.
    """

    module: str
    line: int
    end: int
    text: str
    node: ast.stmt

    @property
    def is_definition(self) -> bool:
        """Whether it is a function or a class, which two blank lines set apart."""
        return isinstance(self.node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))

    def uses(self) -> set[str]:
        """The names that it takes from the module or from Python itself."""
        return set(_free_names(symtable.symtable(self.text, self.module, "exec")))


def _free_names(table: symtable.SymbolTable) -> Iterator[str]:
    for symbol in table.get_symbols():
        if symbol.is_global() or (table.get_type() == "module" and symbol.is_referenced()):
            yield symbol.get_name()
    for child in table.get_children():
        yield from _free_names(child)


@functools.cache
def source_of(module: str) -> str:
    """A module's source.

    Raises:
        PluginNotWritten: Python cannot find it.
    """
    try:
        return inspect.getsource(sys.modules[module])
    except (OSError, TypeError, KeyError):
        raise PluginNotWritten(f"the source of the Python module {module} cannot be read") from None


@functools.cache
def statements(module: str) -> dict[str, list[Statement]]:
    """The statements of a module by the names that they bind."""
    source = source_of(module)
    lines = source.splitlines()
    bound: dict[str, list[Statement]] = {}
    for node in ast.parse(source).body:
        first = min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", ()))])
        while first > 1 and lines[first - 2].startswith("#"):
            first -= 1
        end = node.end_lineno or node.lineno
        statement = Statement(module, first, end, "\n".join(lines[first - 1 : end]), node)
        for name in set(_bound(node)):
            bound.setdefault(name, []).append(statement)
    return bound


def _bound(node: ast.AST) -> Iterator[str]:
    """The names that a statement binds where it stands."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        yield node.name
    elif isinstance(node, (ast.Import, ast.ImportFrom)):
        yield from (alias.asname or alias.name.partition(".")[0] for alias in node.names)
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        yield node.id
    elif not isinstance(node, (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
        for child in ast.iter_child_nodes(node):
            yield from _bound(child)


def imported_from(node: ast.ImportFrom, module: str) -> str:
    """The module that ``from … import`` in ``module`` names."""
    if not node.level:
        return node.module or ""
    package = module if hasattr(sys.modules[module], "__path__") else module.rpartition(".")[0]
    for _ in range(node.level - 1):
        package = package.rpartition(".")[0]
    return f"{package}.{node.module}" if node.module else package


def home(value: object) -> tuple[str, str]:
    """The module that a function or class is defined in, and its name there.

    Raises:
        PluginNotWritten: it is made inside a function, so that it has no place of its own.
    """
    name, module = getattr(value, "__module__", None), None
    if name in sys.modules:
        module = sys.modules[name]
        for each in (getattr(value, "__name__", ""), *vars(module)):
            if vars(module).get(each) is value:
                return module.__name__, each
    what = getattr(value, "__qualname__", None) or repr(value)
    raise PluginNotWritten(f"{what} does not stand at the top of a module, and so cannot be copied from there")


def is_builtin(name: str) -> bool:
    """Whether Python itself knows the name in every module."""
    return hasattr(builtins, name) or name in ("__file__", "__name__", "__doc__")
