"""Unmatched brackets in the code of a CUDA source, which has no comments, strings or directives."""

from __future__ import annotations

import re

_BRACKETS = re.compile(rb"[][(){}]")
_OPENS = {b")": b"(", b"]": b"[", b"}": b"{"}
# The text before a brace that only contains declarations, and before one that contains members.
_NAMESPACE = re.compile(rb'\b(?:namespace\b[\w\s:]*|extern\b[\w\s"+]*)$')
_CLASS = re.compile(rb"\b(?:class|struct|union)\b[^(){};=]*$")
_MOST_BEFORE = 1000


def opens(code: bytes) -> bool:
    """Return whether the code opens a bracket without closing it, except for the braces of namespaces."""
    return any(not _NAMESPACE.search(before) for before in _unmatched(code)[0])


def closes(code: bytes) -> bool:
    """Return whether the code closes a bracket without opening it."""
    return _unmatched(code)[1]


def in_body(code: bytes, position: int) -> bool:
    """Return whether a position is in brackets other than those of namespaces and classes."""
    return any(not _NAMESPACE.search(each) and not _CLASS.search(each) for each in _unmatched(code[:position])[0])


def _unmatched(code: bytes) -> tuple[list[bytes], bool]:
    """Return the text before each bracket that remains open, and whether one is closed without being opened."""
    pending: list[re.Match[bytes]] = []
    excess = False
    for bracket in _BRACKETS.finditer(code):
        if bracket[0] in _OPENS.values():
            pending.append(bracket)
        elif pending and pending[-1][0] == _OPENS[bracket[0]]:
            pending.pop()
        else:
            excess = True
    # Nothing in parentheses or square brackets is a declaration.
    return [
        code[max(0, each.start() - _MOST_BEFORE) : each.start()] if each[0] == b"{" else b"(" for each in pending
    ], excess
