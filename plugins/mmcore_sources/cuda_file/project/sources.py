"""Other sources of a file's project: those that launch its kernels, and those that call what launches them."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from mmcore.files import read_text
from mmcore_cuda.cuda_source.includes import includes
from mmcore_cuda.cuda_source.program import read_program
from mmcore_cuda.cuda_source.project_folders import folders_of_project
from mmcore_cuda.cuda_source.tokens import words
from mmcore_cuda.cuda_source.tree import identifiers, parse
from mmcore_sources.cuda_file.inference.calling_files import functions_to_call
from mmcore_sources.cuda_file.inference.host_calls import calls_in, function_name, functions_of

_SUFFIXES = (".cu", ".cuh", ".cpp", ".cc", ".h", ".hpp")
_MOST_FILES, _MOST_BYTES = 300, 1 << 18


def launching_sources(path: Path, text: str, headers: Collection[str]) -> tuple[tuple[str, str], ...]:
    """Return the names and texts of the project's sources with a launch that a file lacks, at most one for each kernel.

    Those beside a source that it includes follow, except the file itself and its own ``headers``. A source that defines
    a kernel of the same name launches its own.
    """
    program = read_program(text)
    launched = {each.name.rpartition("::")[2] for each in program.launches}
    names = {each.word for each in program.functions} - launched
    if "<<<" in text and not launched - {each.word for each in program.functions}:
        return ()  # its host code launches what it wants to
    found: dict[str, str] = {}
    for other, content in sources_of_project(path) if names else ():
        if "<<<" not in content or names.isdisjoint(words(content.encode())):
            continue
        mentioned = names & {*identifiers(parse(content.encode()))}  # in comments, a name may be any word
        if mentioned and not mentioned & {each.word for each in read_program(content).functions}:
            found[other.name] = content
            found |= {name: each for name, each in _included(other, content) if name not in (path.name, *headers)}
            names -= mentioned
            if not names:
                break
    return tuple(found.items())


def calling_sources(path: Path, texts: Iterable[str], headers: Collection[str]) -> tuple[tuple[str, str], ...]:
    """Return the names and texts of the project's sources that call a function around a launch in a file's ``texts``.

    Its own ``headers`` are left out, and sources in a folder with another function of this name, which they may call.
    """
    found, defining = dict[Path, tuple[set[str], str]](), set[tuple[Path, str]]()
    names = set[str]().union(*(functions_to_call(read_program(text).launches) for text in texts))
    for other, content in sources_of_project(path) if names else ():
        if other.name in headers or not (mentioned := names & words(content.encode())):
            continue
        root = read_program(content).root
        defined = mentioned & {function_name(each) for each in functions_of(root)}
        defining |= {(other.parent, name) for name in defined}
        if called := {name for name in mentioned - defined if calls_in(root, name)}:
            found[other] = called, content
    return tuple(
        (other.name, content)
        for other, (called, content) in found.items()
        if not any((other.parent, name) in defining for name in called)
    )


def _included(path: Path, text: str) -> Iterator[tuple[str, str]]:
    """Yield the names and texts of the files that a source includes by a path from its own folder."""
    for each in includes(text.encode()).names:
        other = path.parent / each.name
        with contextlib.suppress(OSError):
            if each.quoted and other.stat().st_size <= _MOST_BYTES:
                yield other.name, read_text(other, "replace")


def sources_of_project(path: Path) -> Iterator[tuple[Path, str]]:
    """Yield the other sources of a file's project, the nearest ones first."""
    folders = dict.fromkeys(folders_of_project(path))
    files = (each for folder in folders for each in sorted(folder.iterdir()) if each.suffix in _SUFFIXES)
    for other in itertools.islice((each for each in files if each != path), _MOST_FILES):
        try:
            if other.stat().st_size <= _MOST_BYTES:
                yield other, read_text(other, "replace")
        except OSError:
            continue
