"""A kernel by its name, out of PTX or CUDA C++, and the names of its parameters."""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mmcore_emulator.api.nvrtc import Compiled, compile_cuda
from mmcore_emulator.errors import CompileError, LaunchError, PtxError
from mmcore_emulator.isa.architectures import Capability, architecture, ptx_runs
from mmcore_emulator.ptx.instructions import Function
from mmcore_emulator.ptx.reader import parse

_UNNAMED = "source.cu"
# Atomic groups: a source that begins with many comments is no reason to try all the ways to divide them.
_PTX = re.compile(r"(?>\s+|//[^\n]*|/\*.*?\*/)*+\.version\b", re.DOTALL)
_TARGET = re.compile(r"^\s*\.target\s+sm_(\d+[af]?)", re.MULTILINE)
_A_PATH = re.compile(r"\s*[^\n{;]*\.(?:cu|ptx)\s*")
_NAMELESS = ("_INTERNAL_", "_GLOBAL__N_")
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_NAME = re.compile(r"(\w+)\s*(?:\[[^\]]*\])?\s*(?:=.*)?$", re.DOTALL)
_CLOSED_BY = {"(": ")", "<": ">", "[": "]", "{": "}"}


@dataclass(frozen=True)
class Kernel:
    """A kernel to launch."""

    function: Function  # its PTX
    name: str  # what the source calls it
    parameters: tuple[str, ...]  # what the source calls its parameters; empty where that is not known


def find_kernel(source: str | Path, name: str, capability: Capability, options: Sequence[str]) -> Kernel:
    """Return the kernel of a name; CUDA C++ is compiled first.

    Args:
        source: PTX, CUDA C++, or the path of a file that holds either.
        name: the kernel's symbol, its name in the source, or an instance of a template as in "scale<float, 4>".
        capability: the compute capability to compile for.
        options: NVRTC's, for CUDA C++.

    Raises:
        LaunchError: there is no such kernel, the file cannot be read, or the PTX is made for a newer architecture.
        PtxError: the PTX cannot be read.
        CompileError: the CUDA C++ does not compile.
    """
    text, file = _read(source)
    if _PTX.match(text) or file.endswith(".ptx"):
        if options:
            raise LaunchError(f"{os.path.basename(file)} is PTX, which takes no options of a compiler")
        _check_target(text, capability)
        functions, symbol, cuda = _parsed(text), "", ""
    else:
        compiled = _compiled(text, file, name, architecture(capability), options)
        functions, symbol, cuda = _parsed(compiled.ptx), compiled.symbol, text
    function = functions.get(symbol or name) or _named(functions, name, os.path.basename(file), cuda)
    names = parameter_names(cuda, plain_name(function.name).rpartition("::")[2])
    return Kernel(function, name, names if len(names) == len(function.parameters) else ())


def _read(source: str | Path) -> tuple[str, str]:
    """Return the text of a source, and what its file is called."""
    if isinstance(source, str):
        if _A_PATH.fullmatch(source):
            raise LaunchError(f"{source.strip()!r} is no source but a path, which is passed as pathlib.Path")
        return source, _UNNAMED
    try:
        if source.exists() and not source.is_file():
            raise LaunchError(f"{source} cannot be read: it is no file")
        return source.read_text(encoding="utf-8"), str(source)
    except OSError as error:
        raise LaunchError(f"{source} cannot be read: {error.strerror}") from None
    except ValueError:
        raise LaunchError(f"{str(source)!r} cannot be read: it is no UTF-8 text") from None


def _compiled(text: str, file: str, name: str, target: str, options: Sequence[str]) -> Compiled:
    """Compile CUDA C++, with the instance of a template if ``name`` is one and the source has it."""
    if "<" in name:
        try:
            return compile_cuda(text, file, target, options, name)
        except CompileError as error:
            if "__nv_name_map(" not in str(error):
                raise
    return compile_cuda(text, file, target, options)


@functools.lru_cache(maxsize=8)
def _parsed(ptx: str) -> Mapping[str, Function]:
    if not _PTX.match(ptx):
        raise PtxError("PTX begins with a line such as '.version 8.8', and this text does not")
    return parse(ptx)


def _check_target(ptx: str, capability: Capability) -> None:
    """Raise LaunchError for PTX that an architecture does not run."""
    if target := _TARGET.search(ptx):
        device = "{}{}".format(*capability)
        if not ptx_runs(target[1], device):
            raise LaunchError(f"the PTX is made for sm_{target[1]}, which sm_{device} does not run")


def _named(functions: Mapping[str, Function], name: str, file: str, cuda: str) -> Function:
    """Return the one function that the source calls ``name``, with or without its namespace."""
    plain = {symbol: plain_name(symbol) for symbol in functions}
    symbols = [symbol for symbol, each in plain.items() if name in (each, each.rpartition("::")[2])]
    if len(symbols) == 1:
        return functions[symbols[0]]
    if symbols:
        raise LaunchError(f"{file} has {len(symbols)} kernels named {name}: give the symbol, {' or '.join(symbols)}")
    template = name.partition("<")[0]
    if re.search(rf"\btemplate\s*<[^;{{}}]*__global__[^;{{}}]*\b{re.escape(template)}\s*\(", cuda):
        raise LaunchError(f"{file} has no {name}: {template} is a template, whose instances are like {template}<float>")
    known = f"it has {', '.join(dict.fromkeys(plain.values()))}" if functions else "it has no kernel at all"
    raise LaunchError(f"{file} has no kernel {name}; {known}")


def plain_name(symbol: str) -> str:
    """Return what the source calls a function: "a::b" of "_ZN1a1bEPf", without parameters and template arguments."""
    mangled = re.match(r"_Z(N?)", symbol)
    if not mangled:
        return symbol
    names, rest = [], symbol[mangled.end() :]
    while length := re.match(r"L?(\d+)", rest):
        end = length.end() + int(length[1])
        names.append(rest[length.end() : end])
        rest = rest[end:]
        if not mangled[1]:
            break
    return "::".join(name for name in names if not name.startswith(_NAMELESS)) or symbol


def parameter_names(source: str, kernel: str) -> tuple[str, ...]:
    """Return the names of a kernel's parameters in order; none if the source is not understood.

    ``kernel`` is the kernel's name without its namespace.
    """
    text = _COMMENT.sub(" ", source)
    # The definition follows declarations, whose parameters may have no names.
    *_, begin = [0, *(match.end() for match in re.finditer(rf"__global__[^;{{}}]*?\b{re.escape(kernel)}\s*\(", text))]
    names = [_NAME.search(part.strip()) for part in _split(text[begin:])] if begin else []
    return tuple(name[1] for name in names if name) if all(names) else ()


def _split(text: str) -> list[str]:
    """Return what commas separate in a text, up to the parenthesis that closes it."""
    parts, part, open_ones = [], "", ""
    for character in text:
        if not open_ones and character in ",)":
            parts.append(part)
            part = ""
            if character == ")":
                break
            continue
        if character in _CLOSED_BY:
            open_ones += _CLOSED_BY[character]
        elif open_ones and character == open_ones[-1]:
            open_ones = open_ones[:-1]
        part += character
    return parts if any(part.strip() for part in parts) else []
