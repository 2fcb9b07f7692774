"""Which files a source is compiled from, found by reading it: NVRTC has no option by which it would say so."""

from __future__ import annotations

import functools
import itertools
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

_SPLICE = re.compile(r"\\\r?\n")
_SPACE = r"(?>[ \t\v\f]+|(?s:/\*.*?\*/))*+"
_NAME = r'(?:"(?P<quoted>[^"\n\0]+)"|<(?P<angled>[^>\n\0]+)>)?'
_INCLUDE = re.compile(rf"^(?:.*\*/)?[ \t\v\f]*(?:#|%:){_SPACE}include(?:_next)?\b{_SPACE}{_NAME}", re.MULTILINE)
_HAS_INCLUDE = re.compile(
    rf"(?P<whether>\bdefined{_SPACE}\(?{_SPACE}|\bifn?def{_SPACE})?\b__has_include\b(?:{_SPACE}\({_SPACE}{_NAME})?"
)
_MARK = "\ufeff"
_FOLDER_OPTIONS = ("-I", "--include-path")
_FILE_OPTIONS = ("-include", "--pre-include")


class Included(NamedTuple):
    """What reading a source and its headers tells.

    Attributes:
        texts: the source and the headers that are found, by path; bytes that are no UTF-8 are surrogates.
        complete: whether there can be no header that is not among them, CUDA's own excepted.
        elsewhere: whether a header is named that was not found, as CUDA's own are not.
        marked: the headers that begin with a byte order mark, by the one name that each is included by.
    """

    texts: dict[Path, str]
    complete: bool
    elsewhere: bool
    marked: dict[str, Path]

    def replacements(self) -> dict[str, str]:
        """What NVRTC is to take for the headers that it would not understand, by name.

        Their own headers lie beside them, which NVRTC finds where one is known by its whole path.
        """
        clean = {str(path): self.texts[path].removeprefix(_MARK) for path in self.marked.values()}
        return {name: f'#include "{path}"\n' for name, path in self.marked.items()} | clean


class _Named(NamedTuple):
    """A header as a text names it."""

    name: str
    quoted: bool


def included(source: Path, text: str, options: Sequence[str], folder: Path) -> Included:
    """What NVRTC reads when it compiles a source.

    A header is looked for in every folder that NVRTC may look into, and every file of its name counts: also one that
    is there but is not read, for the sake of a condition or of another file that comes first.

    Args:
        source: path of the source.
        text: its content.
        options: NVRTC's, but for those that say where CUDA's own headers are.
        folder: the working directory, in which relative paths begin.
    """
    folders = [folder / value for value in _values(options, _FOLDER_OPTIONS)]
    if folders:
        folders = [each for each in folders if not _is_cudas(each)]
    start = _in_real_folder(folder / source)
    texts = {start: text}
    named, clear = _named(text)
    waiting = [(start.parent, each) for each in named]
    waiting += [(folder, _Named(value, quoted=True)) for value in _values(options, _FILE_OPTIONS)]
    complete = clear and not any(_has_files(option) for option in options)
    elsewhere = not clear
    meant: dict[str, set[Path]] = {}
    while waiting:
        beside, (name, quoted) = waiting.pop()
        paths = [_in_real_folder(place / name) for place in (*([beside] if quoted else []), *folders)]
        found = [path for path in paths if os.path.isfile(path)]
        elsewhere = elsewhere or not found
        meant.setdefault(name, set()).update(found[:1])
        for path in found:
            if path not in texts:
                texts[path], readable = _content(path)
                named, clear = _named(texts[path])
                waiting += [(path.parent, each) for each in named]
                complete, elsewhere = complete and readable and clear, elsewhere or not clear
    # A name that means several headers is left to NVRTC.
    single = {name: next(iter(paths)) for name, paths in meant.items() if len(paths) == 1}
    marked = {name: path for name, path in single.items() if texts[path].startswith(_MARK)}
    return Included(texts, complete, elsewhere, marked)


@functools.cache
def cudas_folder() -> str | None:
    """Where CUDA's own headers (cuda_bf16.h and the like) are installed, if they are."""
    from cuda.pathfinder import find_nvidia_header_directory

    directory = find_nvidia_header_directory("cudart")
    return None if directory is None else str(directory)


def _is_cudas(folder: Path) -> bool:
    directory = cudas_folder()
    return directory is not None and os.path.realpath(folder) == os.path.realpath(directory)


def _values(options: Sequence[str], names: tuple[str, ...]) -> Iterator[str]:
    """The values of an option, as NVRTC takes them: ``-Ivalue``, ``-I value``, ``-I=value``, or in the next one."""
    for option, following in itertools.pairwise((*options, "")):
        if option in names:
            yield from dict.fromkeys((following, following.strip()))
        elif option.startswith("-I") and "-I" in names:
            yield option[2:].strip().removeprefix("=")
        elif option.startswith(tuple(f"{name}=" for name in names)):
            yield option.partition("=")[2].strip()


def _has_files(option: str) -> bool:
    """Whether an option has files of its own read or written: precompiled headers, or further options for ptxas."""
    precompiled = option.lstrip("-").partition("=")[0] in ("pch", "create-pch", "use-pch")
    return precompiled or "-options-file" in option or "-optf" in option


def _content(header: Path) -> tuple[str, bool]:
    """The text of a header, and whether it can be read."""
    try:
        return header.read_bytes().decode("utf-8", errors="surrogateescape"), True
    except OSError:
        return "", False


def _in_real_folder(path: Path) -> Path:
    """The path with its folder resolved, so that a header that includes itself by detours is one file."""
    return Path(os.path.realpath(path.parent), path.name)


@functools.lru_cache(maxsize=1024)
def _named(text: str) -> tuple[tuple[_Named, ...], bool]:
    """The headers that a text names, and whether each one is named: the operand may also be a macro."""
    joined = _SPLICE.sub("", text.removeprefix(_MARK)).replace("\r", "\n")
    found = [*_INCLUDE.finditer(joined)]
    found += [each for each in _HAS_INCLUDE.finditer(joined) if not each["whether"] or each["quoted"] or each["angled"]]
    named = [_Named(each["quoted"] or each["angled"] or "", each["quoted"] is not None) for each in found]
    return tuple(dict.fromkeys(each for each in named if each.name)), all(each.name for each in named)
