"""The fingerprint of the headers that a source can include.

NVRTC does not say which headers it reads. So every file with a source's suffix counts, by path, size and times, that
lies below the source's own folder, a folder named by ``-I`` or the folder of a file named by ``-include``: when one is
edited, added or removed, the source is compiled again. Names that lead elsewhere ("../x.h", "/usr/x.h", "table.csv")
are looked for in the files of small trees, and their folders count too; a large tree is a library, complete in itself.
"""

from __future__ import annotations

import hashlib
import itertools
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from mmcore.cache_directory import cache_directory

_SUFFIXES = "|h|hh|hpp|hxx|cuh|cu|c|cc|cpp|cxx|inl|inc|ipp|tpp|txx|tcc|def|impl|ptx"
# A name that is absolute or has a component that begins with a dot, wherever it stands between quotes.
_ELSEWHERE = re.compile(rb'["<]((?:[^"<>\n]*/)?\.[^"<>\n]*|/[^"<>\n]*)[">]')
_UNUSUAL = re.compile(rb'include[^"<\n]*["<]([^"<>\n]*\.(?!(?:%s)[">])[^"<>\n./]*)[">]' % _SUFFIXES.encode())
# NVRTC's options that have it read files that are no headers.
_READS_OTHERS = re.compile("pch|options-file")
# A tree with more entries than this, such as a home directory, is not looked through.
_MOST_ENTRIES = 10_000
_SMALL_TREE, _SMALL_FILE = 500, 1 << 18


def fingerprint(source: Path, text: str, options: Sequence[str]) -> str | None:
    """A hash of the headers that a source can include; "" where it includes none, None where they cannot be told.

    Args:
        source: path of the source.
        text: its content.
        options: NVRTC's, but for those that say where CUDA's own headers are.
    """
    named = [os.path.dirname(os.path.abspath(value)) for value in _values(options, "-include", "--pre-include")]
    if not named and "include" not in text.replace("\\\n", ""):
        return ""
    own = os.path.dirname(os.path.abspath(source))
    searched = [os.path.abspath(value) for value in _values(options, "-I", "--include-path")]
    trees = list(dict.fromkeys((own, *searched, *named)))
    defined = "\n".join(f'"{word}"' for option in options for word in re.split('["<>=]', option))
    try:
        states = {f"{os.path.realpath(cache_directory())}/": ""}  # as if it had been listed
        elsewhere = _elsewhere(own, f"{text}\n{defined}".encode(errors="surrogateescape"), searched)
        for tree in trees:  # which grow meanwhile
            files = list(_files(tree, states))
            for path in files if len(files) <= _SMALL_TREE else ():
                elsewhere |= _elsewhere(os.path.dirname(path), _content(path), searched)
            trees += sorted({os.path.dirname(path) for path in elsewhere}.difference(trees))
        states |= {path: _state(os.stat(path)) for path in elsewhere}
    except (OSError, RuntimeError):  # a file removed meanwhile, a folder that cannot be listed, or too many files
        return None
    if _READS_OTHERS.search(" ".join(options)):
        return None
    listed = "\n".join(f"{path} {state}" for path, state in sorted(states.items()) if state)
    return hashlib.sha256(listed.encode(errors="surrogateescape")).hexdigest()


def _files(tree: str, states: dict[str, str]) -> Iterator[str]:
    """The source files in a folder and below it that have no state yet; hidden folders below it are left out."""
    folders, entries, suffixes = [tree], 0, _SUFFIXES.split("|")
    while folders:
        folder = folders.pop()
        real = os.path.realpath(folder)
        states |= {} if folder == real else {folder: real}
        if f"{real}/" in states or not os.access(real, os.X_OK):
            continue
        states[f"{real}/"] = ""
        for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
            entries += 1
            if entries > _MOST_ENTRIES:
                raise RuntimeError(f"{tree} has too many files")
            if entry.is_dir():
                folders += [] if entry.name.startswith(".") else [entry.path]
            elif os.path.splitext(entry.name)[1][1:] in suffixes and entry.is_file():
                states[entry.path] = _state(entry.stat())
                yield entry.path


def _state(file: os.stat_result) -> str:
    return f"{file.st_size} {file.st_mtime_ns} {file.st_ctime_ns}"


def _content(path: str) -> bytes:
    try:
        return b"" if os.path.getsize(path) > _SMALL_FILE else Path(path).read_bytes()
    except OSError:  # NVRTC cannot read it either
        return b""


def _elsewhere(folder: str, content: bytes, searched: Sequence[str]) -> set[str]:
    """The files outside the trees, or with a suffix of their own, that a file in ``folder`` may include."""
    names = {os.fsdecode(name) for pattern in (_ELSEWHERE, _UNUSUAL) for name in pattern.findall(content)}
    places = {os.path.abspath(os.path.join(base, name)) for name in names for base in (folder, *searched)}
    # Files of /proc have no size.
    return {place for place in places if os.path.isfile(place) and os.path.getsize(place)}


def _values(options: Sequence[str], *names: str) -> Iterator[str]:
    """The values of an option, as NVRTC takes them: ``-Ivalue``, ``-I value``, ``-I=value``, or in the next one."""
    for option, following in itertools.pairwise((*options, "")):
        if option in names:
            yield following.strip()
        elif option.startswith("-I") and "-I" in names:
            yield option[2:].strip().removeprefix("=")
        elif option.startswith(tuple(f"{name}=" for name in names)):
            yield option.partition("=")[2].strip()
