"""Compilation of a ``@triton.jit`` function to PTX and machine code, as Triton's launch does it, without a GPU."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from mmcore.compile.compiled_module import Binary
from mmcore.errors import CompileError, CompilerMissing, InvalidKernel
from mmcore.kernel.arguments import MATRICES, Argument, Scalar, Workspace, scalar_value
from mmcore.kernel.configs import BLOCK, Config, Space
from mmcore.kernel.declaration import Kernel
from mmcore.kernel.problem import Problem
from mmcore_emulator.ptx.asm_lines import with_statement_lines
from mmcore_sources.python_file.changes import changed_functions, syntax_tree
from mmcore_sources.python_file.extraction import FunctionInFile
from mmcore_sources.python_function import imported, source_of
from mmcore_sources.triton.edits import TritonEdits

_ELEMENTS = {
    "float16": "fp16",
    "bfloat16": "bf16",
    "float32": "fp32",
    "float64": "fp64",
    "tf32": "fp32",
    "float8_e4m3fn": "fp8e4nv",
    "float8_e5m2": "fp8e5",
    "int8": "i8",
    "uint8": "u8",
    "int32": "i32",
}
_NUMBERS = {f"{sign}int{bits}": f"{sign or 'i'}{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)} | _ELEMENTS
# Triton's attribute of multiples of 16, which allow wide loads.
_DIVISIBLE, _BY_16 = 16, [["tt.divisibility", 16]]
_WARP = 32


@dataclass(frozen=True)
class TritonBuild:
    """The build rule of a Triton kernel."""

    function: Any  # the ``@triton.jit`` function, or "module:function"
    arguments: tuple[Argument | int, ...]  # of parameters other than ``tl.constexpr``; whole numbers are compiled in
    options: tuple[tuple[str, Any], ...] = ()  # options of Triton's compiler for every config, by name
    names: ClassVar = {"__syncthreads()": "tl.debug_barrier()"}

    def __call__(self, problem: Problem, config: Config, architecture: str) -> Binary:
        """Return the code for an architecture such as "90a".

        Raises InvalidKernel for parameters unlike the declaration's, CompileError if Triton rejects them, or
        CompilerMissing.
        """
        try:
            import triton
            from triton.backends.compiler import GPUTarget
            from triton.compiler import ASTSource
        except ImportError as error:
            how = "python -m pip install 'mmcore-cuda[triton]' brings it"
            raise CompilerMissing(f"Triton cannot be imported; {how} ({error})") from None
        function = imported(self.function)
        values = self._with_heuristics(function, problem, config)
        while not hasattr(function, "params"):  # an object of @triton.heuristics or @triton.autotune
            function = function.fn
        parameters = list(self._parameters(function, problem, config, values))
        named = {parameter.name for parameter in parameters}
        # nvcc contracts a·b + c, too, as Triton up to 3.9 does by default.
        options = {"enable_fp_fusion": True} | dict(self.options)
        options |= {each: config[each] for each in config if each != BLOCK and each not in named}
        source = ASTSource(
            function,
            {parameter.name: parameter.type for parameter in parameters},
            {(number,): each.value for number, each in enumerate(parameters) if each.type == "constexpr"},
            {(number,): _BY_16 for number, each in enumerate(parameters) if each.divisible},
        )
        target = GPUTarget("cuda", int(re.sub(r"\D", "", architecture)), 32)
        try:
            compiled = triton.compile(source, target=target, options=options)
        except triton.TritonError as error:
            raise CompileError(f"Triton does not compile {function.__name__} for sm_{architecture}:\n{error}") from None
        return self._binary(compiled)

    def changed(self, kernel: Kernel) -> Iterator[tuple[Kernel, str]]:
        """Yield changed kernels, each with the change of the function's source in words."""
        if not isinstance(self.function, FunctionInFile):
            return
        tree = syntax_tree(self.function)
        names = [each.arg for each in tree.args.args if "constexpr" not in ast.unparse(each.annotation or each)]
        roles = {name: str(role) for name, role in zip(names, self.arguments, strict=False)}
        for function, what in changed_functions(self.function, TritonEdits(tree, roles)):
            yield replace(kernel, build=replace(self, function=function)), what

    def _with_heuristics(self, function: Any, problem: Problem, config: Config) -> Mapping[str, Any]:
        """Return a config with the values that ``@triton.heuristics`` computes from it and the sizes."""
        rules: list[tuple[str, Any]] = []
        while not hasattr(function, "params"):
            rules += getattr(function, "values", {}).items()
            function = function.fn
        names = [parameter.name for parameter in function.params if not parameter.is_constexpr]
        sizes = {name: _number(each, problem, config) for name, each in zip(names, self.arguments, strict=False)}
        values = {**sizes, **{name: config[name] for name in config}}
        values |= {name: rule(values) for name, rule in rules}
        return {name: value for name, value in values.items() if name not in sizes}

    def _parameters(
        self, function: Any, problem: Problem, config: Config, values: Mapping[str, Any]
    ) -> Iterator[_Parameter]:
        """Yield Triton's description of each parameter; ``values`` has those of ``tl.constexpr``."""
        arguments = iter(self.arguments)
        for parameter in function.params:
            if parameter.is_constexpr:
                if parameter.name not in values:
                    raise InvalidKernel(f"{parameter.name}, a tl.constexpr of {function.__name__}, is in no config")
                yield _Parameter(parameter.name, "constexpr", _constant(values[parameter.name]))
                continue
            argument = next(arguments, None)
            if argument is None:
                raise InvalidKernel(f"arguments= has nothing for {parameter.name}, a parameter of {function.__name__}")
            yield _parameter(parameter.name, argument, problem, config)
        if more := list(arguments):
            raise InvalidKernel(f"arguments= has {more[0]!r}, for which {function.__name__} has no parameter")

    def _binary(self, compiled: Any) -> Binary:
        """Return the code, with the facts about it that a launch needs."""
        from mmcore_cuda.binaries.code import read_ptx

        if getattr(compiled.metadata, "global_scratch_size", 0):
            raise InvalidKernel("it needs device memory of Triton's own (global scratch), which mmcore does not give")
        if getattr(compiled.metadata, "num_ctas", 1) != 1:
            raise InvalidKernel("num_ctas must be 1: mmcore does not launch Triton's clusters")
        ptx = with_statement_lines(compiled.asm["ptx"])
        (function,) = read_ptx(ptx).functions.values()
        # After the declared parameters come pointers to memory for instrumentation and scratch.
        further = len(function.parameter_bytes) - sum(not isinstance(each, int) for each in self.arguments)
        return Binary(compiled.asm["cubin"], ptx, compiled.metadata.shared, max(0, further))


