"""mmcore: a registry of CUDA matrix-product kernels that are verified before they are timed, on a GPU or an emulator.

What a plugin declares is imported from here; so are :func:`kernels`, :func:`run`,
:func:`matmul`, :func:`profile` and :func:`check`. Importing mmcore
imports neither CUDA nor numpy; running something does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mmcore.errors import (
    CompileError,
    CompilerMissing,
    ConflictingKernels,
    ConflictingSweeps,
    DeviceFault,
    DeviceLost,
    InvalidBlock,
    InvalidKernel,
    InvalidProblem,
    InvalidSweep,
    KernelFault,
    MmcoreError,
    NoDevice,
    Refused,
    UnknownCapability,
    UnknownKernel,
    UnknownSweep,
)
from mmcore.hookspecs import hookimpl
from mmcore.planning.constraints import (
    BlockAmong,
    Constraint,
    FlatBlock,
    Int32Index,
    Multiple,
    Square,
    SquareBlock,
)
from mmcore.planning.geometry import Dim3, ceil_div
from mmcore.planning.kernel import Kernel
from mmcore.planning.launch import Launch, Scalar, TensorMap, Workspace
from mmcore.planning.limits import Limits
from mmcore.planning.problem import Problem
from mmcore.sweeping.sweep import Sweep

if TYPE_CHECKING:
    from mmcore.analysis import check, profile
    from mmcore.api import kernels, matmul, run
    from mmcore.checking.check import Check
    from mmcore.outcome import Outcome
    from mmcore.profiling.profile import Profile

__all__ = [
    "BlockAmong",
    "Check",
    "CompileError",
    "CompilerMissing",
    "ConflictingKernels",
    "ConflictingSweeps",
    "Constraint",
    "DeviceFault",
    "DeviceLost",
    "Dim3",
    "FlatBlock",
    "Int32Index",
    "InvalidBlock",
    "InvalidKernel",
    "InvalidProblem",
    "InvalidSweep",
    "Kernel",
    "KernelFault",
    "Launch",
    "Limits",
    "MmcoreError",
    "Multiple",
    "NoDevice",
    "Outcome",
    "Problem",
    "Profile",
    "Refused",
    "Scalar",
    "Square",
    "SquareBlock",
    "Sweep",
    "TensorMap",
    "UnknownCapability",
    "UnknownKernel",
    "UnknownSweep",
    "Workspace",
    "ceil_div",
    "check",
    "hookimpl",
    "kernels",
    "matmul",
    "profile",
    "run",
]

_LAZY = {
    "Check": "mmcore.checking.check",
    "Outcome": "mmcore.outcome",
    "Profile": "mmcore.profiling.profile",
    "check": "mmcore.analysis",
    "kernels": "mmcore.api",
    "matmul": "mmcore.api",
    "profile": "mmcore.analysis",
    "run": "mmcore.api",
}


def __dir__() -> list[str]:
    return [*__all__, "__version__"]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("mmcore")
    if name not in _LAZY:
        raise AttributeError(f"module 'mmcore' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_LAZY[name]), name)
