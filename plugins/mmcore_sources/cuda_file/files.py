"""From a path and what a user says to the kernel in the file, under a name of its own."""

from __future__ import annotations

import contextlib
import functools
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mmcore.errors import InvalidKernel
from mmcore.files import read_text
from mmcore.kernel.declaration import Kernel
from mmcore.kernel_reference import FileKernel
from mmcore_cuda.nvrtc.dependencies import dependencies
from mmcore_sources.cuda_file.inference import Inferred, infer
from mmcore_sources.cuda_file.notes import told
from mmcore_sources.cuda_file.options import normalised, words_of


def file_kernel(reference: Mapping[str, Any], taken: Mapping[str, FileKernel]) -> FileKernel:
    """The kernel of a file.

    Args:
        reference: the file's path as "file", and what is said of it by name: the options, or attributes of a kernel.
            What was "inferred" before is inferred again.
        taken: the kernels of other files, by name.

    Raises:
        InvalidKernel: the file cannot be read, or does not tell what is needed.
    """
    path = path_of(reference)
    inferred = inferred_of(reference)
    name = reference.get("name") or _name(path, taken)
    kernel = Kernel(**{**inferred.attributes, "name": name}, source=path)
    words = (_shown(path), *words_of(reference))
    notes = {note.what: note.value for note in inferred.notes}
    named = {**reference, "file": str(path), "name": name, "inferred": notes}
    return FileKernel(kernel, named, words, told(path.name, inferred.notes))


def path_of(reference: Mapping[str, Any]) -> Path:
    """Return the absolute path of a file; InvalidKernel where it has none in UTF-8, which messages to NVRTC are in."""
    path = Path(reference["file"])
    try:
        path = path.absolute()
        str(path).encode()
    except FileNotFoundError:
        raise InvalidKernel(f"{path} cannot be read: the working directory is gone") from None
    except UnicodeEncodeError:
        raise InvalidKernel(f"{_shown(path)} cannot be read: its name, or a folder's, is not UTF-8") from None
    return path


def inferred_of(reference: Mapping[str, Any]) -> Inferred:
    """What is inferred of a file, with what is said of it."""
    path = path_of(reference)
    given, text = normalised(reference), _text(path)
    return _inferred(path, text, tuple(headers_of(path, text).items()), json.dumps(given, sort_keys=True))


@functools.lru_cache(maxsize=64)
def _inferred(path: Path, text: str, headers: tuple[tuple[Path, str], ...], given: str) -> Inferred:
    said = {name: value for name, value in json.loads(given).items() if name != "name"}
    try:
        return infer(path, text, said, [(each.name, content) for each, content in headers])
    except RecursionError:
        raise InvalidKernel(f"{_shown(path)} cannot be read: its expressions are nested too deeply") from None


def headers_of(path: Path, text: str) -> dict[Path, str]:
    """The texts of the headers that a file includes, and of theirs; CUDA's own are none of them."""
    found: dict[Path, str] = {}
    for each in map(Path, dependencies(path, text, ()) or ()):
        with contextlib.suppress(OSError):
            found[each] = read_text(each, "replace")
    return found


def _text(path: Path) -> str:
    if path.is_dir():
        raise InvalidKernel(f"{_shown(path)} is a folder, not a .cu file")
    try:
        return read_text(path)
    except FileNotFoundError:
        raise InvalidKernel(f"there is no file {_shown(path)}") from None
    except OSError as error:
        raise InvalidKernel(f"{_shown(path)} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InvalidKernel(f"{_shown(path)} cannot be read: it is not UTF-8 text") from None


def _shown(path: Path) -> str:
    """A path as a user types it here."""
    with contextlib.suppress(FileNotFoundError, ValueError):  # there is no working directory, or it is elsewhere
        return str(path.relative_to(Path.cwd()))
    return str(path)


def _name(path: Path, taken: Mapping[str, FileKernel]) -> str:
    """A name of the file's own, and as much of its folders' as tells it from others."""
    words = ["".join(each if each.isalnum() and each.isascii() else "_" for each in part.lower())
             for part in (path.stem, *path.parent.parts[:0:-1])]  # fmt: skip
    words = [word.lstrip("_") or "kernel" for word in words]
    others = {name for name, each in taken.items() if each.kernel.source != path}
    names = [".".join(["file", *reversed(words[:count])]) for count in range(1, len(words) + 1)]
    return next((name for name in names if name not in others), names[-1])
