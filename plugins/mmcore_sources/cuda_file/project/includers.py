"""Sources of a project that include a header, which may not compile without what they declare before it."""

from __future__ import annotations

from pathlib import Path

from mmcore.errors import InvalidKernel, NoKernel
from mmcore_cuda.cuda_source.includes import candidates, includes
from mmcore_sources.cuda_file.project.other_files import products_of
from mmcore_sources.cuda_file.project.sources import sources_of_project

_SOURCES = (".cu", ".cpp", ".cc")
_MOST = 3  # products of a header that are named


def with_includer(path: Path, text: str, error: InvalidKernel) -> InvalidKernel:
    """Return a file's error, with the commands for the source that includes the file if it is a header."""
    source = None if path.suffix in _SOURCES else including_source(path)
    if source is None:
        return error
    found = NoKernel(f"{error}\n{source.name} includes {path.name}, and may declare what it lacks")
    found.file, found.others = path, (source,)
    found.options = tuple(f"--entry {each.name}" for each in products_of(text)[:_MOST])
    return found


def including_source(header: Path) -> Path | None:
    """Return the nearest source of a header's project that includes it, directly or not; None without one."""
    others = dict(sources_of_project(header))
    pending, seen = [header], {header}
    while pending:
        included = pending.pop(0)
        for other, content in others.items():
            if other in seen or included.name not in content:
                continue
            named = includes(content.encode()).names
            if any(str(included) in candidates(each, str(other.parent), ()) for each in named):
                if other.suffix in _SOURCES:
                    return other
                seen.add(other)
                pending.append(other)
    return None
