"""Headers of a project that a file includes by an absolute path of another machine."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from mmcore_cuda.cuda_source.project_folders import folders_of_headers
from mmcore_sources.cuda_file.project.header_folders import lacking

_ABSOLUTE = re.compile(r"(?:[A-Za-z]:)?[\\/]")


def with_own_headers(path: Path, text: str, options: Sequence[str]) -> tuple[str, dict[str, str]]:
    """Return a source that includes its project's headers by relative paths, and these by the paths of the source.

    A header is looked up by the last components of its path, as many as possible.
    """
    found: dict[str, str] = {}
    for name in _absent(path, text, options):
        parts = [each for each in re.split(r"[\\/]", name) if each]
        ends = ["/".join(parts[first:]) for first in range(len(parts))]
        places = (folder / end for end in ends for folder in folders_of_headers(path))
        if (place := next(filter(Path.is_file, places), None)) is not None:
            own = found[name] = os.path.relpath(place, path.parent)
            begin, end = r"^([ \t]*#[ \t]*include[ \t]*)", rf"[\"<]{re.escape(name)}[\">]"
            text = re.sub(begin + end, rf'\g<1>"{own}"', text, flags=re.MULTILINE)
    return text, found


def _absent(path: Path, text: str, options: Sequence[str]) -> Iterator[str]:
    """Yield the absolute paths that a source includes and that do not exist."""
    if re.search(rf"#[ \t]*include[ \t]*[\"<]{_ABSOLUTE.pattern}", text):
        names = dict.fromkeys(each.name for each in lacking(path, text, options))
        yield from filter(_ABSOLUTE.match, names)
