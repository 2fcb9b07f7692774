"""The imports of a Python file that name modules beside it."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

ALL = "*"
"""The name of everything in a module, as in ``from helper import *``."""

DEEPEST = 20
"""The largest number of files that import each other in a row."""


class LocalImport(NamedTuple):
    """A name that a file imports from a module beside it.

    Attributes:
        bound: the name in the file; "helper" or "pkg.helper" for a module.
        module: the module's file.
        name: the name in the module; empty for the module itself, "*" for all of its names.
        alias: the part of the import statement.
    """

    bound: str
    module: Path
    name: str
    alias: ast.alias


@dataclass(frozen=True)
class ImportingFile:
    """A file whose imports are read.

    Attributes:
        path: the file.
        root: the folder of the program, in which modules are looked for.
        depth: the number of files between the program and this file.
    """

    path: Path
    root: Path
    depth: int = 0

    def imported(self, module: Path) -> ImportingFile:
        """Return a module that this file imports."""
        return ImportingFile(module, self.root, self.depth + 1)

    def local_imports(self, statement: ast.AST) -> Iterator[LocalImport]:
        """Yield what a statement imports from modules beside the file; nothing for other modules and statements."""
        match statement:
            case ast.Import(names):
                for alias in names:
                    if (module := self._module(self.root, alias.name)) is not None:
                        yield LocalImport(alias.asname or alias.name, module, "", alias)
            case ast.ImportFrom(name, names, level):
                folder = self.path.parent.joinpath(*[os.pardir] * (level - 1)) if level else self.root
                package = self._module(folder, name or "")
                for alias in names:
                    bound = alias.asname or alias.name
                    submodule = self._module(folder, f"{name}.{alias.name}" if name else alias.name)
                    if submodule is not None:
                        yield LocalImport(bound, submodule, "", alias)
                    elif package is not None:
                        yield LocalImport(bound, package, alias.name, alias)

    def _module(self, folder: Path, name: str) -> Path | None:
        """Return the file of a module in a folder; None if there is none, or if it is the importing file."""
        *packages, last = name.split(".")
        path = folder.joinpath(*packages)
        files = ([path / f"{last}.py"] if last else []) + [path / last / "__init__.py"]
        own = os.path.abspath(self.path)
        return next((each for each in files if each.is_file() and os.path.abspath(each) != own), None)
