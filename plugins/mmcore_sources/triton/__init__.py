"""Triton kernels: a ``@triton.jit`` function, compiled without a GPU and launched by mmcore."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from mmcore.hookspecs import hookimpl
from mmcore_sources.triton.build import triton_kernel

if TYPE_CHECKING:
    from mmcore_sources.python_file.found import FoundKernel
    from mmcore_sources.python_file.program import PythonProgram

__all__ = ["triton_kernel"]


@hookimpl
def mmcore_python_kernels(program: PythonProgram) -> Iterable[FoundKernel]:
    """Return the ``@triton.jit`` functions of a Python file."""
    if "triton" not in program.text:
        return []
    from mmcore_sources.triton.functions import kernels_of_triton

    return kernels_of_triton(program)
