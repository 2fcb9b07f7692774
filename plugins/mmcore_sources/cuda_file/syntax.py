"""Errors of the compiler, which are reported before anything is asked about a file."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mmcore.errors import CompileError, InvalidKernel, MmcoreError, SeveralKernels
from mmcore_cuda.cuda_source.program import lone_configuration, read_program
from mmcore_cuda.cuda_source.tree import parse, walk
from mmcore_cuda.nvrtc.bindings import Rejected, SourceRejected, compile_once, diagnostics
from mmcore_cuda.nvrtc.cuda_headers import cuda_headers
from mmcore_cuda.nvrtc.device_code import DeviceHalf
from mmcore_cuda.nvrtc.source_compilation import compile_source
from mmcore_sources.cuda_file.host_bugs.bug import Bug

_ARCHITECTURE = "90"
_SYNTAX = re.compile(r": error: (?:expected |unrecognized token|missing |extra text|this declaration has no storage)")
_ERROR = re.compile(r"\((\d+)\): error: (.*)")
_TARGET = "not supported on .target"  # in the reason of ptxas, as the architecture is not inferred yet
_TO_DEFINE = "--define NAME=VALUE"  # in the reason of a source that lacks a macro, which an option can define


class DoesNotCompile(CompileError, InvalidKernel):
    """A file that its compiler refuses, with the compiler's messages."""


def refuse_syntax_errors(path: Path, text: str, given: Mapping[str, Any]) -> None:
    """Raise DoesNotCompile if a file of CUDA C++ has a syntax error.

    Only a file that the grammar of CUDA C++ does not accept is compiled for this.
    """
    if read_program(text).error_line and _SYNTAX.search(reason := rejection(path, text, {**given, "entry": ""})):
        raise DoesNotCompile(reason)


def refuse_errors(path: Path, text: str, given: Mapping[str, Any]) -> None:
    """Raise DoesNotCompile if a file does not compile with any definitions of macros.

    Of a file's kernels, only the given ``entry`` needs to compile.
    """
    reason = rejection(path, text, given)
    if reason and _TO_DEFINE not in reason and _TARGET not in reason:
        raise DoesNotCompile(reason)


@contextmanager
def compiled_first(path: Path, text: str, given: Mapping[str, Any]) -> Iterator[None]:
    """Raise the compiler's errors of a source in place of what the body cannot infer from it."""
    try:
        yield
    except InvalidKernel as error:
        if not isinstance(error, SeveralKernels):
            refuse_errors(path, text, given)
        raise


def rejection(path: Path, text: str, given: Mapping[str, Any], needed: tuple[str, ...] = ()) -> str:
    """Return the compiler's reason against a file; empty if it compiles, there is no compiler, or it is no CUDA C++.

    ``needed`` names the kernels that must compile: the given ``entry`` by default, or all.
    """
    if not (read_program(text).functions or path.suffix == ".cu"):
        return ""
    compiled = _compiled(path, text, _options(text, given), _entries(text, given), needed)
    return compiled if isinstance(compiled, str) else ""


@functools.lru_cache(maxsize=16)
def _compiled(
    path: Path, text: str, options: tuple[str, ...], entries: tuple[str, ...], needed: tuple[str, ...] = ()
) -> DeviceHalf | str:
    """Return the device half of a file, or the compiler's reason against it; empty if there is no compiler.

    Each kernel of a file asks for the same.
    """
    try:
        return compile_source(path.name, path, text, options, entries, needed)[1]
    except SourceRejected as rejected:
        return rejected.reason.rstrip()
    except MmcoreError:
        return ""


def uncompiled_kernels(path: Path, text: str, given: Mapping[str, Any]) -> Iterator[Bug]:
    """Find the first kernel that does not compile, and is left out beside the one that is run."""
    functions = read_program(text).functions
    reason = rejection(path, text, {**given, "entry": ""}) if len(functions) > 1 else ""
    error = _ERROR.search(reason)
    for each in functions if error is not None and _TARGET not in reason else ():
        assert error is not None
        if each.body.start_point.row < int(error[1]) <= each.body.end_point.row + 1:
            yield Bug("uncompiled-kernel", int(error[1]), f"{error[2]}: {each.word} is left out, and nvcc refuses it")


def host_syntax_errors(path: Path, text: str, given: Mapping[str, Any]) -> Iterator[Bug]:
    """Find syntax errors of host code, which is not compiled: the compiler and the grammar of CUDA C++ report each."""
    for node in walk(parse(text.encode())):
        if node.type == "kernel_call_syntax" and lone_configuration(node):
            message = "a launch has a grid and a block without parentheses around them, <<<grid, block>>>"
            yield Bug("host-syntax", node.start_point.row + 1, f"{message}; nvcc refuses it")
    nodes = [node for node in walk(parse(text.encode())) if node.is_missing or node.type == "ERROR"]
    lines = {row + 1 for node in nodes for row in (node.start_point.row, node.end_point.row, node.end_point.row + 1)}
    if not lines:
        return
    half = _compiled(path, text, _options(text, given), ())
    if isinstance(half, str):
        return  # it does not compile anyway, or there is no compiler
    try:
        compile_once(path.name, path, text, (*_options(text, given), *half.options), (), half.headers)
    except Rejected as rejected:
        errors = [
            each for each in diagnostics(rejected.log) if each.line in lines and Path(each.path).name == path.name
        ]
        for error in (each for each in errors if each.message.startswith("expected ")):
            yield Bug("host-syntax", error.line, f"{error.message}; nvcc refuses it")
    except MmcoreError:
        return


def _entries(text: str, given: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the name expression of the given entry, unless it is a template or missing."""
    entry = given.get("entry", "")
    return tuple(each.name for each in read_program(text).functions if each.name == entry and not each.template)


def _options(text: str, given: Mapping[str, Any]) -> tuple[str, ...]:
    macros = {**given.get("defines", {}), **given.get("parameters", {})}
    for name in {each.name for function in read_program(text).functions for each in function.template} & macros.keys():
        del macros[name]
    defined = (f"-D{name}={value}" for name, value in macros.items())
    return f"-arch=sm_{_ARCHITECTURE}", "-std=c++17", *defined, *given.get("options", ()), *cuda_headers().options
