"""The options that a CUBIN was compiled with, as far as it has them."""

from __future__ import annotations

import re

from mmcore_cuda.binaries.code import sections_of

_TOOL = ".note.nv.tkinfo"  # the note of ptxas, which ends with its options
_LEVEL = re.compile(rb"[\s\0](?:-O|--opt-level)[ =]?([012])\b")


def unoptimised(cubin: bytes) -> str:
    """Return the option that kept the compiler from optimising, "-G" or such as "-Xptxas=-O0"; empty if none did."""
    sections = dict(sections_of(cubin))
    if ".debug_info" in sections:
        return "-G"
    level = _LEVEL.search(sections[_TOOL].content) if _TOOL in sections else None
    return f"-Xptxas=-O{level[1].decode()}" if level else ""


def has_lines(cubin: bytes) -> bool:
    """Return whether the code names source lines, as with "-lineinfo"."""
    return ".debug_line" in dict(sections_of(cubin))
