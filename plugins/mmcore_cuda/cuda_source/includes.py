"""The ``#include`` directives of sources: the headers that they name, and the paths of those.

NVRTC does not report which headers it read. They are found by following the directives from file to file, regardless of
``#if``: the result contains all that NVRTC reads.
"""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from mmcore_cuda.cuda_source.tokens import directives

_SPLICE = re.compile(rb"\\\r?\n")
_NAME = re.compile(rb'(["<])([^"<>\n]+)[">]')
_MACRO = re.compile(rb"\s*([A-Za-z_]\w*)")
_FOLDER_OPTIONS = ("-I", "--include-path")


@dataclass(frozen=True)
class Include:
    """The name of a header."""

    name: str  # the name in the directive
    quoted: bool  # True if it is in quotes, so that the including file's folder is searched first


@dataclass(frozen=True)
class PlacedInclude:
    """A directive that names a header."""

    include: Include
    begin: int  # the position of the directive
    name_begin: int  # the range of the name with its quotes or angle brackets
    name_end: int


@dataclass(frozen=True)
class Includes:
    """The headers that a file may include."""

    names: tuple[Include, ...]  # the headers that its directives name
    computed: frozenset[str]  # macros used as the name of a header
    macros: frozenset[str]  # the macros whose value is a header
    in_macros: tuple[Include, ...]  # these headers


def includes(content: bytes) -> Includes:
    """Return the headers that the directives of a file name."""
    names: dict[Include, None] = {}
    in_macros: dict[Include, None] = {}
    computed, macros = set[str](), set[str]()
    for directive in directives(_SPLICE.sub(b"", content)):
        if directive.word not in ("include", "include_next", "define", "if", "elif"):
            continue
        headers = [_include(name) for name in _NAME.finditer(directive.text)]
        (in_macros if directive.word == "define" else names).update(dict.fromkeys(headers))
        macro = _MACRO.match(directive.text)
        if macro and directive.word == "define" and headers:
            macros.add(macro[1].decode())
        elif macro and directive.word.startswith("include") and not headers:
            computed.add(macro[1].decode())
    return Includes(tuple(names), frozenset(computed), frozenset(macros), tuple(in_macros))


def placed_includes(content: bytes) -> Iterator[PlacedInclude]:
    """Yield the ``#include`` directives that name a header themselves, with their positions."""
    for directive in directives(content):
        if directive.word == "include" and (name := _NAME.match(directive.text.lstrip())):
            begin = directive.text_begin + len(directive.text) - len(directive.text.lstrip())
            yield PlacedInclude(_include(name), directive.begin, begin, begin + name.end())


def _include(name: re.Match[bytes]) -> Include:
    return Include(os.fsdecode(name[2]), name[1] == b'"')


def has_quoted_includes(content: bytes) -> bool:
    """Return whether a source includes headers by names in quotes, as its project's own are."""
    return any(include.quoted for include in includes(content).names)


def candidates(include: Include, folder: str, searched: Sequence[str]) -> Iterator[str]:
    """Yield the paths at which NVRTC looks for a header that a file in ``folder`` includes, in order."""
    for place in (folder, *searched) if include.quoted else (*searched, folder):
        yield os.path.normpath(os.path.join(place, include.name))


def search_folders(options: Sequence[str]) -> tuple[str, ...]:
    """Return the folders that NVRTC's options name for headers."""
    return tuple(os.path.abspath(value) for value in option_values(options, *_FOLDER_OPTIONS))


def without_search_folders(options: Sequence[str]) -> tuple[str, ...]:
    """Return NVRTC's options except those that name folders for headers."""
    pairs = itertools.pairwise(("", *options))
    others = [each for before, each in pairs if before not in _FOLDER_OPTIONS and each not in _FOLDER_OPTIONS]
    return tuple(each for each in others if not each.startswith(("-I", "--include-path=")))


def option_values(options: Sequence[str], *names: str) -> Iterator[str]:
    """Yield the values of an option of NVRTC: ``-Ivalue``, ``-I value``, ``-I=value``, or in the next option."""
    for option, following in itertools.pairwise((*options, "")):
        if option in names:
            yield following.strip()
        elif option.startswith("-I") and "-I" in names:
            yield option[2:].strip().removeprefix("=")
        elif option.startswith(tuple(f"{name}=" for name in names)):
            yield option.partition("=")[2].strip()


def below(path: str, folders: Iterable[str]) -> bool:
    """Return whether a path is in one of the folders, at any depth."""
    return any(path.startswith(f"{folder}{os.sep}") for folder in folders)
