"""Compilation of a ``@cute.kernel`` function to PTX and machine code."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from mmcore.compile.compiled_module import Binary
from mmcore.errors import CompileError, CompilerMissing, InvalidKernel
from mmcore.kernel.arguments import MATRICES, Argument, Scalar, Workspace
from mmcore.kernel.configs import Config
from mmcore.kernel.declaration import Kernel
from mmcore.kernel.problem import Problem
from mmcore_sources.python_function import imported, source_of

COLOUR = re.compile(r"\x1b\[[0-9;]*m")
# The DSL's names of types.
TYPES = {
    **{f"{sign}int{bits}": f"{'Ui' if sign else 'I'}nt{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)},
    "float16": "Float16",
    "bfloat16": "BFloat16",
    "float32": "Float32",
    "float64": "Float64",
    "tf32": "TFloat32",
    "float8_e4m3fn": "Float8E4M3FN",
    "float8_e5m2": "Float8E5M2",
}
NAMES = {"__syncthreads()": "cute.arch.sync_threads()", "__syncwarp()": "cute.arch.sync_warp()"}
"""The DSL's names of barriers, by CUDA C++'s."""


@dataclass(frozen=True)
class CuteBuild:
    """The build rule of a CuTe DSL kernel."""

    function: Any  # the ``@cute.kernel`` function, or "module:function"
    arguments: tuple[Argument, ...]  # the arguments of its first parameters; the others are compiled in
    shared_bytes: Callable[[Config], int] | None  # dynamic shared memory of a block, in bytes
    names: ClassVar = NAMES

    def __call__(self, problem: Problem, config: Config, architecture: str) -> Binary:
        """Return the code for an architecture such as "90a".

        Raises InvalidKernel for parameters unlike the declaration's, CompileError if the DSL rejects them, or
        CompilerMissing.
        """
        try:
            import cutlass
            from cutlass import cute
        except ImportError as error:
            how = "python -m pip install 'mmcore-cuda[cutedsl]' brings it"
            raise CompilerMissing(f"CuTe DSL cannot be imported; {how} ({error})") from None
        import tempfile

        from mmcore_sources.cutedsl.host import launch_once

        function = imported(self.function)
        constants = self._constants(function, config)
        examples = [_example(cutlass, argument, problem) for argument in self.arguments]
        try:
            # The DSL only returns code that it also writes to files.
            with tempfile.TemporaryDirectory() as folder:
                kept = f"--generate-line-info --keep-ptx --keep-cubin --dump-dir {folder}"
                options = f"--gpu-arch sm_{architecture} {kept}"
                compiled = cute.compile(launch_once, function, config.block, constants, *examples, options=options)
                artifacts = compiled.artifacts
        except Exception as error:  # the errors of its compiler's stages have no common class
            named = f"CuTe DSL does not compile {function.__name__} for sm_{architecture}"
            raise CompileError(f"{named}:\n{type(error).__name__}: {COLOUR.sub('', str(error))}") from None
        shared_bytes = self.shared_bytes(config) if self.shared_bytes else 0
        if not shared_bytes and ".extern .shared" in artifacts.PTX:
            raise InvalidKernel(f"{function.__name__} uses dynamic shared memory; give its size with shared_bytes=")
        return Binary(artifacts.CUBIN, artifacts.PTX, shared_bytes)

    def _constants(self, function: Any, config: Config) -> dict[str, Any]:
        import inspect  # slow to import, and not needed to list kernels

        names = list(inspect.signature(inspect.unwrap(function)).parameters)
        count = len(self.arguments)
        if count > len(names):
            raise InvalidKernel(f"{function.__name__} has {len(names)} parameters; arguments= has {count}")
        for name in names[count:]:
            if name not in config:
                raise InvalidKernel(f"{name}, a parameter of {function.__name__}, is no argument and in no config")
        return {name: config[name] for name in names[count:]}


def _example(cutlass: Any, argument: Argument, problem: Problem) -> Any:
    """Return any value of the argument's type; the code does not depend on it."""
    from cutlass.cute import AddressSpace
    from cutlass.cute.runtime import make_ptr

    if argument in MATRICES or isinstance(argument, Workspace):
        element = {"C": problem.output}.get(str(argument), problem.dtype)
        element = "float32" if isinstance(argument, Workspace) else element
        # Matrices begin at multiples of 256 bytes.
        return make_ptr(getattr(cutlass, TYPES[element]), 16, AddressSpace.gmem, assumed_align=16)
    if not isinstance(argument, str | Scalar):
        raise InvalidKernel(f"{argument!r} cannot be passed: the DSL makes its tensor maps itself")
    return getattr(cutlass, TYPES["int32" if isinstance(argument, str) else argument.type])(1)


def cutedsl_kernel(
    *, function: Any, arguments: Sequence[Argument], shared_bytes: Callable[[Config], int] | None = None, **further: Any
) -> Kernel:
    """Return a kernel that CuTe DSL compiles.

    Args:
        function: the ``@cute.kernel`` function, or "module:function" to import it only when needed. Its parameters
            after the arguments are ``cutlass.Constexpr``, and get the config's values by name.
        arguments: as for :class:`~mmcore.Kernel`. Matrices are passed as ``cute.Pointer``, sizes as ``Int32``, and a
            :class:`~mmcore.Scalar` as its type.
        shared_bytes: the bytes of a block's shared memory that the function takes from a ``SmemAllocator``, which the
            code does not record. Memory from ``cute.arch.alloc_smem`` is known.
        further: as for :class:`~mmcore.Kernel`: ``name``, ``configs``, ``grid``, ``dtype``, ``constraints``, …
    """
    return Kernel(
        arguments=tuple(arguments),
        build=CuteBuild(function, tuple(arguments), shared_bytes),
        **{"source": source_of(function), **further},
    )
