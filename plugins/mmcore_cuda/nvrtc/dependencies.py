"""The files that the code of a source depends on, and whether they have changed.

A file is identified by its size, times and inode. A path where NVRTC would find a file first, if there were one, counts
too. CUDA's own headers are complete and are not followed; their folders in the options identify them.
"""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from mmcore.files import TEXT_BYTES, Unreadable, read_bytes
from mmcore_cuda.cuda_source.includes import Include, candidates, includes, option_values, search_folders

# Options with which NVRTC reads files other than headers.
_READS_OTHERS = re.compile("pch|options-file")
_ABSENT = ""
# The files found in this process. Configs differ in macros, and most macros do not matter here.
_known: dict[tuple[str, str, tuple[str, ...], str], tuple[dict[str, str] | None, dict[str, str]]] = {}


def dependencies(source: Path, text: str, options: Sequence[str]) -> dict[str, str] | None:
    """Return the state of each file that a source depends on, by path; None if it is unknown which files are read.

    The options are NVRTC's, except those for CUDA's own headers.
    """
    states = _known_files(source, text, options)[0]
    return None if _READS_OTHERS.search(" ".join(options)) else states


def unreadable(source: Path, text: str, options: Sequence[str]) -> dict[str, str]:
    """Return why headers are not read, by their names in directives: pipes, devices and files that are too large."""
    return _known_files(source, text, options)[1]


def _known_files(source: Path, text: str, options: Sequence[str]) -> tuple[dict[str, str] | None, dict[str, str]]:
    relevant = tuple(
        option for option in options if not option.startswith("-D") or re.search('["<>]|^-D[^=]*$', option)
    )
    asked = (os.path.abspath(source), text, relevant, os.getcwd())
    if asked not in _known or not unchanged(_known[asked][0] or {}):
        refused: dict[str, str] = {}
        _known[asked] = _followed(source, text, options, refused), refused
    return _known[asked]


def _followed(source: Path, text: str, options: Sequence[str], refused: dict[str, str]) -> dict[str, str] | None:
    searched = search_folders(options)
    states: dict[str, str] = {}
    find = functools.partial(_found, searched=searched, states=states, refused=refused)
    pending = [(os.path.dirname(os.path.abspath(source)), text.encode(errors="surrogateescape"))]
    named = [Include(name, True) for name in option_values(options, "-include", "--pre-include")]
    for name in named:
        for folder in (os.getcwd(), pending[0][0]):
            pending += find(name, folder)
    computed, macros = set[str](), {option[2:].partition("=")[0] for option in options if option.startswith("-D")}
    in_macros, folders = dict.fromkeys(_in_macros(options)), dict[str, None]()
    while pending:
        folder, content = pending.pop()
        listed = includes(content)
        macros |= listed.macros
        computed |= listed.computed
        in_macros |= dict.fromkeys(listed.in_macros)
        folders |= {folder: None} if listed.computed else {}
        for include in listed.names:
            pending += find(include, folder)
        if not pending:
            pending += [each for name in in_macros for place in folders for each in find(name, place)]
    return None if computed - macros else states


def forget() -> None:
    """Forget the states of files, as if in another process."""
    _known.clear()


def unchanged(states: Mapping[str, str]) -> bool:
    """Return whether all the files are unchanged."""
    return all(_state(path) == state for path, state in states.items())


def _found(
    include: Include, folder: str, searched: Sequence[str], states: dict[str, str], refused: dict[str, str]
) -> list[tuple[str, bytes]]:
    """Return the folder and content of the file that a name refers to, unless it is known already or refused."""
    for path in candidates(include, folder, searched):
        known = states.get(path)
        if known is None:
            states[path] = known = _state(path)
            if known != _ABSENT:
                try:
                    return [(os.path.dirname(path), read_bytes(path, TEXT_BYTES))]
                except Unreadable as error:
                    refused |= {} if os.path.isdir(path) else {include.name: f"{path}: {error.strerror}"}
                except OSError:  # NVRTC cannot read it either
                    pass
                return []
        if known != _ABSENT:
            break
    return []


def _in_macros(options: Sequence[str]) -> list[Include]:
    """Return the headers that ``-D`` gives to macros."""
    values = (option.partition("=")[2] for option in options if option.startswith("-D"))
    return [each for value in values for each in includes(f"#include {value}\n".encode()).names]


def _state(path: str) -> str:
    try:
        file = os.stat(path)
    except (OSError, ValueError):
        return _ABSENT
    return f"{file.st_size} {file.st_mtime_ns} {file.st_ctime_ns} {file.st_ino}"
