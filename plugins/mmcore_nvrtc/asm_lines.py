"""Line marks of inline assembly: NVRTC 13.0 gives a statement of several lines its last line, later ones its first."""

from __future__ import annotations

import re

_TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\b(?:__)?asm(?:__)?\b|[();]', re.DOTALL)


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
    """The first line of each asm statement of several lines, by each further line that is its own alone."""
    firsts: dict[int, int] = {}
    begin = depth = 0
    inside = False
    for token in _TOKEN.finditer(text):
        word = token[0]
        if not inside and word.endswith(("asm", "asm__")):
            inside, begin, depth = True, token.start(), 0
        elif inside and word in "()":
            depth += 1 if word == "(" else -1
            if depth == 0:
                first, last = (text.count("\n", 0, place) + 1 for place in (begin, token.start()))
                firsts |= dict.fromkeys(range(first + 1, last + 1), first)
        elif word == ";" and depth == 0:
            inside = False
    return firsts
