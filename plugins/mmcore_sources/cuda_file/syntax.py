"""Errors of the compiler, which are reported before anything is asked about a file."""

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
_TO_DEFINE = "--define NAME=VALUE"  # in the reason of a source that lacks a macro, which an option can define


def refuse_syntax_errors(path: Path, text: str, given: Mapping[str, Any]) -> None:
    """Raise InvalidKernel with the compiler's messages if a file of CUDA C++ has a syntax error.

    Only a file that the grammar of CUDA C++ does not accept is compiled for this.
    """
    if read_program(text).error_line and _SYNTAX.search(reason := rejection(path, text, given)):
        raise InvalidKernel(reason)


def refuse_errors(path: Path, text: str, given: Mapping[str, Any]) -> None:
    """Raise InvalidKernel with the compiler's messages if a file does not compile, whatever is defined for it."""
    reason = rejection(path, text, given)
    if reason and _TO_DEFINE not in reason:
        raise InvalidKernel(reason)


def rejection(path: Path, text: str, given: Mapping[str, Any]) -> str:
    """Return the compiler's reason against a file; empty if it compiles, there is no compiler, or it is no CUDA C++."""
    if not (read_program(text).functions or path.suffix == ".cu"):
        return ""
    macros = {**given.get("defines", {}), **given.get("parameters", {})}
    for name in {each.name for function in read_program(text).functions for each in function.template} & macros.keys():
        del macros[name]
    options = (f"-arch=sm_{_ARCHITECTURE}", "-std=c++17", *(f"-D{name}={value}" for name, value in macros.items()))
    options += (*given.get("options", ()), *cuda_headers().options)
    try:
        compile_source(path.name, path, text, options, ())
    except SourceRejected as rejected:
        return rejected.reason.rstrip()
    except MmcoreError:
        pass  # there is no compiler
    return ""
