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

from mmcore_sources.python_file.defaults import with_defaults
from mmcore_sources.python_file.defined_names import defined_names
from mmcore_sources.python_file.local_modules import ImportingFile
from mmcore_sources.python_file.needed_statements import needed_statements


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
        replace the file's and those of modules beside it, by name.

        Raises UnknownValue if it needs a module that is not found, or a value of a module that only a run computes.
        """
        lines = self.text.splitlines(keepends=True)[self.lines_before :]
        linecache.cache[str(self.path)] = (len(self.text), None, lines, str(self.path))  # compilers read it there
        tree = with_defaults(ast.parse(self.text))
        for statement in tree.body:
            if statement.lineno > self.lines_before:
                ast.increment_lineno(statement, -self.lines_before)
        needed = needed_statements(tree, [self.name], {*self.values, *(constants or {})}, self.name, decorators)
        file = ImportingFile(self.path, self.path.parent)
        with _command_line(str(self.path)):
            return defined_names(file, needed, constants or {}, self.values)[self.name]


@contextmanager
def _command_line(*words: str) -> Iterator[None]:
    """Give the body a command line of its own in ``sys.argv``: that of this process is mmcore's."""
    before, sys.argv = sys.argv, [*words]
    try:
        yield
    finally:
        sys.argv = before
