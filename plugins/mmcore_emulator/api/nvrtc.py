"""CUDA C++ to PTX by NVRTC, with source lines.

cuda.core's ``Program`` cannot be used: before it makes PTX it asks the driver for its version, and the emulator runs
where there is no driver.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Sequence
from types import ModuleType
from typing import NamedTuple

from mmcore_emulator.errors import CompileError
from mmcore_emulator.ptx.asm_lines import with_first_lines

_HEADERS = ("cudart", "nvcc", "cccl")


class Compiled(NamedTuple):
    """PTX, and the symbol of the kernel that a name expression names ("" without one)."""

    ptx: str
    symbol: str


def compile_cuda(source: str, file: str, architecture: str, options: Sequence[str], expression: str = "") -> Compiled:
    """Compile CUDA C++ to PTX for an architecture such as "90a".

    Headers are looked for beside ``file``, and hazards have its name. ``options`` are further options of NVRTC, and
    ``expression`` names an instance of a template, such as "scale<float>".

    Raises:
        CompileError: NVRTC rejects the source, and the text has its log; or NVRTC is not installed.
    """
    nvrtc = _nvrtc()
    flags = [f"-arch=compute_{architecture}", "-lineinfo", *(f"-I{folder}" for folder in header_folders()), *options]
    names, contents = [[each.encode() for each in part] for part in (HOST_HEADERS, HOST_HEADERS.values())]
    name = file.replace('"', "'")  # PTX has it in quotes
    _, program = nvrtc.nvrtcCreateProgram(source.encode(), name.encode(), len(names), contents, names)
    try:
        if expression:
            nvrtc.nvrtcAddNameExpression(program, expression.encode())
        (result,) = nvrtc.nvrtcCompileProgram(program, len(flags), [flag.encode() for flag in flags])
        if result != nvrtc.nvrtcResult.NVRTC_SUCCESS:
            log = _text(nvrtc, "ProgramLog", program).strip() or result.name
            raise CompileError(f"{os.path.basename(file)} does not compile:\n{log}")
        ptx = with_first_lines(_text(nvrtc, "PTX", program), name, source)
        symbol = nvrtc.nvrtcGetLoweredName(program, expression.encode())[1].decode() if expression else ""
    finally:
        nvrtc.nvrtcDestroyProgram(program)
    return Compiled(ptx, symbol)


def _text(nvrtc: ModuleType, what: str, program: object) -> str:
    """Return a text that NVRTC holds: "PTX" or "ProgramLog"."""
    _, size = getattr(nvrtc, f"nvrtcGet{what}Size")(program)
    content = bytes(max(size, 1))
    getattr(nvrtc, f"nvrtcGet{what}")(program, content)
    return content.rstrip(b"\0").decode(errors="replace")


def _nvrtc() -> ModuleType:
    """Return NVRTC's bindings, with the library loaded.

    Raises:
        CompileError: one of them is not installed.
    """
    try:
        from cuda.bindings import nvrtc

        nvrtc.nvrtcVersion()
    except Exception as error:
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        install = "python -m pip install cuda-bindings 'cuda-toolkit[nvrtc]'"
        raise CompileError(
            f"NVRTC, which compiles CUDA C++, cannot be loaded ({reason}); {install} brings it; PTX needs no compiler"
        ) from None
    bindings: ModuleType = nvrtc
    return bindings


@functools.cache
def header_folders() -> tuple[str, ...]:
    """Return the folders of CUDA's own headers that are installed, those of Python packages first."""
    try:
        from cuda.pathfinder import find_nvidia_header_directory
    except ImportError:
        return ()
    folders: list[str] = []
    for library in _HEADERS:
        try:
            folder = find_nvidia_header_directory(library)
        except RuntimeError:  # a library that this version of cuda-pathfinder does not know
            continue
        # CUDA 13 has its C++ headers in a folder of their own.
        folders += [each for each in (folder, folder and os.path.join(folder, "cccl")) if each and os.path.isdir(each)]
    return tuple(dict.fromkeys(folders))


_KNOWN = "cassert assert.h cstddef stddef.h cstdio stdio.h cstdlib stdlib.h cstring string.h iostream"
_INTEGERS = """#pragma once
typedef signed char int8_t; typedef short int16_t; typedef int int32_t; typedef long long int64_t;
typedef unsigned char uint8_t; typedef unsigned short uint16_t; typedef unsigned int uint32_t;
typedef unsigned long long uint64_t; typedef long long intptr_t; typedef unsigned long long uintptr_t;
namespace std {
using ::int8_t; using ::int16_t; using ::int32_t; using ::int64_t;
using ::uint8_t; using ::uint16_t; using ::uint32_t; using ::uint64_t; using ::intptr_t; using ::uintptr_t;
}
"""
_LIMITS = """#pragma once
#define CHAR_BIT 8
#define INT_MAX __INT_MAX__
#define INT_MIN (-INT_MAX - 1)
#define UINT_MAX (2U * INT_MAX + 1)
#define LLONG_MAX __LONG_LONG_MAX__
#define LLONG_MIN (-LLONG_MAX - 1)
#define ULLONG_MAX (2ULL * LLONG_MAX + 1)
"""
_FLOATS = """#pragma once
#define FLT_MAX 3.402823466e+38f
#define FLT_MIN 1.175494351e-38f
#define FLT_EPSILON 1.192092896e-07f
#define DBL_MAX 1.7976931348623157e+308
#define DBL_MIN 2.2250738585072014e-308
#define DBL_EPSILON 2.2204460492503131e-16
"""
_MATH = """#pragma once
#define M_PI 3.14159265358979323846
#define INFINITY __int_as_float(0x7f800000)
#define NAN __int_as_float(0x7fffffff)
"""
_DRIVER = """#pragma once
typedef struct CUtensorMap_st { alignas(64) unsigned long long opaque[16]; } CUtensorMap;
"""

HOST_HEADERS = {
    "cuda.h": _DRIVER,
    **dict.fromkeys(_KNOWN.split(), ""),
    **dict.fromkeys(("cmath", "math.h"), _MATH),
    **dict.fromkeys(("cstdint", "stdint.h"), _INTEGERS),
    **dict.fromkeys(("climits", "limits.h"), _LIMITS),
    **dict.fromkeys(("cfloat", "float.h"), _FLOATS),
}
"""Stand-ins for headers of the host, by the name that a source includes.

NVRTC knows printf, assert, memcpy, size_t and the mathematical functions without a header. Of cuda.h, which it cannot
compile, kernels need the type of tensor maps.
"""
