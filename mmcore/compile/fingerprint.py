"""What a source is compiled from besides itself: every file that it can include, known by path, size and time.

NVRTC does not say which headers it reads. So every file counts that lies below the source's own folder, below a folder
named by ``-I`` or beside a file named by ``-include``: when one is edited, added or removed, the source is compiled again.
Names with ``..`` in them reach beyond these; the folders that they lead to count too, without what lies below.
"""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

_INCLUDE = re.compile(rb'^[ \t]*(?:#|%:|\?\?=)[ \t]*include(?:_next)?[ \t]*(?P<name>["<][^">\n]+[">]|[^\s"<][^\n]*)?', re.MULTILINE)
_FOLDERS, _FILES = ("-I", "--include-path"), ("-include", "--pre-include")
# What no source includes, and what changes while nobody edits anything.
_NO_HEADERS = (".py", ".pyc", ".pyi", ".so", ".o", ".a", ".json", ".jsonl", ".md", ".csv", ".lock", ".png", ".svg", ".html")
_MOST_FILES = 50_000


def includes_headers(text: str) -> bool:
    """Whether a source includes anything."""
    return _INCLUDE.search(text.encode(errors="surrogateescape")) is not None


def fingerprint(source: Path, text: str, options: Sequence[str]) -> str | None:
    """What is known of the files that a source can include; None where they are too many to look at.

    Args:
        source: path of the source.
        text: its content.
        options: NVRTC's.
    """
    folders = [Path(value) for value in _values(options, _FOLDERS)]
    folders += [Path(value).parent for value in _values(options, _FILES)]
    if not includes_headers(text) and not folders:
        return ""
    own = source.absolute().parent
    trees = {Path(os.path.abspath(folder)) for folder in (own, *folders)}
    states = []
    outside: set[Path] = _outside(source, text.encode(errors="surrogateescape"))
    for tree in sorted(trees):
        for path, state in _files(tree):
            states.append(f"{path} {state.st_size} {state.st_mtime_ns}")
            if len(states) > _MOST_FILES:
                return None
            if own in Path(path).parents and state.st_size < 1 << 20:
                outside |= _outside(Path(path), _content(path))
    for folder in sorted(outside - trees):
        states += [f"{path} {state.st_size} {state.st_mtime_ns}" for path, state in _files(folder, below=False)]
    return "\n".join(states)


def _files(folder: Path, *, below: bool = True) -> Iterator[tuple[str, os.stat_result]]:
    """The files in a folder, and below it, in order; hidden folders left out."""
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        try:
            if entry.is_dir():
                if below and not entry.name.startswith((".", "__pycache__")) and not entry.is_symlink():
                    yield from _files(Path(entry.path))
            elif not entry.name.endswith(_NO_HEADERS):
                yield entry.path, entry.stat()
        except OSError:
            continue


def _outside(file: Path, content: bytes) -> set[Path]:
    """Folders beyond the file's own that it names in what it includes."""
    names = (found["name"] or b"" for found in _INCLUDE.finditer(content) if b"/" in (found["name"] or b""))
    return {
        Path(os.path.abspath(file.parent / os.fsdecode(name.strip(b'"<>')))).parent
        for name in names
        if b".." in name or name[1:2] == b"/"
    }


def _content(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError:
        return b""


def _values(options: Sequence[str], names: tuple[str, ...]) -> Iterator[str]:
    """The values of an option, as NVRTC takes them: ``-Ivalue``, ``-I value``, ``-I=value``, or in the next one."""
    for option, following in itertools.pairwise((*options, "")):
        if option in names:
            yield following.strip()
        elif option.startswith("-I") and "-I" in names:
            yield option[2:].strip().removeprefix("=")
        elif option.startswith(tuple(f"{name}=" for name in names)):
            yield option.partition("=")[2].strip()
