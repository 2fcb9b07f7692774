"""Numba kernels of Python files: ``@cuda.jit`` functions, compiled without a GPU and launched by mmcore.

- ``functions`` finds them, and declares each from a ``sketch`` of it in CUDA C++ and its ``array_types``.
- ``build`` compiles one by itself: the file is not run.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from mmcore.hookspecs import hookimpl

if TYPE_CHECKING:
    from mmcore_sources.python_file.found import FoundKernel
    from mmcore_sources.python_file.program import PythonProgram


@hookimpl
def mmcore_python_kernels(program: PythonProgram) -> Iterable[FoundKernel]:
    """Return the ``@cuda.jit`` functions of a Python file."""
    if "jit" not in program.text:
        return []
    from mmcore_sources.numba.functions import kernels_of_numba

    return kernels_of_numba(program)
