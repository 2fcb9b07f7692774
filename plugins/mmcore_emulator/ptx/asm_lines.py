"""Line marks of inline assembly.

NVRTC 13.0 marks a statement of several lines with its last line; later versions mark it with its first. Triton counts
on from a statement's line for each line of its assembly.
"""

from __future__ import annotations

import contextlib
import re
from pathlib import Path

from mmcore_emulator.ptx.file_names import files_of
from mmcore_emulator.ptx.project_headers import is_of_project

_ASSEMBLY = re.compile(r"// begin inline asm\n.*?// end inline asm", re.DOTALL)
_MARK = re.compile(r"^[ \t]*\.loc\b[^\n]*\n", re.MULTILINE)
_TOKEN = re.compile(
    r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|(?P<asm>\b(?:__)?asm(?:__)?(?:\s+\w+)*\s*\()|[()]', re.DOTALL
)


def with_first_lines(ptx: str, source: str, text: str) -> str:
    """Return NVRTC's PTX with each asm statement marked with its first line.

    ``source`` is the path of the .cu file, as named to NVRTC, and ``text`` its content. Headers of its project are
    read.
    """
    files = files_of(ptx)
    main = next(((number, path) for number, path in files if path == source or path.endswith(f"/{source}")), None)
    if main is None:
        return ptx
    texts = {main[0]: text}
    for number, path in files:
        if (number, path) != main and is_of_project(path, main[1]):
            with contextlib.suppress(OSError):
                texts[number] = Path(path).read_text(errors="replace")
    for number, content in texts.items():
        if firsts := _first_lines(content):
            ptx = _with_lines(ptx, number, firsts)
    return ptx


def _with_lines(ptx: str, file: str, firsts: dict[int, int]) -> str:
    """Return PTX with other lines of a file in its marks."""
    mark = re.compile(rf"(\.loc\s+|\binlined_at\s+)({file})(\s+)(\d+)")
    return mark.sub(lambda match: f"{match[1]}{match[2]}{match[3]}{firsts.get(int(match[4]), match[4])}", ptx)


def with_statement_lines(ptx: str) -> str:
    """Return Triton's PTX whose inline assembly has the line of its statement: the first mark of each block alone."""

    def first_mark(block: re.Match[str]) -> str:
        marks = [each.end() for each in _MARK.finditer(block[0])]
        return block[0][: marks[0]] + _MARK.sub("", block[0][marks[0] :]) if marks else block[0]

    return _ASSEMBLY.sub(first_mark, ptx)


def _first_lines(text: str) -> dict[int, int]:
    """Return the first line of each multi-line asm statement, by each of its further lines."""
    firsts: dict[int, int] = {}
    first = depth = 0  # open parentheses of the statement; 0 outside
    for token in _TOKEN.finditer(text):
        if token["asm"] and not depth:
            first, depth = text.count("\n", 0, token.start()) + 1, 1
        elif depth and token[0] in "()":
            depth += 1 if token[0] == "(" else -1
            if not depth:
                firsts |= dict.fromkeys(range(first + 1, text.count("\n", 0, token.start()) + 2), first)
    return firsts
