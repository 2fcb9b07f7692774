"""A source and its project's headers, with edits, and the form in which NVRTC gets them.

NVRTC finds headers in memory by the exact name in a directive. An edited header is passed under its absolute path, and
every file that includes it, directly or not, is passed too, with that path in its directive. NVRTC reads all other
files itself, and finds headers beside an edited one as it would beside the original.
"""

from __future__ import annotations

import codecs
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from mmcore.files import TEXT_BYTES, read_bytes, read_text
from mmcore_cuda.cuda_source.conditionals import opens
from mmcore_cuda.cuda_source.entities import EditableSource
from mmcore_cuda.cuda_source.includes import (
    Include,
    PlacedInclude,
    below,
    candidates,
    includes,
    placed_includes,
    search_folders,
)
from mmcore_cuda.cuda_source.tokens import macros, words
from mmcore_cuda.nvrtc.stand_ins import hides_installed, of_device_alone, own_headers, stand_in


class Project:
    """The files of a source, except CUDA's own headers in the folders ``installed``, which the options name too."""

    def __init__(self, source: Path, text: str, options: Sequence[str], installed: Sequence[str]) -> None:
        self._named = str(source)
        self._root = os.path.abspath(source)
        self._searched = search_folders(options)
        self._installed = tuple(installed)
        self._files: dict[str, EditableSource] = {self._root: EditableSource(text.encode())}
        self._edited: set[str] = set()
        self.in_memory: dict[str, str] = {}

    def _path(self, path: str) -> str:
        return self._root if path == self._named else os.path.abspath(path)

    def file(self, path: str) -> EditableSource | None:
        """Return the source or a header by NVRTC's name for it; None for CUDA's own and unreadable headers."""
        return self._file(self._path(path))

    def name(self, path: str) -> str:
        """Return the user's name of a file."""
        return self._named if path == self._named else os.path.abspath(path)

    def edited(self, path: str) -> None:
        """Record that a file's content differs from the disk."""
        self._edited.add(self._path(path))

    def of_library(self, path: str) -> bool:
        """Return whether a header is in a folder that options name, and not in the source's own folder."""
        folder = os.path.dirname(self._root)
        return below(os.path.abspath(path), [each for each in self._searched if each != folder])

    def files(self) -> Iterator[EditableSource]:
        yield from filter(None, map(self._file, self._reached()))

    def macros(self) -> dict[str, list[bytes]]:
        """Return the texts of each macro that the files define, by name."""
        texts: dict[str, list[bytes]] = {}
        for name, text in (macro for file in self.files() for macro in macros(file.content)):
            texts.setdefault(name, []).append(text)
        return texts

    def macros_with(self, has: Callable[[bytes], bool]) -> set[str]:
        """Return the macros whose text, or the text of a macro that it names, ``has`` something."""
        texts = self.macros()
        found = {name for name, each in texts.items() if any(map(has, each))}
        named = {name: set[str]().union(*map(words, each)) for name, each in texts.items()}
        while more := {name for name, each in named.items() if name not in found and not found.isdisjoint(each)}:
            found |= more
        return found

    def in_body(self, path: str) -> bool:
        """Return whether the body of a function includes a file, directly or not."""
        within = {
            target
            for each in self._reached()
            for directive, target in self._targets(each)
            if (file := self._file(each)) is not None and file.in_body(directive.begin)
        }
        pending = [*within]
        while pending:
            new = {target for _, target in self._targets(pending.pop())} - within
            within |= new
            pending += new
        return self._path(path) in within

    def at_file_scope(self, path: str) -> bool:
        """Return whether the declarations of a file are at file scope in the program, too.

        They are not if the file is included in a body, or if a header or a macro begins a body.
        """
        openers = self.macros_with(opens)
        files = {path: file for path in self._reached() if (file := self._file(path)) is not None}
        targets = {path: self._targets(path) for path in files}
        begun = {path for path, file in files.items() if file.opens}
        while more := {each for each, to in targets.items() if each not in begun and any(a in begun for _, a in to)}:
            begun |= more
        within = begun | {each for each, file in files.items() if file.closes or openers & words(file.code)}
        while more := {
            target
            for each, to in targets.items()
            for directive, target in to
            if target not in within and (each in within or not files[each].at_file_scope(directive.begin))
        }:
            within |= more
        return (asked := self._path(path)) in files and asked not in within

    def stand_in_for_host_headers(self, families: Sequence[str] = ()) -> list[str]:
        """Provide stand-ins for the host headers that the project names; return the names of the new ones.

        Headers whose names begin with one of ``families`` are replaced by empty ones.
        """
        new = []
        for path in list(self._reached()):
            for include in includes(self._content(path)).names:
                content = "" if include.name.startswith(tuple(families)) else stand_in(include.name)
                if content is None or include.name in self.in_memory:
                    continue
                installed_path = self._find(include, os.path.dirname(path))
                hidden = below(installed_path, self._installed) and hides_installed(include.name)
                if not installed_path or hidden or include.name.startswith(tuple(families)):
                    self.in_memory[include.name] = content
                    new.append(include.name)
        return new

    def stand_in_for_the_c_library(self) -> None:
        """Provide stand-ins for the headers that nvcc includes by itself, and for the driver's."""
        folder = os.path.dirname(self._root)
        for name, content in own_headers().items():
            if not self._find(Include(name, True), folder):
                self.in_memory[name] = content
        name = "cuda.h"
        installed_path = self._find(Include(name, False), folder)
        if below(installed_path, self._installed):
            self.in_memory[name] = of_device_alone(read_text(installed_path, "replace"))

    def _find(self, include: Include, folder: str) -> str:
        """Return the path of a header; empty if it is not found."""
        return next(filter(os.path.isfile, candidates(include, folder, self._searched)), "")

    def program(self) -> tuple[str, dict[str, str]]:
        """Return the source, and the headers that NVRTC gets from memory."""
        in_memory = self._edited - {self._root}
        if not in_memory:
            return self._files[self._root].content.decode(), dict(self.in_memory)
        targets = {path: [each for _, each in self._targets(path)] for path in self._reached()}
        while more := {path for path, to in targets.items() if path not in in_memory and not in_memory.isdisjoint(to)}:
            in_memory |= more
        copies = {path: self._redirected(path, in_memory) for path in sorted(in_memory | {self._root})}
        source = copies.pop(self._root)
        return source, self.in_memory | copies

    def _redirected(self, path: str, in_memory: set[str]) -> str:
        content = self._content(path)
        for directive, target in reversed(self._targets(path)):
            if target in in_memory:
                name = b'"' + os.fsencode(target) + b'"'
                content = content[: directive.name_begin] + name + content[directive.name_end :]
        return content.decode(errors="replace")

    def _reached(self) -> Iterator[str]:
        """Yield the source and the headers that it includes, directly or not."""
        seen, pending = {self._root}, [self._root]
        while pending:
            path = pending.pop()
            yield path
            new = dict.fromkeys(target for _, target in self._targets(path) if target not in seen)
            seen.update(new)
            pending += new

    def _targets(self, path: str) -> list[tuple[PlacedInclude, str]]:
        """Return the directives of a file that include another file of the project, with its path."""
        leading = []
        for directive in placed_includes(self._content(path)):
            target = self._find(directive.include, os.path.dirname(path))
            if target and not below(target, self._installed):
                leading.append((directive, target))
        return leading

    def _content(self, path: str) -> bytes:
        file = self._file(path)
        return b"" if file is None else file.content

    def _file(self, path: str) -> EditableSource | None:
        if path not in self._files and not below(path, self._installed):
            try:
                content = read_bytes(path, TEXT_BYTES)
            except OSError:
                return None
            self._files[path] = EditableSource(content.removeprefix(codecs.BOM_UTF8))
            if content.startswith(codecs.BOM_UTF8):
                self._edited.add(path)  # NVRTC refuses the mark
        return self._files.get(path)
