"""The folders of a source's project: the last of a few folders above it that has a repository or a build file."""

from __future__ import annotations

import itertools
import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

_LEVELS, _MOST_FOLDERS = 6, 300
_NEAR = 4  # levels above a file without a project
_ROOTS = (".git", "CMakeLists.txt", "Makefile", "makefile")
_SHARED = re.compile(
    r"(?:\w*[-_])?(?:inc|includes?|headers?|commons?|utils?|utilit(?:y|ies)|helpers?|libs?|src|sources?|core|shared)",
    re.IGNORECASE,
)
"""The names of folders whose headers the files of other folders use."""


def folders_of_project(path: Path) -> Iterator[Path]:
    """Yield the folders of a file's project, the nearest ones first; without a project, its folder."""
    for folder in _project(path) or [path.parent]:
        yield from _below(folder)


def folders_of_headers(path: Path) -> Iterator[Path]:
    """Yield the folders of a file's project; without a project, its folder, and those for headers near it."""
    yield from folders_of_project(path)
    apart = {Path.home(), Path(tempfile.gettempdir()).resolve(), Path(path.anchor)}
    above = [] if _project(path) else itertools.islice(path.parents, 1, _NEAR)
    for folder in itertools.takewhile(lambda each: not apart & {each, each.resolve()}, above):
        yield folder
        for name in filter(_SHARED.fullmatch, sorted(next(os.walk(folder), ("", [], []))[1])):
            yield from _below(folder / name)


def _project(path: Path) -> list[Path]:
    """Return the folders above a file up to its project's; none without a project."""
    above = list(itertools.islice(path.parents, _LEVELS))
    roots = [position for position, each in enumerate(above) if any((each / sign).exists() for sign in _ROOTS)]
    return above[: max(roots) + 1] if roots else []


def _below(folder: Path) -> Iterator[Path]:
    yield folder
    below = (Path(place) / name for place, names, _ in os.walk(folder) for name in sorted(names))
    yield from (each for each in itertools.islice(below, _MOST_FOLDERS) if not each.name.startswith("."))
