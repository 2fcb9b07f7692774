"""The kernel that a command runs, among those in a Python file, and warnings about its launch."""

from __future__ import annotations

import ast
import contextlib
import os
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from mmcore.errors import InvalidKernel, NoKernel, SeveralKernels, UnknownValue
from mmcore.files import read_text
from mmcore.plugins import instance_of
from mmcore.registry import registry
from mmcore_sources.cuda_file.inference.infer import Inferred
from mmcore_sources.cuda_file.inference.notes import Note
from mmcore_sources.cuda_file.syntax import DoesNotCompile
from mmcore_sources.python_file.cuda_strings import unread_source
from mmcore_sources.python_file.found import FoundKernel
from mmcore_sources.python_file.imported_names import with_imported_names
from mmcore_sources.python_file.local_modules import ImportingFile
from mmcore_sources.python_file.notebook import read_notebook
from mmcore_sources.python_file.program import PythonProgram, parse_program

_LONGEST_NAME = 200


def inferred_from_python(path: Path, text: str, given: Mapping[str, Any]) -> Inferred:
    """Return the declaration of the kernel in a Python file.

    Raises InvalidKernel if the file is not Python, or has no kernel, or several among which ``entry`` must choose.
    """
    program = with_imported_names(python_program(path, text))
    kernels = found_kernels(program)
    kernel, why = _chosen(program, kernels, str(given.get("entry", "")))
    try:
        inferred = kernel.declare(given)
    except InvalidKernel as error:
        kind = DoesNotCompile if isinstance(error, DoesNotCompile) else InvalidKernel
        raise kind(program.in_cells(str(error))) from None
    note = Note("function", kernel.name, f"{kernel.language}, {why}", "--entry")
    notes = [note, *(each._replace(why=program.in_cells(each.why)) for each in inferred.notes)]
    unusual = [
        replace(
            each,
            evidence=program.in_cells(each.evidence),
            lacks=program.in_cells(each.lacks),
            line=each.line - program.lines_before(each.line) if each.line else 0,
            advice=program.in_cells(each.advice),
        )
        for each in inferred.unusual
    ]
    warnings = tuple(map(program.in_cells, inferred.warnings))
    return replace(inferred, notes=tuple(notes), unusual=tuple(unusual), warnings=warnings)


def found_kernels(program: PythonProgram) -> dict[str, FoundKernel]:
    """Return the kernels of a program by name; of those with one name, the last."""
    every = registry().answers("mmcore_python_kernels", _answer, program=program)
    return {found.name: found for answer in every for found in answer}


def _answer(answer: Iterable[FoundKernel]) -> list[FoundKernel]:
    return [*map(instance_of(FoundKernel), answer)]


def python_program(path: Path, text: str) -> PythonProgram:
    """Return the program in a Python file or a notebook. Raises InvalidKernel if it has none."""
    if path.suffix == ".ipynb":
        return read_notebook(path, text)
    try:
        return parse_program(path, text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        where = f" in line {error.lineno}: {error.msg}" if isinstance(error, SyntaxError) else f": {error}"
        raise DoesNotCompile(f"{path.name} is not Python{where}") from None


def _chosen(program: PythonProgram, kernels: Mapping[str, FoundKernel], entry: str) -> tuple[FoundKernel, str]:
    """Return the kernel that a file means, and the reason."""
    path, word = program.path, entry.partition("<")[0].strip()
    if not kernels:
        raise _no_kernel(program)
    if word:
        matching = [found for name, found in kernels.items() if word in (name, name.rpartition("::")[2])]
        if not matching:
            raise InvalidKernel(f"{path.name} has no kernel {word}; it has {', '.join(kernels)}")
        return matching[0], "as given by --entry"
    likely, why = list(kernels.values()), "the file's only kernel"
    for which, fitting in (
        ("that takes three arrays", [found for found in likely if found.is_product]),
        ("that is launched in the file", [found for found in likely if found.is_product and found.launched]),
    ):
        if len(likely) > 1 and fitting:
            likely, why = fitting, f"of {len(kernels)} kernels the one {which}"
    if len(likely) > 1:
        names = [found.name for found in likely]
        raise SeveralKernels(path.name, names, [name for name in kernels if name not in names])
    return likely[0], why


def _no_kernel(program: PythonProgram) -> NoKernel | UnknownValue:
    """Return the error of a program without a kernel, or whose code only a run of it has."""
    name, imported, unread = program.path.name, _module_with_kernels(program), unread_source(program)
    if unread and not imported:
        read = f"{unread} that the program reads or computes when it runs, which mmcore does not do"
        return UnknownValue(f"{name} has no kernel: {read}{_named_file(program)}")
    return NoKernel(
        f"{name} has no kernel: neither a string with a __global__ function nor a function of a kernel language, such "
        f"as @cuda.jit{_named_file(program)}{imported}"
    )


def _named_file(program: PythonProgram) -> str:
    """Return a command for the .cu file beside the program that a string of it names; empty if there is none."""
    for node, _ in program.scoped:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.endswith((".cu", ".cuh")):
            file = program.path.parent / node.value.lstrip("/")  # behind os.path.dirname(__file__)
            if len(node.value) < _LONGEST_NAME and file.is_file():
                return f"; it names a file, so try mmcore run {shlex.quote(os.path.relpath(file))}"
    return ""


def _module_with_kernels(program: PythonProgram) -> str:
    """Return a command for the first module beside the program that has kernels; empty if none has."""
    file = ImportingFile(program.path, program.path.parent)
    modules = dict.fromkeys(each.module for node, _ in program.scoped for each in file.local_imports(node))
    for module in modules:
        with contextlib.suppress(OSError, ValueError, InvalidKernel):
            if found_kernels(with_imported_names(python_program(module, read_text(module)))):
                return f"; it imports {module.name}, so try mmcore run {shlex.quote(os.path.relpath(module))}"
    return ""
