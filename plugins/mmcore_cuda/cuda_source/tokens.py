"""The comments, strings and preprocessor directives of a CUDA source."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_TOKEN = re.compile(
    rb"(?P<directive>^(?:[ \t]|/\*.*?\*/)*+(?P<sign>#|%:)(?:[ \t]|/\*.*?\*/)*+(?P<word>[a-z_]*)"
    rb'(?P<text>(?:\\\r?\n|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|(?!//)[^\n])*))'
    rb"|(?P<comment>//(?:\\\r?\n|[^\n])*|/\*.*?\*/)"
    rb'|(?P<string>\bR"(?P<mark>[^\s()\\"]*)\(.*?\)(?P=mark)"|"(?:\\.|[^"\\\n])*"|\'(?:\\.[^\'\n]*|[^\'\\\n])\')',
    re.DOTALL | re.MULTILINE,
)
_VISIBLE = re.compile(rb"[^\r\n]")
_WORD = re.compile(rb"[A-Za-z_]\w*")
_MACRO = re.compile(rb"[ \t]+(?P<name>\w+)(?P<parameters>\([^()]*\))?(?P<value>.*)", re.DOTALL)


@dataclass(frozen=True)
class Directive:
    """A preprocessor directive."""

    word: str  # its name: "include", "define", "if"
    text: bytes  # the rest, with blanks in place of comments
    begin: int  # the position of its sign in the source
    text_begin: int

    @property
    def end(self) -> int:
        return self.text_begin + len(self.text)


def tokens(content: bytes) -> Iterator[re.Match[bytes]]:
    """Yield each ``comment``, ``string`` and ``directive``; a directive's name is the group ``word``."""
    return _TOKEN.finditer(content)


def blank(text: bytes) -> bytes:
    """Return spaces and line ends of the same length as a text."""
    return _VISIBLE.sub(b" ", text)


def code(content: bytes) -> bytes:
    """Return a source with blanks in place of its comments, strings and directives."""
    return _TOKEN.sub(lambda token: blank(token[0]), content)


def without_comments(text: bytes) -> bytes:
    """Return a text with blanks in place of its comments."""
    return _TOKEN.sub(lambda token: token[0] if token["comment"] is None else blank(token[0]), text)


def words(text: bytes) -> set[str]:
    """Return the identifiers and keywords in a text."""
    return {word.decode() for word in _WORD.findall(text)}


def directives(content: bytes) -> Iterator[Directive]:
    """Yield the preprocessor directives of a source."""
    for token in _TOKEN.finditer(content):
        if token["directive"] is not None:
            text = without_comments(token["text"])
            yield Directive(token["word"].decode(), text, token.start("sign"), token.start("text"))


def macros(content: bytes) -> list[tuple[str, bytes]]:
    """Return the name and text of each definition of a macro in a source."""
    definitions = (_MACRO.match(each.text) for each in directives(content) if each.word == "define")
    return [(macro["name"].decode(), code(macro["value"])) for macro in definitions if macro]


def is_renumbered(content: bytes) -> bool:
    """Return whether a source changes the numbers of its lines."""
    return any(each.word == "line" or (not each.word and each.text[:1].isdigit()) for each in directives(content))
