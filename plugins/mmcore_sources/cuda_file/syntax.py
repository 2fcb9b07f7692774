"""Syntax errors of a file, which are reported before anything is inferred from it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mmcore.errors import InvalidKernel, MmcoreError
from mmcore_cuda.cuda_source.program import read_program
from mmcore_cuda.nvrtc.cuda_headers import cuda_headers
from mmcore_cuda.nvrtc.source_compilation import SourceRejected, compile_source

_ARCHITECTURE = "90"
_SYNTAX = re.compile(r": error: (?:expected |unrecognized token|missing |extra text|this declaration has no storage)")


def refuse_syntax_errors(path: Path, text: str, given: Mapping[str, Any]) -> None:
    """Raise InvalidKernel with the compiler's messages if a file of CUDA C++ has a syntax error.

    Only a file that the grammar of CUDA C++ does not accept is compiled for this.
    """
    program = read_program(text)
    if not program.error_line or not (program.functions or path.suffix == ".cu"):
        return
    macros = {**given.get("defines", {}), **given.get("parameters", {})}
    options = (f"-arch=sm_{_ARCHITECTURE}", "-std=c++17", *(f"-D{name}={value}" for name, value in macros.items()))
    options += (*given.get("options", ()), *cuda_headers().options)
    try:
        compile_source(path.name, path, text, options, ())
    except SourceRejected as rejected:
        if _SYNTAX.search(rejected.reason):
            raise InvalidKernel(rejected.reason.rstrip()) from None
    except MmcoreError:
        return  # there is no compiler
