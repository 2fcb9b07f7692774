"""The names that a program imports from modules beside it, as far as their syntax trees show them."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator, Mapping
from dataclasses import replace

from mmcore.files import read_text
from mmcore_sources.python_file.local_modules import ALL, DEEPEST, ImportingFile
from mmcore_sources.python_file.program import ImportedName, PythonProgram, parse_program
from mmcore_sources.python_file.scopes import Scope


def with_imported_names(program: PythonProgram) -> PythonProgram:
    """Return a program with the names that it imports from modules beside it."""
    return _with_names(program, ImportingFile(program.path, program.path.parent))


def _with_names(program: PythonProgram, file: ImportingFile) -> PythonProgram:
    names = [each for node, scope in program.scoped for each in _imported(node, scope, file)]
    return replace(program, imported=tuple(names))


def _imported(node: ast.AST, scope: Scope, file: ImportingFile) -> Iterator[ImportedName]:
    """Yield the names that a statement imports; those of a module as "helper.TILE"."""
    for each in file.local_imports(node):
        module = _read(file.imported(each.module))
        if module is not None and isinstance(node, ast.stmt):
            for name, imported in _names(module, node, scope).items():
                if each.name in ("", ALL):
                    yield replace(imported, name=name if each.name else f"{each.bound}.{name}")
                elif each.name == name:
                    yield replace(imported, name=each.bound)


def _read(file: ImportingFile) -> PythonProgram | None:
    """Return the program of a module; None if it cannot be read, or if modules import each other."""
    if file.depth > DEEPEST:
        return None
    try:
        return _with_names(parse_program(file.path, read_text(file.path)), file)
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _names(module: PythonProgram, place: ast.stmt, scope: Scope) -> Mapping[str, ImportedName]:
    """Return the names of a module, which an import in a place of a program can bind."""
    constants: dict[str, ast.expr] = {}
    for each in module.assignments:
        if not each.scope.functions and each.name not in module.varying:
            value = _literal(each.value, constants, place)
            constants |= {each.name: value} if value is not None else {}
    functions = {each.name: each for each in module.tree.body if isinstance(each, ast.FunctionDef)}
    functions = module.imported_functions | functions
    return {
        name: ImportedName(
            name, module.imports.get(name, ""), place.lineno, scope, constants.get(name), functions.get(name)
        )
        for name in (*module.imports, *constants, *functions)
    }


def _literal(value: ast.expr, constants: Mapping[str, ast.expr], place: ast.stmt) -> ast.expr | None:
    """Return an expression with ``constants`` in place of their names, at the place of an import.

    None if other names remain, and for strings, whose characters have places in the module.
    """
    resolved = _Constants(constants).visit(copy.deepcopy(value))
    for node in ast.walk(resolved):
        if isinstance(node, ast.Name | ast.JoinedStr) or (
            isinstance(node, ast.Constant) and isinstance(node.value, str)
        ):
            return None
        if isinstance(node, ast.expr):
            ast.copy_location(node, place)
    assert isinstance(resolved, ast.expr)
    return resolved


class _Constants(ast.NodeTransformer):
    def __init__(self, constants: Mapping[str, ast.expr]) -> None:
        self._constants = constants

    def visit_Name(self, node: ast.Name) -> ast.AST:
        """Return the constant that a name is."""
        return copy.deepcopy(self._constants.get(node.id, node))

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        """Return the constant of a module that is named, as in ``config.TILE``."""
        found = self._constants.get(ast.unparse(node))
        return self.generic_visit(node) if found is None else copy.deepcopy(found)
