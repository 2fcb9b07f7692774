"""The headers of a kernel's own project, whose lines are shown, among those of compilers and libraries."""

from __future__ import annotations

import functools
import os
import re

_LIBRARY = re.compile(
    r"\..+|(?:site|dist)-packages|third[-_]?party|3rd[-_]?party|extern(?:al)?s?|vendor(?:ed)?|_?deps|submodules?"
    r"|cuda-\d.*|cutlass.*|cute|cccl|cub|thrust",
    re.IGNORECASE,
)
"""The names of folders that contain the headers of libraries."""
_SIGNS = (".git", "LICENSE", "LICENSE.txt", "LICENSE.md", "COPYING")  # in the folder of another project


@functools.lru_cache(maxsize=1024)
def is_of_project(header: str, source: str) -> bool:
    """Return whether a file belongs to the project of a source, by their absolute paths.

    A library is apart from the source, or in a folder with a name for libraries, or with a licence of its own.
    """
    header, folder = os.path.normpath(header), os.path.dirname(os.path.normpath(source))
    if not (os.path.isabs(header) and os.path.isabs(folder) and os.path.isfile(header)):
        return False
    common, between = os.path.commonpath([header, folder]), os.path.dirname(header)
    while len(between) > len(common):
        signs = (os.path.exists(os.path.join(between, each)) for each in _SIGNS)
        if _LIBRARY.fullmatch(os.path.basename(between)) or any(signs):
            return False
        between = os.path.dirname(between)
    return os.path.dirname(common) != common
