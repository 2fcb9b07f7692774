"""The ``#include`` directives of sources: what they name, and which file that is.

NVRTC does not say which headers it read. They are found here by following the directives from file to file, without
regard to ``#if``: what NVRTC reads is among them.
"""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

_COMMENT = re.compile(rb'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)
_SPLICE = re.compile(rb"\\\r?\n")
_DIRECTIVE = re.compile(rb"^[ \t]*(?:#|%:)[ \t]*(include_next|include|define|if|elif)([^\n]*)", re.MULTILINE)
_NAME = re.compile(rb'(["<])([^"<>\n]+)[">]')
_COMPUTED = re.compile(rb"\s*([A-Za-z_]\w*)")


@dataclass(frozen=True)
class Include:
    """A name of a header.

    Attributes:
        name: as it is written.
        quoted: whether it stands between quotes, and is looked for beside the file that names it first.
    """

    name: str
    quoted: bool


@dataclass(frozen=True)
class Includes:
    """What a file may include.

    Attributes:
        names: the headers that its directives name.
        computed: macros that stand in the place of a name.
        macros: the macros whose value is a name.
        in_macros: these names.
    """

    names: tuple[Include, ...]
    computed: frozenset[str]
    macros: frozenset[str]
    in_macros: tuple[Include, ...]


def includes(content: bytes) -> Includes:
    """What the directives of a file name."""
    content = _COMMENT.sub(_kept, _SPLICE.sub(b"", content))
    names: dict[Include, None] = {}
    in_macros: dict[Include, None] = {}
    computed, macros = set[str](), set[str]()
    for word, rest in _DIRECTIVE.findall(content):
        found = [Include(os.fsdecode(name), sign == b'"') for sign, name in _NAME.findall(rest)]
        (in_macros if word == b"define" else names).update(dict.fromkeys(found))
        macro = _COMPUTED.match(rest)
        if macro and word == b"define" and found:
            macros.add(macro[1].decode())
        elif macro and word.startswith(b"include") and not found:
            computed.add(macro[1].decode())
    return Includes(tuple(names), frozenset(computed), frozenset(macros), tuple(in_macros))


def _kept(found: re.Match[bytes]) -> bytes:
    """A string as it is, and a space for a comment."""
    return found[0] if found[0].startswith(b'"') else b" "


def candidates(include: Include, folder: str, searched: Sequence[str]) -> Iterator[str]:
    """The paths at which NVRTC looks for a header, in order, that a file in ``folder`` includes."""
    for place in (folder, *searched) if include.quoted else (*searched, folder):
        yield os.path.normpath(os.path.join(place, include.name))


def search_folders(options: Sequence[str]) -> tuple[str, ...]:
    """The folders that options name for headers to be looked for in."""
    return tuple(os.path.abspath(value) for value in option_values(options, "-I", "--include-path"))


def option_values(options: Sequence[str], *names: str) -> Iterator[str]:
    """The values of an option, as NVRTC takes them: ``-Ivalue``, ``-I value``, ``-I=value``, or in the next one."""
    for option, following in itertools.pairwise((*options, "")):
        if option in names:
            yield following.strip()
        elif option.startswith("-I") and "-I" in names:
            yield option[2:].strip().removeprefix("=")
        elif option.startswith(tuple(f"{name}=" for name in names)):
            yield option.partition("=")[2].strip()


def below(path: str, folders: Iterable[str]) -> bool:
    """Whether a path lies in one of the folders or below."""
    return any(path.startswith(f"{folder}{os.sep}") for folder in folders)
