"""A source with the headers that it includes, at the paths that they have in a package."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mmcore_cuda.cuda_source.includes import below, placed_includes, search_folders, without_search_folders
from mmcore_sources.cuda_file.files import headers_of


@dataclass(frozen=True)
class PackagedSource:
    """A source in a package.

    Attributes:
        path: its path in the package, with slashes.
        files: the texts of the source and of its headers, by path in the package.
        include: folders of headers, relative to the source's.
        options: the compiler's options, without those that name folders of headers.
    """

    path: str
    files: dict[str, str]
    include: tuple[str, ...]
    options: tuple[str, ...]

    @property
    def text(self) -> str:
        return self.files[self.path]


def packaged_source(path: Path, text: str, name: str, options: Sequence[str], folders: Sequence[str]) -> PackagedSource:
    """Return a source under the name ``name``, with its headers as far from each other as on this machine.

    The package's folder stands for the nearest folder above all of them. ``path`` is absolute, without links to folders
    and without ".."; ``folders`` have headers besides those that ``options`` name. The source keeps its own name if a
    header has the other one.
    """
    searched = (*search_folders(options), *map(os.path.abspath, folders))
    toolkits = [each for each in searched if Path(each, "cuda_runtime.h").is_file()]
    found = headers_of(path, text, [f"-I{each}" for each in searched] + list(options))
    headers = {Path(os.path.abspath(each)): content for each, content in found.items()}
    headers = {each: content for each, content in headers.items() if not below(str(each), toolkits)}
    root = Path(os.path.commonpath([path.parent, *(each.parent for each in headers)]))
    target = path.parent / name
    texts = {path if target in headers else target: text, **headers}
    files = {each.relative_to(root).as_posix(): _moved(each, content, headers) for each, content in texts.items()}
    needed = [each for each in dict.fromkeys(searched) if any(below(str(header), [each]) for header in headers)]
    include = tuple(Path(os.path.relpath(each, path.parent)).as_posix() for each in needed)
    return PackagedSource(next(iter(files)), files, include, without_search_folders(options))


def _moved(path: Path, text: str, headers: dict[Path, str]) -> str:
    """Return the text of a file that includes those headers by relative paths which it includes by absolute ones."""
    content = text.encode(errors="surrogateescape")
    for each in reversed(list(placed_includes(content))):
        name = each.include.name
        if os.path.isabs(name) and Path(os.path.normpath(name)) in headers:
            own = Path(os.path.relpath(name, path.parent)).as_posix()
            content = content[: each.name_begin] + f'"{own}"'.encode() + content[each.name_end :]
    return content.decode(errors="surrogateescape")
