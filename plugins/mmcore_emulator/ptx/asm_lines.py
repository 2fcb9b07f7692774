"""Line marks of inline assembly: NVRTC 13.0 gives a statement of several lines its last line, later ones its first."""

from __future__ import annotations

import re

_TOKEN = re.compile(
    r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|(?P<asm>\b(?:__)?asm(?:__)?(?:\s+\w+)*\s*\()|[()]', re.DOTALL
)


def with_first_lines(ptx: str, source: str, text: str) -> str:
    """PTX in which each asm statement has the number of its first line.

    Args:
        ptx: as NVRTC made it.
        source: path of the .cu file, as PTX has it.
        text: of that file.
    """
    firsts = _first_lines(text)
    file = re.search(rf'^\s*\.file\s+(\d+)\s+"(?:[^"]*/)?{re.escape(source)}"', ptx, re.MULTILINE)
    if not firsts or not file:
        return ptx
    mark = re.compile(rf"(\.loc\s+|\binlined_at\s+)({file[1]})(\s+)(\d+)")
    return mark.sub(lambda found: f"{found[1]}{found[2]}{found[3]}{firsts.get(int(found[4]), found[4])}", ptx)


def _first_lines(text: str) -> dict[int, int]:
    """The first line of each asm statement of several lines, by each of its further lines."""
    firsts: dict[int, int] = {}
    first = depth = 0  # parentheses that the statement has open, none outside
    for token in _TOKEN.finditer(text):
        if token["asm"] and not depth:
            first, depth = text.count("\n", 0, token.start()) + 1, 1
        elif depth and token[0] in "()":
            depth += 1 if token[0] == "(" else -1
            if not depth:
                firsts |= dict.fromkeys(range(first + 1, text.count("\n", 0, token.start()) + 2), first)
    return firsts
