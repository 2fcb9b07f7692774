"""Unmatched brackets, and directives that split a statement or a bracket, which the grammar of CUDA cannot read."""

from __future__ import annotations

import itertools
import re

from mmcore_cuda.cuda_source.tokens import blank, tokens

_BRACKETS = re.compile(rb"[][(){}]")
_OPENS = {b")": b"(", b"]": b"[", b"}": b"{"}
# The text before a brace that only contains declarations, and before one that contains members.
_NAMESPACE = re.compile(rb'\b(?:namespace\b[\w\s:]*|extern\b[\w\s"+]*)$')
_CLASS = re.compile(rb"\b(?:class|struct|union)\b[^(){};=]*$")
_MOST_BEFORE = 1000
_NEVER = re.compile(rb"[ \t]+(?:0|false)\b")


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


def readable(content: bytes) -> bytes:
    """Return a source for the grammar, with blanks in place of directives that split a statement.

    If the branches of a conditional are not complete declarations or statements, only the first branch remains. Every
    byte keeps its position.
    """
    code = bytearray(content)  # without comments, strings and directives
    kept = bytearray(content)
    open_conditionals: list[list[re.Match[bytes]]] = []
    for token in tokens(content):
        begin, end = token.span()
        code[begin:end] = b"s" * (end - begin) if token["string"] is not None else blank(token[0])
        word = token["word"]
        if word in (b"if", b"ifdef", b"ifndef"):
            open_conditionals.append([token])
        elif word in (b"else", b"elif", b"elifdef", b"elifndef") and open_conditionals:
            open_conditionals[-1].append(token)
        elif word == b"endif" and open_conditionals:
            _close([*open_conditionals.pop(), token], code, kept)
        elif word is not None and not _begins(code, begin):
            kept[begin:end] = blank(token[0])
    return bytes(kept)


def _close(directives: list[re.Match[bytes]], code: bytearray, kept: bytearray) -> None:
    """Blank the directives of a conditional, and all branches but one, if the grammar cannot read it."""
    branches = [(one.end(), other.start()) for one, other in itertools.pairwise(directives)]
    if _begins(code, directives[0].start()) and all(_is_complete(bytes(code[begin:end])) for begin, end in branches):
        return
    for directive in directives:
        kept[directive.start() : directive.end()] = blank(directive[0])
    taken = 1 if directives[0]["word"] == b"if" and _NEVER.match(directives[0]["text"]) else 0
    for begin, end in (*branches[:taken], *branches[taken + 1 :]):
        kept[begin:end] = code[begin:end] = blank(bytes(kept[begin:end]))


def _begins(code: bytearray, position: int) -> bool:
    """Return whether a declaration or statement may begin at a position."""
    while position and code[position - 1 : position].isspace():
        position -= 1
    return not position or code[position - 1 : position] in b";{}:"


def _is_complete(branch: bytes) -> bool:
    text = branch.strip()
    return (not text or text.endswith((b";", b"}"))) and not opens(text) and not closes(text)
