"""Compilation of a Numba kernel of a file to PTX, without a GPU and without running the rest of the file."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any, ClassVar

from mmcore.compile.compiled_module import Binary
from mmcore.errors import CompileError, CompilerMissing, UnknownValue
from mmcore.kernel.arguments import MATRICES, Argument, Scalar
from mmcore.kernel.configs import BLOCK, Config
from mmcore.kernel.declaration import Kernel
from mmcore.kernel.launch import Launch
from mmcore.kernel.problem import Problem, dtype_named
from mmcore.kernel.properties import DeviceProperties
from mmcore_sources.cuda_file.inference.expressions import LaunchText
from mmcore_sources.numba.edits import edits
from mmcore_sources.python_file.changes import changed_functions, syntax_tree
from mmcore_sources.python_file.extraction import FunctionInFile

_MISSING = re.compile(r"\bname '(\w+)' is not defined")


@dataclass(frozen=True)
class NumbaBuild:
    """The build rule of a Numba kernel in a file.

    Attributes:
        function: the kernel.
        parameters: the argument of each of its parameters.
        axes: the number of axes of each matrix.
        contiguous: False if its signature says that arrays may have gaps.
        fastmath: True if it is compiled with ``fastmath=True``.
        sizes: the roles of the module's numbers that are the product's sizes, by name.
        transposed: the matrices whose arrays have exchanged axes.
    """

    function: FunctionInFile
    parameters: tuple[Argument, ...]
    axes: Mapping[str, int]
    contiguous: bool = True
    fastmath: bool = False
    sizes: Mapping[str, str] = field(default_factory=dict)
    transposed: frozenset[str] = frozenset()
    names: ClassVar = {f"__{name}()": f"cuda.{name}()" for name in ("syncthreads", "syncwarp", "threadfence")}

    def __call__(self, problem: Problem, config: Config, architecture: str) -> Binary:
        """Return the PTX for an architecture such as "90a".

        Raises CompileError if Numba rejects the function, UnknownValue if it needs a run of the file, or
        CompilerMissing.
        """
        try:
            from numba import cuda, types
        except ImportError as error:
            how = "python -m pip install 'mmcore-cuda[numba]' brings it"
            raise CompilerMissing(f"Numba is not installed; {how} ({error})") from None
        digits = architecture.rstrip("af")
        capability = (int(digits[:-1]), int(digits[-1]))
        named = f"Numba does not compile {self.function.name} of {self.function.path.name} for sm_{architecture}"
        try:
            sizes = {name: getattr(problem, role) for name, role in self.sizes.items()}
            function = self.function.load((), {**{name: config[name] for name in config if name != BLOCK}, **sizes})
            signature = types.void(*(self._type(types, each, problem) for each in self.parameters))
            with _device_of(capability):
                ptx, _ = cuda.compile_ptx(function, signature, cc=capability, lineinfo=True, fastmath=self.fastmath)
        except CompileError as error:
            raise type(error)(f"{named}:\n{error}") from None
        except Exception as error:  # the errors of its compiler's stages have no common class
            if unknown := self._unknown_value(str(error)):
                raise UnknownValue(f"{named}:\n{unknown}") from None
            reason = f"{self._unknown_shape()}{type(error).__name__}: {error}"
            raise CompileError(f"{named}:\n{reason}") from None
        return Binary(ptx=self._with_names(ptx))

    def _with_names(self, ptx: str) -> str:
        """Return code in which arrays in shared memory are called as in the source, mangled as CUDA C++ does."""
        names = [
            node.targets[0].id
            for node in ast.walk(syntax_tree(self.function))
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
            if isinstance(node.value, ast.Call) and ast.unparse(node.value.func).endswith("shared.array")
        ]
        numbers = sorted({int(each) for each in re.findall(r"\b_cudapy_smem_(\d+)", ptx)})
        if len(names) != len(numbers):
            return ptx
        kernel = self.function.name
        mangled = {
            number: f"_ZZ{len(kernel)}{kernel}E{len(name)}{name}" for number, name in zip(numbers, names, strict=True)
        }
        return re.sub(r"\b_cudapy_smem_(\d+)", lambda match: mangled[int(match[1])], ptx)

    def changed(self, kernel: Kernel) -> Iterator[tuple[Kernel, str]]:
        """Yield changed kernels, each with the change of the function's source in words."""
        tree = syntax_tree(self.function)
        parameters = [each.arg for each in tree.args.args]
        roles = [getattr(each, "value", each) for each in self.parameters]
        names = {str(role): name for name, role in zip(parameters, roles, strict=False)}
        for function, what in changed_functions(self.function, edits(tree, names)):
            yield replace(kernel, build=replace(self, function=function)), what

    def _unknown_value(self, message: str) -> str:
        """Return a sentence on a value of the module that only its run knows; empty if none is missing."""
        missing = _MISSING.search(message)
        if missing is None:
            return ""
        for statement in ast.walk(ast.parse(self.function.text)):
            targets = [each for each in ast.walk(statement) if isinstance(each, ast.Name) and _is_stored(each)]
            if isinstance(statement, ast.Assign | ast.AnnAssign) and missing[1] in {each.id for each in targets}:
                line = statement.lineno - self.function.lines_before
                computed = f"{missing[1]} of line {line} is computed when the program runs, which mmcore does not do"
                return f"{computed}; --config {missing[1]}=16 gives a value"
        return ""

    def _unknown_shape(self) -> str:
        """Return a line on an array in shared or local memory whose shape a compiler cannot know; empty if none has."""
        function = next(
            each
            for each in ast.walk(ast.parse(self.function.text))
            if isinstance(each, ast.FunctionDef) and each.name == self.function.name
        )
        changing = {each.arg for each in function.args.args}
        changing |= {each.id for each in ast.walk(function) if isinstance(each, ast.Name) and _is_stored(each)}
        for call in (each for each in ast.walk(function) if isinstance(each, ast.Call)):
            called = ast.unparse(call.func)
            shape = next((each.value for each in call.keywords if each.arg == "shape"), next(iter(call.args), None))
            names = [each.id for each in ast.walk(shape) if isinstance(each, ast.Name)] if shape is not None else []
            if called.endswith(("shared.array", "local.array")) and (unknown := changing.intersection(names)):
                line = call.lineno - self.function.lines_before
                need = f"a shape of literals or constants of the module, and {sorted(unknown)[0]} is neither"
                return f"line {line}: {called} needs {need}\n"
        return ""

    def _type(self, types: Any, argument: Argument, problem: Problem) -> Any:
        if isinstance(argument, Scalar):
            return getattr(types, argument.type)
        if argument not in MATRICES:
            return types.int64
        element = problem.output if argument == "C" else problem.dtype
        by_columns = (argument in problem.column_major) != (argument in self.transposed)
        layout = ("F" if by_columns and self.axes[str(argument)] == 2 else "C") if self.contiguous else "A"
        return types.Array(getattr(types, element), self.axes[str(argument)], layout)


