"""The folders of a project's headers that a file includes by their names alone, as a build passes them with ``-I``."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from mmcore.files import read_text
from mmcore_cuda.cuda_source.includes import Include, candidates, includes, search_folders
from mmcore_cuda.cuda_source.project_folders import folders_of_headers
from mmcore_cuda.nvrtc.cuda_headers import cuda_headers
from mmcore_cuda.nvrtc.dependencies import dependencies
from mmcore_cuda.nvrtc.stand_ins import FAMILIES, is_of_samples, stand_in

_MOST_ROUNDS = 8


def header_folders(path: Path, text: str, options: Sequence[str]) -> tuple[str, ...]:
    """Return folders of a file's project that contain the headers which its own folder and ``options`` lack."""
    folders: list[str] = []
    for _ in range(_MOST_ROUNDS):
        absent = list(lacking(path, text, [*options, *(f"-I{folder}" for folder in folders)]))
        project = folders_of_headers(path) if absent else iter(())
        found = next((folder for folder in project if any((folder / each.name).is_file() for each in absent)), None)
        if found is None:
            break
        folders.append(str(found))
    return tuple(folders)


def lacking(path: Path, text: str, options: Sequence[str]) -> Iterator[Include]:
    """Yield the headers that are in no folder, and that are neither CUDA's nor the host's."""
    searched = (*search_folders(options), *cuda_headers().all_folders)
    states = dependencies(path, text, tuple(options)) or {}
    texts = [(path.parent, text)]
    for each in (Path(name) for name, state in states.items() if state):
        try:
            texts.append((each.parent, read_text(each, "replace")))
        except OSError:
            continue
    for folder, content in texts:
        for include in includes(content.encode(errors="replace")).names:
            known = stand_in(include.name) is not None or include.name.startswith(FAMILIES)
            own = candidates(include, str(folder), searched) if include.quoted else ()
            places = own or [os.path.join(each, include.name) for each in searched]
            if not known and not any(map(os.path.isfile, places)):
                yield include


def sample_headers(path: Path, text: str) -> Iterator[Path]:
    """Yield a project's copies of headers of CUDA's samples, which a source includes and NVRTC does not read."""
    for name in (each.name for each in includes(text.encode()).names if is_of_samples(each.name)):
        places = (folder / name for folder in folders_of_headers(path))
        yield from itertools.islice((each for each in places if each.is_file()), 1)
