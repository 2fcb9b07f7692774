"""Kernels in Python files and notebooks, found without running them: ``mmcore run my.py``.

- ``program`` is a file's syntax tree. ``literals`` evaluates its strings, ``arrays`` the types of its arrays.
- ``host_text`` translates the launches in Python into host code, from which ``cuda_file`` infers as usual.
- ``cuda_strings`` and ``string_launches`` find CUDA C++ in strings: CuPy, PyCUDA, PyTorch.
- ``notebook`` reads the cells of a notebook.
- ``choice`` chooses the kernel that a command runs, from the answers to the hook ``mmcore_python_kernels``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from mmcore.hookspecs import hookimpl, hookspec

if TYPE_CHECKING:
    from mmcore.result import Result
    from mmcore.verdict import Findings
    from mmcore_sources.python_file.found import FoundKernel
    from mmcore_sources.python_file.program import PythonProgram


@hookspec
def mmcore_python_kernels(program: PythonProgram) -> Iterable[FoundKernel]:  # type: ignore[empty-body]
    """Return the kernels of one language in a Python file or notebook, which is read and never run."""


@hookimpl(specname="mmcore_python_kernels")
def kernels_in_strings(program: PythonProgram) -> Iterable[FoundKernel]:
    """Return the kernels in CUDA C++ within strings."""
    from mmcore_sources.python_file.cuda_strings import kernels_in_strings as found

    return found(program)


@hookimpl(specname="mmcore_python_kernels")
def kernels_in_cells(program: PythonProgram) -> Iterable[FoundKernel]:
    """Return the kernels in a notebook's cells of CUDA C++."""
    if not program.cells:
        return []
    from mmcore_sources.python_file.notebook import kernels_in_cells as found

    return found(program)


@hookimpl
def mmcore_hints(result: Result) -> Iterator[str]:
    """Yield the same warnings for a wrong product, which has no further findings."""
    from mmcore.verdict import warnings_of_source

    yield from (f"warning: {each}" for each in warnings_of_source(result.kernel) if each not in result.warnings)


@hookimpl
def mmcore_findings(result: Result) -> Findings | None:
    """Return warnings about the types and arrays of a file's kernel."""
    from mmcore.verdict import Findings, warnings_of_source

    warnings = warnings_of_source(result.kernel)
    return Findings("", warnings=warnings) if warnings else None