@contextmanager
def _device_of(capability: tuple[int, int]) -> Iterator[None]:
    """Give the body a current device of a compute capability, for which Numba compiles device functions."""
    from numba.cuda import dispatcher

    before = dispatcher.get_current_device
    dispatcher.get_current_device = lambda: SimpleNamespace(compute_capability=capability)
    try:
        yield
    finally:
        dispatcher.get_current_device = before


def _is_stored(name: ast.Name) -> bool:
    return isinstance(name.ctx, ast.Store)


@dataclass(frozen=True)
class ArrayLaunch(LaunchText):
    """A launch rule as text, whose arguments are Numba's arrays."""

    parameters: tuple[Argument, ...] = ()
    axes: Mapping[str, int] | None = None
    transposed: frozenset[str] = frozenset()

    def __call__(self, problem: Problem, config: Config, device: DeviceProperties) -> Launch:
        passed = [part for each in self.parameters for part in self._parts(each, problem)]
        return replace(super().__call__(problem, config, device), arguments=tuple(passed))

    def _parts(self, argument: Argument, problem: Problem) -> list[Argument]:
        """Return the numbers that describe an array: two that are unused, sizes, data, its shape and strides."""
        if argument not in MATRICES:
            return [Scalar(argument, "int64") if isinstance(argument, str) else argument]
        matrix = str(argument)
        sides, is_transposed = problem.shape(matrix), matrix in self.transposed
        rows, columns = sides[::-1] if is_transposed else sides
        itemsize = dtype_named(problem.output if matrix == "C" else problem.dtype).itemsize
        shape, strides = [rows, columns], [columns * itemsize, itemsize]
        if (matrix in problem.column_major) != is_transposed:
            strides = [itemsize, rows * itemsize]
        if (self.axes or {}).get(matrix) == 1:
            shape, strides = [rows * columns], [itemsize]
        sizes = [Scalar(each, "int64") for each in (rows * columns, itemsize)]
        unused = [Scalar(0, "uint64")] * 2
        return [*unused, *sizes, matrix, *(Scalar(each, "int64") for each in (*shape, *strides))]
