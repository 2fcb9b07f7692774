"""The statements of a source with loops and branches, in CUDA C++ and in Python."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_UNREAD = re.compile(
    r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|^[ \t]*#(?:\\\n|[^\n])*", re.DOTALL | re.MULTILINE
)
_WORD = re.compile(r"(?:if|else|switch|for|while|do)\b")
_KINDS = {"if": "branch", "else": "branch", "switch": "branch", "for": "loop", "while": "loop", "do": "loop"}
_OF_PYTHON: dict[type[ast.stmt], str] = {ast.For: "loop", ast.While: "loop", ast.If: "branch", ast.Match: "branch"}


@dataclass(frozen=True)
class Statement:
    """A statement: where it begins, its first and last line, and the statements in its body.

    Its ``kind`` is "loop", "branch" or "block"; "" for one without a body. A function is a block.
    """

    begin: int
    line: int
    last: int
    kind: str = ""
    body: tuple[Statement, ...] = ()

    def has(self, line: int) -> bool:
        """Return whether a line belongs to it."""
        return self.line <= line <= self.last


def around(statements: Sequence[Statement], *lines: int) -> list[Statement]:
    """Return the statements whose bodies contain all lines, the outermost first."""
    for each in statements:
        if all(any(inner.has(line) for inner in each.body) for line in lines):
            return [each, *around(each.body, *lines)]
    return []


def python_statements(text: str) -> list[Statement]:
    """Return the statements of a Python source. Raises SyntaxError."""
    starts = [0]
    for line in text.split("\n"):
        starts.append(starts[-1] + len(line) + 1)

    def read(nodes: Sequence[ast.stmt]) -> Iterator[Statement]:
        for node in nodes:
            body = [*getattr(node, "body", []), *getattr(node, "orelse", [])]
            kind = _OF_PYTHON.get(type(node), "block" if body else "")
            begin = starts[node.lineno - 1] + node.col_offset  # only blanks stand before it
            yield Statement(begin, node.lineno, node.end_lineno or node.lineno, kind, tuple(read(body)))

    return list(read(ast.parse(text).body))


def c_statements(text: str) -> list[Statement]:
    """Return the statements of a CUDA source, as far as its braces show them."""
    return _Reader(_UNREAD.sub(lambda unread: re.sub(r"[^\n]", " ", unread[0]), text)).block(0)[0]


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text

    def block(self, begin: int) -> tuple[list[Statement], int]:
        """Return the statements up to the brace that closes a block, and the place behind it."""
        found: list[Statement] = []
        at = self._next(begin)
        while at < len(self._text) and self._text[at] != "}":
            statement, at = self._statement(at)
            found.append(statement)
            at = self._next(at)
        return found, at + 1

    def _next(self, at: int) -> int:
        while at < len(self._text) and (self._text[at].isspace() or self._text[at] == ";"):
            at += 1
        return at

    def _statement(self, begin: int) -> tuple[Statement, int]:
        text, body, at, depth = self._text, list[Statement](), begin, 0
        word = _WORD.match(text, begin)
        kind = _KINDS[word[0]] if word else ""
        while at < len(text):
            sign = text[at]
            if sign == "}" and not depth:
                break  # the end of the block around it
            at += 1
            if sign == "{":
                open_value = text[begin : at - 1].rstrip().endswith(("=", ",", "("))
                inner, at = self.block(at)
                if not open_value:
                    body += inner
                    kind = kind or "block"
            depth += (sign in "([") - (sign in ")]")
            ended = not depth and (sign == ";" or (sign == "{" and not open_value and not text.startswith("do", begin)))
            if ended and not (kind == "branch" and text.startswith("else", self._next(at))):
                break
        count = text.count
        line = count("\n", 0, begin) + 1
        return Statement(begin, line, line + count("\n", begin, at), kind if body else "", tuple(body)), at
