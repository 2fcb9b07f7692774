"""The folders of a source's project: the last of a few folders above it that has a repository or a build file."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from pathlib import Path

_LEVELS, _MOST_FOLDERS = 6, 300
_NEAR = 3  # levels above a file without a project
_ROOTS = (".git", "CMakeLists.txt", "Makefile", "makefile")


def folders_of_project(path: Path) -> Iterator[Path]:
    """Yield the folders of a file's project, the nearest ones first; without a project, its folder."""
    yield from _below(_above(path, 1))


def folders_nearby(path: Path) -> Iterator[Path]:
    """Yield the folders of a file's project; without a project, those below a few folders above it."""
    yield from _below(_above(path, _NEAR))


def _above(path: Path, least: int) -> list[Path]:
    """Return the folders above a file up to its project's, and at least a few."""
    above = list(itertools.islice(path.parents, _LEVELS))
    roots = [position for position, each in enumerate(above) if any((each / sign).exists() for sign in _ROOTS)]
    return above[: max(roots) + 1] if roots else above[:least]


def _below(folders: list[Path]) -> Iterator[Path]:
    for folder in folders:
        yield folder
        below = (Path(place) / name for place, names, _ in os.walk(folder) for name in sorted(names))
        yield from (each for each in itertools.islice(below, _MOST_FOLDERS) if not each.name.startswith("."))
