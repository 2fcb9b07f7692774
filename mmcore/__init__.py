"""mmcore: a registry of CUDA matrix-product kernels that are verified before they are timed, with or without a GPU.

Plugins import their declarations from here. So are :func:`kernels`, :func:`run`, :func:`matmul` and
:func:`best_kernel`. Importing mmcore imports neither CUDA nor numpy; running something does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mmcore.api import kernels, run
    from mmcore.arrays.matmul import best_kernel, matmul
    from mmcore.cell import Cell
    from mmcore.compile.compiled_module import Binary
    from mmcore.errors import (
        CompileError,
        CompilerMissing,
        ConstraintViolation,
        DeviceError,
        DeviceLost,
        DuplicateName,
        InvalidBlock,
        InvalidConfig,
        InvalidKernel,
        InvalidProblem,
        KernelError,
        MmcoreError,
        NoDevice,
        UnknownKernel,
        Unsupported,
        UnsupportedInstruction,
    )
    from mmcore.hookspecs import hookimpl, hookspec
    from mmcore.kernel.arguments import Scalar, Struct, TensorMap, Workspace
    from mmcore.kernel.configs import Config, Space
    from mmcore.kernel.constraints import (
        BlockAmong,
        Constraint,
        EqualSizes,
        FlatBlock,
        Int32Index,
        Multiple,
        Square,
        SquareBlock,
    )
    from mmcore.kernel.declaration import Kernel
    from mmcore.kernel.geometry import Dim3, ceil_div
    from mmcore.kernel.launch import Launch
    from mmcore.kernel.problem import Problem
    from mmcore.kernel.properties import DeviceProperties
    from mmcore.kernel.tiling import Tiling, named_tiling
    from mmcore.result import Result

    __version__: str

__all__ = [
    "Binary", "BlockAmong", "Cell", "CompileError", "CompilerMissing", "Config", "Constraint", "ConstraintViolation",
    "DeviceError", "DeviceLost", "DeviceProperties", "Dim3", "DuplicateName", "EqualSizes", "FlatBlock", "Int32Index",
    "InvalidBlock", "InvalidConfig", "InvalidKernel", "InvalidProblem", "Kernel", "KernelError", "Launch",
    "MmcoreError", "Multiple", "NoDevice", "Problem", "Result", "Scalar", "Space", "Square", "SquareBlock", "Struct",
    "TensorMap", "Tiling", "UnknownKernel", "Unsupported", "UnsupportedInstruction", "Workspace",
    "best_kernel", "ceil_div", "hookimpl", "hookspec", "kernels", "matmul", "named_tiling", "run",
]  # fmt: skip


def load_ipython_extension(ipython: Any) -> None:
    """Add ``%mmcore`` and ``%%mmcore`` to IPython: ``%load_ext mmcore``."""
    from mmcore.cli.notebook import add_magics

    add_magics(ipython)


# Importing mmcore imports none of them, so that the command is there at once; the modules that import numpy come last.
_MODULES = (
    *("errors", "hookspecs", "kernel.arguments", "kernel.configs", "kernel.constraints", "kernel.declaration"),
    *("kernel.geometry", "kernel.properties", "kernel.tiling", "compile.compiled_module", "cell", "result", "api"),
    "arrays.matmul",
)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]


if not TYPE_CHECKING:  # a type checker is to find misspelt names

    def __getattr__(name: str) -> Any:
        if name == "__version__":
            from importlib.metadata import version

            return version("mmcore-cuda")
        if name not in __all__:
            raise AttributeError(f"module 'mmcore' has no attribute {name!r}")
        from importlib import import_module

        modules = (import_module(f"mmcore.{module}") for module in _MODULES)
        return next(getattr(module, name) for module in modules if hasattr(module, name))
