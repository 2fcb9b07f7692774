"""Compilation of a ``@cute.jit`` function of a file, with the kernel that it launches, for tensors of known shapes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from mmcore.compile.compiled_module import Binary
from mmcore.errors import CompileError, CompilerMissing, InvalidKernel
from mmcore.kernel.arguments import MATRICES
from mmcore.kernel.configs import Config
from mmcore.kernel.problem import Problem
from mmcore_sources.cutedsl.build import COLOUR, NAMES, TYPES
from mmcore_sources.python_file.extraction import FunctionInFile

_BLOCK = re.compile(r"\.reqntid (\d+)(?:, (\d+))?(?:, (\d+))?")
_CONSTANT = re.compile(r"(%\w+) = llvm\.mlir\.constant\((\d+) : i64\)")
_POINTER_BYTES = 8


@dataclass(frozen=True)
class JitBuild:
    """The build rule of a ``@cute.jit`` function.

    Attributes:
        function: the function.
        parameters: by name, the matrix that a parameter is, "stream", or the value of a constant.
        kernel: the name of the kernel that it launches.
    """

    function: FunctionInFile
    parameters: Mapping[str, Any]
    kernel: str
    names: ClassVar = NAMES

    def __call__(self, problem: Problem, config: Config, architecture: str) -> Binary:
        """Return the code for an architecture such as "90a".

        Raises InvalidKernel for a kernel that takes more than three tensors of known shapes, CompileError if the DSL
        rejects the function, or CompilerMissing.
        """
        try:
            from cutlass import cute
        except ImportError as error:
            how = "python -m pip install 'mmcore-cuda[cutedsl]' brings it"
            raise CompilerMissing(f"CuTe DSL cannot be imported; {how} ({error})") from None
        import tempfile
        import warnings

        named = f"CuTe DSL does not compile {self.function.name} of {self.function.path.name} for sm_{architecture}"
        try:
            # The DSL only returns code that it also writes to files.
            with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(action="ignore"):
                kept = f"--generate-line-info --keep-ptx --keep-cubin --dump-dir {folder}"
                function = self.function.load(("jit",))
                examples = [_example(each, problem) for each in self.parameters.values()]
                compiled = cute.compile(function, *examples, options=f"--gpu-arch sm_{architecture} {kept}")
                ptx, cubin = compiled.artifacts.PTX, compiled.artifacts.CUBIN
                shared_bytes = _shared_bytes(str(compiled.ir_module)) if ".extern .shared" in ptx else 0
        except CompileError as error:
            raise type(error)(f"{named}:\n{error}") from None
        except Exception as error:  # the errors of its compiler's stages have no common class
            raise CompileError(f"{named}:\n{type(error).__name__}: {COLOUR.sub('', str(error))}") from None
        self._check(ptx, config)
        return Binary(cubin, ptx, shared_bytes)

    def _check(self, ptx: str, config: Config) -> None:
        """Raise InvalidKernel for a kernel that mmcore would launch in another way than the function does."""
        from mmcore_cuda.binaries.code import read_ptx

        functions = list(read_ptx(ptx).functions.values())
        if len(functions) != 1 or functions[0].parameter_bytes != (_POINTER_BYTES,) * len(MATRICES):
            raise InvalidKernel(f"{self.kernel} takes more than three tensors, which mmcore cannot pass")
        block = tuple(int(each or 1) for each in found.groups()) if (found := _BLOCK.search(ptx)) else None
        if block is not None and block != (*config.block, 1, 1)[:3]:
            raise InvalidKernel(f"{self.function.name} launches blocks of {'×'.join(map(str, block))}; give --block")


def _example(parameter: Any, problem: Problem) -> Any:
    """Return an argument with a parameter's type and layout; its memory is never read."""
    import cutlass
    from cutlass.cute.runtime import make_fake_compact_tensor, make_fake_stream

    if parameter == "stream":
        return make_fake_stream()
    if parameter not in MATRICES:
        return parameter
    element = problem.output if parameter == "C" else problem.dtype
    shape, by_columns = problem.shape(parameter), parameter in problem.column_major
    # Matrices begin at multiples of 256 bytes. One by columns is a tensor of its transposed shape, by rows.
    shape = shape[::-1] if by_columns else shape
    return make_fake_compact_tensor(getattr(cutlass, TYPES[element]), shape, stride_order=(1, 0), assumed_align=16)


def _shared_bytes(module: str) -> int:
    """Return the dynamic shared memory of the one launch in a host module: the constant of 64 bits that it stores."""
    constants = [(name, int(value)) for name, value in _CONSTANT.findall(module)]
    sizes = {value for name, value in constants if value and re.search(rf"llvm\.store {name}, [^\n]*: i64", module)}
    if len(sizes) != 1:
        raise InvalidKernel("its dynamic shared memory is unknown")
    return sizes.pop()
