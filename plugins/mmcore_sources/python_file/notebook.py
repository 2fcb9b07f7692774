"""Notebooks: the Python in their code cells as one program, and cells of CUDA C++."""

from __future__ import annotations

import ast
import functools
import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from mmcore import files
from mmcore.cli.notebook import is_python
from mmcore.errors import NoKernel
from mmcore_cuda.cuda_source.program import read_program
from mmcore_sources.cuda_file.files import headers_of
from mmcore_sources.cuda_file.host_bugs.find import host_bugs
from mmcore_sources.cuda_file.inference.choice import is_product
from mmcore_sources.cuda_file.inference.infer import Inferred, infer
from mmcore_sources.cuda_file.syntax import compiled_first, refuse_syntax_errors
from mmcore_sources.python_file.defaults import with_defaults
from mmcore_sources.python_file.found import FoundKernel
from mmcore_sources.python_file.launch_bugs import placed
from mmcore_sources.python_file.program import Cell, PythonProgram

_FIRST = re.compile(r"\s*(?:%%(?:time|timeit|capture|prun)\b[^\n]*\n\s*)*")  # magics of the next cell magic
_OF_CUDA = re.compile(r"%%(?:cu|cuda\w*|nvcc\w*)\b|%%(?:writefile|file)\s+(?:-a\s+)?\S+\.cuh?\b")
_WRITTEN = re.compile(r"%%(?:writefile|file)[ \t]+(-a[ \t]+)?([\w.-]+\.(?:cuh|h|hpp|cu))[ \t]*\n")
_TIMED = re.compile(r"^(\s*)%time(?:it)?[ \t]+(?:-\w+[ \t]*\d*[ \t]+)*(?=\S)", re.MULTILINE)
_MAGIC = re.compile(r"^(\s*)[%!?].*$", re.MULTILINE)


def read_notebook(path: Path, text: str) -> PythonProgram:
    """Return the program in a notebook. Raises InvalidKernel if the file is not a notebook.

    Cells that are not Python are left out, and so are magics and commands of the shell.
    """
    cells = tuple(_cells(path, text))
    plain = "\n".join(_python(each) for each in cells)
    return PythonProgram(path, plain, with_defaults(ast.parse(plain)), cells)


def _cells(path: Path, text: str) -> Iterator[Cell]:
    try:
        content = json.loads(text)
        listed = content["cells"] if "cells" in content else content["worksheets"][0]["cells"]
        codes = ["".join(each.get("source", each.get("input", ""))) for each in listed if each["cell_type"] == "code"]
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError):
        raise NoKernel(f"{path.name} is not a notebook") from None
    first = 1
    for number, code in enumerate(codes, 1):
        yield Cell(number, first, code, _is_cuda(_FIRST.sub("", code, count=1)))
        first += code.count("\n") + 1


def _is_cuda(code: str) -> bool:
    """Return whether a cell is CUDA C++; mmcore's own magic takes both languages."""
    own = code.startswith("%%mmcore") and not is_python(code.partition("\n")[2])
    return own or _OF_CUDA.match(code) is not None


def without_magics(code: str) -> str:
    """Return the text of a cell of CUDA C++ at its lines, with the magics at its beginning as empty lines."""
    first = _FIRST.match(code)
    end = first.end() if first is not None else 0
    return "\n" * (code.count("\n", 0, end) + 1) + code[end:].partition("\n")[2]


def _python(cell: Cell) -> str:
    """Return the Python of a cell, without magics and commands of the shell; empty lines if it is not Python.

    A statement after ``%time`` or ``%timeit`` stays.
    """
    text = _MAGIC.sub(r"\1pass", _TIMED.sub(r"\1", cell.text))
    try:
        ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return "\n" * text.count("\n")
    return "\n" * text.count("\n") if cell.is_cuda else text


def kernels_in_cells(program: PythonProgram) -> Iterable[FoundKernel]:
    """Return the kernels in a notebook's cells of CUDA C++."""
    kernels = []
    for cell in (each for each in program.cells if each.is_cuda):
        text = "\n" * (cell.first_line - 1) + without_magics(cell.text)
        source = read_program(text)
        launched = {launch.name for launch in source.launches}
        for function in source.functions:
            declare = functools.partial(_declared, program, cell, text, function.name)
            used = bool({function.name, function.word} & launched)
            product = is_product(function, source)
            kernels.append(FoundKernel(function.name, "CUDA C++", cell.first_line, declare, product, used))
    return kernels


def _declared(program: PythonProgram, cell: Cell, text: str, name: str, given: Mapping[str, Any]) -> Inferred:
    path = program.placed(cell.first_line)
    options = {**given, "entry": given.get("entry") or name}
    alone, folders = program.shifted(text, cell.first_line), _header_folders(program)
    search = (*given.get("options", ()), *(f"-I{folder}" for folder in folders))
    searched = {**options, "options": search}
    refuse_syntax_errors(path, alone, searched)
    headers = [(each.name, content) for each, content in headers_of(path, alone, search).items()]
    with compiled_first(path, alone, searched):
        inferred = infer(path, text, options, headers)
    attributes = {**inferred.attributes, "text": alone, "source": path, "include": folders}
    bugs = placed(program, host_bugs(path.name, text, inferred, options))
    return replace(inferred, attributes=attributes, bugs=bugs)


def _header_folders(program: PythonProgram) -> tuple[str, ...]:
    """Return the folder in the cache with the headers that cells write; none if no cell writes one."""
    headers: dict[str, str] = {}
    for cell in program.cells:
        if written := _WRITTEN.match(cell.text.lstrip()):
            text = cell.text.lstrip()[written.end() :]
            headers[written[2]] = headers.get(written[2], "") + text if written[1] else text
    if not headers:
        return ()
    digest = hashlib.sha256(json.dumps(headers).encode()).hexdigest()[:16]
    folder = files.cache_directory() / "notebooks" / digest
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in headers.items():
        if not (folder / name).exists():
            files.replace(folder / name, text.encode())
    return (str(folder),)
