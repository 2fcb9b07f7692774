"""Preprocessor directives that the grammar of CUDA cannot read: those that split a statement or a bracket."""

from __future__ import annotations

import itertools
import re

_TOKEN = re.compile(
    rb"(?P<comment>//(?:\\\r?\n|[^\n])*|/\*.*?\*/)"
    rb'|(?P<string>\bR"(?P<mark>[^\s()\\"]*)\(.*?\)(?P=mark)"|"(?:\\.|[^"\\\n])*"|\'(?:\\.[^\'\n]*|[^\'\\\n])\')'
    rb"|(?P<directive>^[ \t]*#[ \t]*(?P<word>[a-z]*)(?:\\\r?\n|/\*.*?\*/|(?!//)[^\n])*)",
    re.DOTALL | re.MULTILINE,
)
_SHOWN = re.compile(rb"[^\r\n]")
_NEVER = re.compile(rb"#[ \t]*if[ \t]+(?:0|false)\b")
_BRACKETS = re.compile(rb"[][(){}]")
_OPENS = {b")": b"(", b"]": b"[", b"}": b"{"}
# What is before a brace that only holds declarations, and before one that holds members.
_OF_SCOPE = re.compile(rb'\b(?:namespace\b[\w\s:]*|extern\b[\w\s"+]*)$')
_OF_CLASS = re.compile(rb"\b(?:class|struct|union)\b[^(){};=]*$")
_MOST_BEFORE = 1000
_RENUMBERED = re.compile(rb"^[ \t]*#[ \t]*(?:line[ \t]+)?\d", re.MULTILINE)
_DEFINE = re.compile(rb"[ \t]*#[ \t]*define[ \t]+(?P<name>\w+)(?P<parameters>\([^()]*\))?(?P<body>.*)", re.DOTALL)


def blank(text: bytes) -> bytes:
    """Return a text of the same length and lines that shows nothing."""
    return _SHOWN.sub(b" ", text)


def readable(content: bytes) -> bytes:
    """Return a source for the grammar, with blanks in the place of directives that split a statement.

    Of a conditional whose branches are no complete declarations or statements, the first branch remains. Every byte
    keeps its place.
    """
    shown = bytearray(content)  # without comments, strings and directives
    kept = bytearray(content)
    open_conditionals: list[list[re.Match[bytes]]] = []
    for token in _TOKEN.finditer(content):
        begin, end = token.span()
        string = token["string"] is not None
        shown[begin:end] = blank(token[0]) if not string else b"s" * len(token[0])
        word = token["word"]
        if word in (b"if", b"ifdef", b"ifndef"):
            open_conditionals.append([token])
        elif word in (b"else", b"elif", b"elifdef", b"elifndef") and open_conditionals:
            open_conditionals[-1].append(token)
        elif word == b"endif" and open_conditionals:
            _close([*open_conditionals.pop(), token], shown, kept)
        elif word is not None and not _begins(shown, begin):
            kept[begin:end] = blank(token[0])
    return bytes(kept)


def _close(directives: list[re.Match[bytes]], shown: bytearray, kept: bytearray) -> None:
    """Blank what of a conditional the grammar cannot read."""
    branches = [(one.end(), other.start()) for one, other in itertools.pairwise(directives)]
    if _begins(shown, directives[0].start()) and all(_is_complete(shown[begin:end]) for begin, end in branches):
        return
    for directive in directives:
        kept[directive.start() : directive.end()] = blank(directive[0])
    taken = 1 if _NEVER.match(directives[0][0].lstrip()) else 0
    for begin, end in (*branches[:taken], *branches[taken + 1 :]):
        kept[begin:end] = shown[begin:end] = blank(bytes(kept[begin:end]))


def _begins(shown: bytearray, place: int) -> bool:
    """Whether a declaration or statement may begin at a place."""
    while place and shown[place - 1 : place].isspace():
        place -= 1
    return not place or shown[place - 1 : place] in b";{}:"


def _is_complete(branch: bytes | bytearray) -> bool:
    text = bytes(branch).strip()
    return (not text or text.endswith((b";", b"}"))) and not opens(text) and not closes(text)


def opens(text: bytes) -> bool:
    """Return whether a text opens a bracket that it does not close, but for the braces of namespaces."""
    return any(not _OF_SCOPE.search(before) for before in _unmatched(text)[0])


def in_body(code: bytes, place: int) -> bool:
    """Return whether a place in a source is in other brackets than those of namespaces and classes."""
    return any(not _OF_SCOPE.search(each) and not _OF_CLASS.search(each) for each in _unmatched(code[:place])[0])


def closes(text: bytes) -> bool:
    """Return whether a text closes a bracket that it does not open."""
    return _unmatched(text)[1]


def _unmatched(text: bytes) -> tuple[list[bytes], bool]:
    """Return what is before each bracket that remains open, and whether one is closed that was not opened."""
    pending: list[re.Match[bytes]] = []
    excess = False
    for found in _BRACKETS.finditer(text):
        if found[0] in _OPENS.values():
            pending.append(found)
        elif pending and pending[-1][0] == _OPENS[found[0]]:
            pending.pop()
        else:
            excess = True
    # Behind another bracket than a brace nothing is a declaration.
    return [
        text[max(0, each.start() - _MOST_BEFORE) : each.start()] if each[0] == b"{" else b"(" for each in pending
    ], excess


def code(content: bytes) -> bytes:
    """Return a source without its comments, strings and directives; every byte keeps its place."""
    return _TOKEN.sub(lambda token: blank(token[0]), content)


def is_renumbered(content: bytes) -> bool:
    """Return whether a source gives its lines other numbers than its own."""
    return _RENUMBERED.search(content) is not None


def macros(content: bytes) -> dict[str, bytes]:
    """Return the text of each macro that a source defines, by name."""
    found = (_DEFINE.match(token["directive"]) for token in _TOKEN.finditer(content) if token["word"] == b"define")
    return {each["name"].decode(): code(each["body"]) for each in found if each}
