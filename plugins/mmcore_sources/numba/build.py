"""Compilation of a Numba kernel of a file to PTX, without a GPU and without running the rest of the file."""

from __future__ import annotations

import ast
import linecache
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mmcore.compile.compiled_module import Binary
from mmcore.errors import CompileError, CompilerMissing
from mmcore.kernel.arguments import MATRICES, Argument, Scalar
from mmcore.kernel.configs import Config
from mmcore.kernel.launch import Launch
from mmcore.kernel.problem import Problem, dtype_named
from mmcore.kernel.properties import DeviceProperties
from mmcore_sources.cuda_file.inference.expressions import LaunchText

_OPTIONS = ("device", "inline", "fastmath")
"""The options of ``cuda.jit`` that are kept; signatures would compile at once, for a GPU."""


@dataclass(frozen=True)
class NumbaBuild:
    """The build rule of a Numba kernel in a file.

    Attributes:
        path: the file, or a cell of a notebook.
        text: the text of the file.
        function: the name of the kernel.
        parameters: the argument of each of its parameters.
        axes: the number of axes of each matrix.
        contiguous: False if its signature says that arrays may have gaps.
        fastmath: True if it is compiled with ``fastmath=True``.
        lines_before: the number of lines before its cell in a notebook; 0 in a file.
    """

    path: Path
    text: str
    function: str
    parameters: tuple[Argument, ...]
    axes: Mapping[str, int]
    contiguous: bool = True
    fastmath: bool = False
    lines_before: int = 0

    def __call__(self, problem: Problem, config: Config, architecture: str) -> Binary:
        """Return the PTX for an architecture such as "90a".

        Raises CompileError if Numba rejects the function, or CompilerMissing.
        """
        try:
            from numba import cuda, types
        except ImportError as error:
            how = "python -m pip install 'mmcore-cuda[numba]' brings it"
            raise CompilerMissing(f"Numba is not installed; {how} ({error})") from None
        digits = architecture.rstrip("af")
        capability = (int(digits[:-1]), int(digits[-1]))
        try:
            function = self._function()
            signature = types.void(*(self._type(types, each, problem) for each in self.parameters))
            ptx, _ = cuda.compile_ptx(function, signature, cc=capability, lineinfo=True, fastmath=self.fastmath)
        except Exception as error:  # the errors of its compiler's stages have no common class
            named = f"Numba does not compile {self.function} of {self.path.name} for sm_{architecture}"
            raise CompileError(f"{named}:\n{type(error).__name__}: {error}") from None
        return Binary(ptx=ptx)

    def _function(self) -> Any:
        """Return the function, after running only the imports, constants and functions that it needs."""
        lines = self.text.splitlines(keepends=True)[self.lines_before :]
        linecache.cache[str(self.path)] = (len(self.text), None, lines, str(self.path))  # Numba quotes it in errors
        statements = needed_statements(ast.parse(self.text), self.function)
        for statement in statements:
            if statement.lineno > self.lines_before:
                ast.increment_lineno(statement, -self.lines_before)
        module = ast.Module(statements, [])
        names: dict[str, Any] = {"__name__": self.path.stem}
        exec(compile(module, str(self.path), "exec"), names)
        return names[self.function]

    def _type(self, types: Any, argument: Argument, problem: Problem) -> Any:
        if isinstance(argument, Scalar):
            return getattr(types, argument.type)
        if argument not in MATRICES:
            return types.int64
        element = problem.output if argument == "C" else problem.dtype
        by_columns = argument in problem.column_major and self.axes[str(argument)] == 2
        layout = ("F" if by_columns else "C") if self.contiguous else "A"
        return types.Array(getattr(types, element), self.axes[str(argument)], layout)


@dataclass(frozen=True)
class ArrayLaunch(LaunchText):
    """A launch rule as text, whose arguments are Numba's arrays."""

    parameters: tuple[Argument, ...] = ()
    axes: Mapping[str, int] | None = None

    def __call__(self, problem: Problem, config: Config, device: DeviceProperties) -> Launch:
        passed = [part for each in self.parameters for part in self._parts(each, problem)]
        return replace(super().__call__(problem, config, device), arguments=tuple(passed))

    def _parts(self, argument: Argument, problem: Problem) -> list[Argument]:
        """Return the numbers that describe an array: two that are unused, sizes, data, its shape and strides."""
        if argument not in MATRICES:
            return [Scalar(argument, "int64") if isinstance(argument, str) else argument]
        matrix = str(argument)
        rows, columns = problem.shape(matrix)
        itemsize = dtype_named(problem.output if matrix == "C" else problem.dtype).itemsize
        shape, strides = [rows, columns], [columns * itemsize, itemsize]
        if matrix in problem.column_major:
            strides = [itemsize, rows * itemsize]
        if (self.axes or {}).get(matrix) == 1:
            shape, strides = [rows * columns], [itemsize]
        sizes = [Scalar(each, "int64") for each in (rows * columns, itemsize)]
        unused = [Scalar(0, "uint64")] * 2
        return [*unused, *sizes, matrix, *(Scalar(each, "int64") for each in (*shape, *strides))]


def needed_statements(tree: ast.Module, function: str) -> list[ast.stmt]:
    """Return the imports, constants and functions of a module that a function needs, in their order."""
    offered: dict[str, list[ast.stmt]] = {}
    for statement in _statements(tree.body):
        for name in _offered(statement):
            offered.setdefault(name, []).append(statement)
    needed, names = set[int](), [function]
    while names:
        for statement in offered.pop(names.pop(), ()):
            needed.add(id(statement))
            names += [each.id for each in ast.walk(statement) if isinstance(each, ast.Name)]
    return [_plain(each, function) for each in _statements(tree.body) if id(each) in needed]


def _statements(body: list[ast.stmt]) -> list[ast.stmt]:
    """Return the statements at a module's level, those within ``if`` and ``try`` too."""
    found: list[ast.stmt] = []
    for statement in body:
        found.append(statement)
        if isinstance(statement, ast.If | ast.Try):
            found += _statements([*statement.body, *statement.orelse])
    return found


def _offered(statement: ast.stmt) -> list[str]:
    """Return the names that an import, a constant or a function defines; none for other statements."""
    match statement:
        case ast.Import(names):
            return [each.asname or each.name.partition(".")[0] for each in names]
        case ast.ImportFrom(_, names):
            return [each.asname or each.name for each in names]
        case ast.FunctionDef(name):
            return [name]
        case ast.Assign(targets, value) if _is_constant(value):
            return [each.id for target in targets for each in ast.walk(target) if isinstance(each, ast.Name)]
        case ast.AnnAssign(ast.Name(name), _, ast.expr() as value) if _is_constant(value):
            return [name]
    return []


def _is_constant(value: ast.expr) -> bool:
    """Return whether an expression consists of literals, names, arithmetic, and types such as ``float32(0)``."""
    calls = (each for each in ast.walk(value) if isinstance(each, ast.Call))
    types = ("int", "float", "int32", "int64", "float16", "float32", "float64", "ceil", "sqrt", "len", "min", "max")
    return all(ast.unparse(each.func).rpartition(".")[2] in types for each in calls)


def _plain(statement: ast.stmt, kernel: str) -> ast.stmt:
    """Return a statement without what compiles for a GPU at once: the kernel's decorator, and signatures of others."""
    if not isinstance(statement, ast.FunctionDef):
        return statement
    if statement.name == kernel:
        statement.decorator_list = []
    for decorator in statement.decorator_list:
        if isinstance(decorator, ast.Call):
            decorator.args = []
            decorator.keywords = [each for each in decorator.keywords if each.arg in _OPTIONS]
    return statement
