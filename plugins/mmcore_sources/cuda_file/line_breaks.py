"""Line breaks in generated Python code, as ruff sets them."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator

_COLUMNS = 120
_INDENT = "    "
_IMPORT = re.compile(r"(from \S+ import )([^(].*)")
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')


def within_columns(text: str) -> str:
    """Return code with line breaks in comments, imports and brackets that are longer than 120 columns."""
    return "".join(f"{line}\n" for long in text.splitlines() for line in _lines(long))


def _lines(line: str) -> Iterator[str]:
    stripped = line.lstrip()
    indent = line[: len(line) - len(stripped)]
    if len(line) <= _COLUMNS:
        yield line
    elif stripped.startswith("# "):
        yield from textwrap.wrap(stripped[2:], _COLUMNS, initial_indent=f"{indent}# ", subsequent_indent=f"{indent}# ")
    elif names := _IMPORT.fullmatch(line):
        yield from _broken(indent, f"{names[1]}(", names[2], ")")
    elif (opening := _opening(line)) >= 0:
        closing = _closing(line, opening)
        yield from _broken(indent, line[len(indent) : opening + 1], line[opening + 1 : closing], line[closing:])
    else:
        yield line


def _broken(indent: str, before: str, inside: str, after: str) -> Iterator[str]:
    """Yield the lines of a bracket with one of its parts in each."""
    yield indent + before
    for part in _parts(inside):
        yield from _lines(f"{indent}{_INDENT}{part},")
    yield indent + after


def _depths(text: str) -> Iterator[tuple[int, str, int]]:
    """Yield each sign outside of strings, with its position and the number of brackets around it."""
    code, depth = _STRING.sub(lambda string: "_" * len(string[0]), text), 0
    for position, sign in enumerate(code):
        depth -= sign in ")]}"
        yield position, sign, depth
        depth += sign in "([{"


def _opening(line: str) -> int:
    """Return the position of the last bracket that no other contains; -1 if there is none."""
    return max((position for position, sign, depth in _depths(line) if sign in "([{" and not depth), default=-1)


def _closing(line: str, opening: int) -> int:
    return next(
        position for position, sign, depth in _depths(line) if position > opening and not depth and sign in ")]}"
    )


def _parts(inside: str) -> list[str]:
    """Return the parts of a list, which commas separate."""
    ends = [position for position, sign, depth in _depths(inside) if sign == "," and not depth]
    begins = [0, *(end + 1 for end in ends)]
    return [
        part for begin, end in zip(begins, [*ends, len(inside)], strict=True) if (part := inside[begin:end].strip())
    ]
