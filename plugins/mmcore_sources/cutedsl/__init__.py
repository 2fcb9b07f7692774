"""CuTe DSL kernels: a ``@cute.kernel`` function, compiled without a GPU and launched by mmcore.

- ``build`` compiles a kernel that a package declares.
- ``functions`` finds the kernels of Python files, with the ``@cute.jit`` functions that launch them.
- ``jit_build`` compiles such a function for tensors of a product's shapes.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from mmcore.hookspecs import hookimpl
from mmcore_sources.cutedsl.build import cutedsl_kernel

if TYPE_CHECKING:
    from mmcore_sources.python_file.found import FoundKernel
    from mmcore_sources.python_file.program import PythonProgram

__all__ = ["cutedsl_kernel"]


@hookimpl
def mmcore_python_kernels(program: PythonProgram) -> Iterable[FoundKernel]:
    """Return the ``@cute.kernel`` functions of a Python file, and its ``@ct.kernel`` functions, which are refused."""
    if "cutlass" not in program.text and "cuda.tile" not in program.text:
        return []
    from mmcore_sources.cutedsl.functions import kernels_of_cute, kernels_of_cutile

    return [*kernels_of_cute(program), *kernels_of_cutile(program)]
