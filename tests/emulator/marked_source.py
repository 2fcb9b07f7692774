"""CUDA sources with a comment at the top that describes edits, and with marks such as ``#copy`` in line comments."""

from __future__ import annotations

import re

_COMMENT = re.compile(r"\A(//.*\n)*")


def header(source: str) -> list[str]:
    """Return the lines of the comment at the top. An indented line continues the line before it."""
    comment = source[: len(source) - len(_COMMENT.sub("", source))]
    return [line.removeprefix("// ") for line in re.sub(r"\n//  +", " ", comment).splitlines()]


def without_header(source: str) -> str:
    """Return a source with empty lines instead of the comment at the top."""
    return _COMMENT.sub(lambda comment: "\n" * comment[0].count("\n"), source)


def marked_lines(source: str) -> dict[str, set[int]]:
    """Return the numbers of the lines with each mark."""
    lines: dict[str, set[int]] = {}
    for number, line in enumerate(source.splitlines(), 1):
        for mark in re.findall(r"#[\w-]+", line.partition("//")[2]):
            lines.setdefault(mark, set()).add(number)
    return lines
