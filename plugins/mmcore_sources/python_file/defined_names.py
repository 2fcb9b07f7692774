"""The values of a file's names and of names from modules beside it, without running the rest of these files."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator, Mapping
from types import ModuleType
from typing import Any

from mmcore.errors import CompileError, UnknownValue
from mmcore.files import read_text
from mmcore_sources.python_file.defaults import with_defaults
from mmcore_sources.python_file.local_modules import ALL, DEEPEST, ImportingFile, LocalImport
from mmcore_sources.python_file.needed_statements import NeededStatements, imported_name, needed_statements


def defined_names(
    file: ImportingFile, needed: NeededStatements, constants: Mapping[str, Any], values: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the names that the statements of a file define, with their values.

    Args:
        file: the file.
        needed: its statements, which are run.
        constants: values that replace those of the file and of the modules that it imports, by name.
        values: further values, by name.

    Raises:
        UnknownValue: a module is not found, or a value of one is computed when the program runs.
        CompileError: a module is not Python.
    """
    given = {**values, **constants}
    names: dict[str, Any] = {"__name__": file.path.stem, "__package__": "", "__file__": str(file.path), **given}
    for statement in needed.statements:
        if isinstance(statement, ast.Import | ast.ImportFrom):
            local = list(file.local_imports(statement))
            for each in local:
                if each.bound not in given:
                    _bind(names, each, file, needed, constants)
            aliases = [each.alias for each in local]
            statement.names = [each for each in statement.names if each not in aliases]
            if not statement.names:
                continue
        try:
            exec(compile(ast.Module([statement], []), str(file.path), "exec"), names)
        except ImportError as error:
            if isinstance(statement, ast.Import | ast.ImportFrom) and not _is_defined(statement, names):
                _refuse_missing(file, statement, error)
                raise
    return names


def _is_defined(statement: ast.Import | ast.ImportFrom, names: Mapping[str, Any]) -> bool:
    """Return whether earlier statements define all that an import does, such as a cell that writes the module."""
    return all(imported_name(each) in names for each in statement.names)


def _refuse_missing(file: ImportingFile, statement: ast.Import | ast.ImportFrom, error: ImportError) -> None:
    """Raise UnknownValue if the module of an import is not found."""
    relative = isinstance(statement, ast.ImportFrom) and statement.level > 0
    if relative or isinstance(error, ModuleNotFoundError):
        name = error.name or ast.unparse(statement).split()[1].lstrip(".")
        what = f"line {statement.lineno} of {file.path.name} imports {name}, which is not found"
        package = "" if relative else f", or install the package {name}"
        raise UnknownValue(f"{what}; put {name.replace('.', '/')}.py beside the file{package}") from None


def _bind(
    names: dict[str, Any],
    imported: LocalImport,
    file: ImportingFile,
    needed: NeededStatements,
    constants: Mapping[str, Any],
) -> None:
    """Define what a file imports from a module beside it."""
    module = file.imported(imported.module)
    if imported.name == ALL:
        used = {name for each in needed.statements for name in _used(each)} - {*names}
        names |= _of_module(module, used, constants)
    elif imported.name:
        names[imported.bound] = _of_module(module, [imported.name], constants, required=True)[imported.name]
    else:
        *packages, last = imported.bound.split(".")
        for name in packages:
            names = names.setdefault(name, ModuleType(name)).__dict__
        attributes = _attributes(imported.bound, needed.statements)
        names.setdefault(last, ModuleType(last)).__dict__.update(
            _of_module(module, attributes, constants, required=True)
        )


def _attributes(bound: str, statements: Iterable[ast.stmt]) -> list[str]:
    """Return the names that statements use of a module."""
    nodes = (each for statement in statements for each in ast.walk(statement) if isinstance(each, ast.Attribute))
    return sorted({each.attr for each in nodes if ast.unparse(each.value) == bound})


def _of_module(
    file: ImportingFile, wanted: Collection[str], constants: Mapping[str, Any], *, required: bool = False
) -> dict[str, Any]:
    """Return the values of names of a module. Raises UnknownValue for a required name without a value."""
    module = file.path.name
    if file.depth > DEEPEST:
        raise UnknownValue(f"{module} imports itself through other modules, which mmcore does not follow")
    try:
        tree = with_defaults(ast.parse(read_text(file.path)))
    except OSError as error:
        raise UnknownValue(f"{module} cannot be read: {error.strerror}") from None
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        where = f" in line {error.lineno}: {error.msg}" if isinstance(error, SyntaxError) else f": {error}"
        raise CompileError(f"{module} is not Python{where}") from None
    needed = needed_statements(tree, wanted, constants)
    computed = dict(_stored(tree)) | dict.fromkeys(needed.offered)
    for name in (*wanted, *(name for each in needed.statements for name in _used(each))):
        if (line := computed.get(name)) is not None and name not in constants:
            what = f"{name} of line {line} of {module} is computed when the program runs, which mmcore does not do"
            raise UnknownValue(f"{what}; a literal or a def can be read")
    names = defined_names(file, needed, constants, {})
    for name in wanted if required else ():
        if name not in names:
            raise UnknownValue(f"{module} has no constant and no function {name}")
    return {name: names[name] for name in wanted if name in names}


def _stored(node: ast.AST) -> Iterator[tuple[str, int]]:
    """Yield the names that a module assigns outside its functions, with their lines."""
    for each in ast.iter_child_nodes(node):
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store):
            yield each.id, each.lineno
        if isinstance(each, ast.ClassDef):
            yield each.name, each.lineno
        elif not isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield from _stored(each)


def _used(statement: ast.stmt) -> set[str]:
    """Return the names that a statement takes from its module."""
    names = [each for each in ast.walk(statement) if isinstance(each, ast.Name)]
    own = {each.arg for each in ast.walk(statement) if isinstance(each, ast.arg)}
    own |= {each.id for each in names if isinstance(each.ctx, ast.Store)}
    return {each.id for each in names} - own