@dataclass(frozen=True)
class _Parameter:
    """A parameter: its type as Triton writes it, its value if compiled in, and whether 16 divides it."""

    name: str
    type: str
    value: Any = None
    divisible: bool = False


def _number(argument: Argument | int, problem: Problem, config: Config) -> Any:
    """Return the value of an argument that is a number; None for others."""
    if isinstance(argument, int):
        return argument
    if argument in MATRICES or not isinstance(argument, str | Scalar):
        return None
    return scalar_value(Scalar(argument) if isinstance(argument, str) else argument, problem, config)


def _constant(value: Any) -> Any:
    """Return the value of a ``tl.constexpr``; an element type is named, as "tl.float32"."""
    if isinstance(value, str) and value.startswith("tl."):
        from triton import language

        return getattr(language, value.removeprefix("tl."), value)
    return value


def _parameter(name: str, argument: Argument | int, problem: Problem, config: Config) -> _Parameter:
    if isinstance(argument, int):
        return _Parameter(name, "constexpr", argument)
    if argument in MATRICES:
        # Matrices begin at multiples of 256 bytes.
        element = problem.output if argument == "C" else problem.dtype
        return _Parameter(name, f"*{_ELEMENTS[element]}", divisible=True)
    if isinstance(argument, Workspace):
        return _Parameter(name, "*fp32", divisible=True)
    if not isinstance(argument, str | Scalar):
        raise InvalidKernel(f"{name} cannot be a tensor map, whose parameters Triton lays out itself")
    scalar = Scalar(argument) if isinstance(argument, str) else argument
    number = scalar_value(scalar, problem, config)
    return _Parameter(name, _NUMBERS[scalar.type], divisible="int" in scalar.type and number % _DIVISIBLE == 0)


def triton_kernel(
    *,
    function: Any,
    arguments: Sequence[Argument | int],
    configs: Sequence[Mapping[str, Any]] | Space,
    options: Mapping[str, Any] | None = None,
    **further: Any,
) -> Kernel:
    """Return a kernel that Triton compiles.

    Args:
        function: the ``@triton.jit`` function, or "module:function" to import it only when needed.
        arguments: the arguments of its parameters other than ``tl.constexpr``, in order, as for
            :class:`~mmcore.Kernel`. A whole number is compiled in, such as 1 for the stride between columns.
        configs: by name, the values of its ``tl.constexpr`` parameters, ``num_warps`` (4 by default), ``num_stages``
            and other options of Triton's compiler. The thread block follows from ``num_warps``.
        options: options of Triton's compiler for every config.
        further: as for :class:`~mmcore.Kernel`: ``name``, ``grid``, ``dtype``, ``constraints``, …
    """
    taken = tuple(arguments)
    return Kernel(
        configs=with_block(configs),
        arguments=tuple(each for each in taken if not isinstance(each, int)),
        build=TritonBuild(function, taken, tuple((options or {}).items())),
        **{"source": source_of(function), **further},
    )


def with_block(configs: Sequence[Mapping[str, Any]] | Space) -> Sequence[Mapping[str, Any]] | Space:
    """Return configs with the thread block that follows from ``num_warps``."""
    block = {"block": lambda config: (_WARP * config.num_warps,)}
    if isinstance(configs, Space):
        return replace(configs, parameters={"num_warps": (4,), **configs.parameters, **block})
    return [{**config, "num_warps": config.get("num_warps", 4), **block} for config in configs]
