"""The submissions of a folder, each named by its student."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from os.path import normpath
from pathlib import Path

from mmcore.errors import InvalidProblem
from mmcore.files import read_bytes

KERNELS = (".cu", ".py", ".ipynb")
_HEADERS = (".cuh", ".h", ".hpp")
_INCLUDED = re.compile(r'#[ \t]*include[ \t]*\\?"([^"\\\n]+)')  # a notebook escapes quotation marks
_KERNEL = re.compile(r"__global__[^;{]*?\b(?!__)(\w+)\s*\(")
_MOST_FILES = 200
_MOST_BYTES = 1 << 20


@dataclass(frozen=True)
class Submission:
    """A student's submission.

    Attributes:
        student: the file's stem, or the folder's name.
        files: the kernel's file first, then headers beside it; relative names and contents.
        refused: why it cannot be graded; empty otherwise.
    """

    student: str
    files: tuple[tuple[str, bytes], ...] = ()
    refused: str = ""

    @property
    def file(self) -> str:
        """The name of the kernel's file."""
        return self.files[0][0] if self.files else ""

    @property
    def text(self) -> str:
        """The text of the kernel's file."""
        return self.files[0][1].decode(errors="replace") if self.files else ""

    def digest(self, *further: str) -> str:
        """Return a digest of the files and of further texts."""
        digest = hashlib.sha256()
        for part in (*further, self.refused, *(part for each in self.files for part in each)):
            data = part if isinstance(part, bytes) else part.encode()
            digest.update(b"%d:%s" % (len(data), data))
        return digest.hexdigest()[:32]


def kernel_names(text: str) -> set[str]:
    """Return the names of the ``__global__`` functions of a text."""
    return set(_KERNEL.findall(text))


def ignored(folder: Path) -> Sequence[str]:
    """Return the names of a folder's files that are no part of a submission, without hidden ones."""
    files = (path for path in folder.iterdir() if path.is_file() and not path.name.startswith((".", "_")))
    names = {path.name for path in files if path.suffix not in KERNELS and not path.is_symlink()}
    alone = _alone(folder)
    return sorted(names - {name for name, _ in (alone.files if alone else ())})


def file_submission(student: str, path: Path) -> Submission:
    """Return the submission of one file. Raises OSError."""
    return Submission(student, ((path.name, read_bytes(path, _MOST_BYTES)),))


def submissions(folder: Path) -> Sequence[Submission]:
    """Return the submissions of a folder: its files, and its folders with one file for a kernel each.

    A folder whose only kernel includes headers of it is the submission of that file. Raises InvalidProblem if there are
    none, or two of one student.
    """
    try:
        paths = sorted(path for path in folder.iterdir() if not path.name.startswith((".", "_")))
    except OSError as error:
        raise InvalidProblem(f"{folder} cannot be read: {error.strerror}") from None
    if (alone := _alone(folder)) is not None:
        return [alone]
    found = [_submission(path) for path in paths if path.suffix in KERNELS or path.is_dir() or path.is_symlink()]
    students = [each.student for each in found]
    for student in students:
        if students.count(student) > 1:
            raise InvalidProblem(f"{folder} has two submissions of {student}")
    if not found:
        raise InvalidProblem(f"{folder} has no submission: no file ends in {', '.join(KERNELS)}, and it has no folders")
    return found


def _alone(folder: Path) -> Submission | None:
    """Return the submission that a folder is: its only kernel, which includes headers of the folder; else None."""
    files = [*_files(folder)]
    kernels = {path for path in (*files, *folder.iterdir()) if path.suffix in KERNELS and path.name[0] not in "._"}
    if len(kernels) != 1 or len(files) > _MOST_FILES:
        return None
    (kernel,) = kernels
    if kernel.parent != folder or kernel not in files:  # it is a link, then
        return None
    found = _read(kernel.stem, folder, [kernel, *(path for path in files if path.suffix in _HEADERS)])
    included = {normpath(name) for name in _INCLUDED.findall(found.text)}
    return found if included & {name for name, _ in found.files} else None


def _submission(path: Path) -> Submission:
    if path.is_symlink():
        return Submission(path.stem, refused="it is a link, and not a file")
    if not path.is_dir():
        return _read(path.stem, path.parent, [path])
    files = [*_files(path)]
    kernels = [file for file in files if file.suffix in KERNELS]
    if len(files) > _MOST_FILES:
        return Submission(path.name, refused=f"its folder has more than {_MOST_FILES} files")
    if len(kernels) != 1:
        names = ", ".join(str(file.relative_to(path)) for file in kernels) or "none"
        return Submission(path.name, refused=f"its folder must have one file for a kernel, not {names}")
    headers = [file for file in files if file.suffix in _HEADERS]
    return _read(path.name, kernels[0].parent, [*kernels, *headers])


def _files(folder: Path) -> Iterator[Path]:
    """Yield the files below a folder, but one more than the limit at most; links are skipped."""
    count = 0
    for root, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name[0] not in "._")
        for path in (Path(root, name) for name in sorted(names)):
            if not path.is_symlink() and count <= _MOST_FILES:
                yield path
                count += 1


def _read(student: str, folder: Path, paths: Sequence[Path]) -> Submission:
    """Return the submission of some files, whose names are relative to a folder if they are in it."""
    files = []
    for path in paths:
        try:
            content = read_bytes(path, _MOST_BYTES)
        except OSError as error:
            return Submission(student, refused=f"{path.name} cannot be read: {error.strerror}")
        files.append((str(path.relative_to(folder)) if path.is_relative_to(folder) else path.name, content))
    return Submission(student, tuple(files))
