"""The submissions of a folder, each named by its student."""

from __future__ import annotations

import hashlib
import itertools
import os
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from mmcore.errors import InvalidKernel, InvalidProblem
from mmcore.files import read_bytes, read_text
from mmcore_sources.python_file.choice import found_kernels, python_program

KERNELS = (".cu", ".py", ".ipynb")
_OF_CPP = (".cpp", ".cc", ".c", ".cxx")
_ARCHIVES = (".zip", ".tar", ".gz", ".tgz", ".bz2", ".xz", ".7z", ".rar")
_HEADERS = (".cuh", ".h", ".hpp")
_MODULE = ".py"
_KERNEL = re.compile(r"__global__[^;{]*?\b(?!__)(\w+)\s*\(")
_MOST_FILES = 200
_MOST_BYTES = 1 << 20
_MOST_NAMES = 5  # of files in a message


@dataclass(frozen=True)
class Submission:
    """A student's submission.

    Attributes:
        student: the file's stem, or the folder's name.
        files: the kernel's file first, then headers or Python modules beside it; relative names and contents.
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


class Submissions(NamedTuple):
    """The submissions of a class, and the names of the files that are no part of one."""

    submissions: tuple[Submission, ...]
    ignored: tuple[str, ...] = ()


def kernel_names(text: str) -> set[str]:
    """Return the names of the ``__global__`` functions of a text."""
    return set(_KERNEL.findall(text))


def file_submission(student: str, path: Path) -> Submission:
    """Return the submission of one file. Raises OSError."""
    return Submission(student, ((path.name, read_bytes(path, _MOST_BYTES)),))


def submissions(folder: Path, part: str = ".") -> Submissions:
    """Return the submissions of a class's folder, one for each student: its files and its folders.

    Args:
        folder: the folder.
        part: the path of the submission in the folder of a student, such as "ps1" or "ps1/mm.cu"; "." is the folder.

    Raises:
        InvalidProblem: there is no submission.
    """
    try:
        paths = sorted(path for path in folder.iterdir() if not path.name.startswith((".", "_")))
    except OSError as error:
        raise InvalidProblem(f"{folder} cannot be read: {error.strerror}") from None
    of_student, ignored = defaultdict[str, list[Path]](list), []
    for path in paths:
        if path.is_dir() or path.is_symlink() or path.suffix.lower() in (*KERNELS, *_OF_CPP, *_ARCHIVES):
            of_student[path.name if path.is_dir() else path.stem].append(path)
        else:
            ignored.append(path.name)
    if not of_student:
        raise InvalidProblem(f"{folder} has no submission: no file ends in {', '.join(KERNELS)}, and it has no folders")
    found = (_submission(student, several, part) for student, several in sorted(of_student.items()))
    return Submissions(tuple(found), tuple(ignored))


def single_submission(student: str, folder: Path, part: str = ".") -> Submission:
    """Return the submission that a folder is; ``part`` is as for :func:`submissions`."""
    if not folder.is_dir():
        raise InvalidProblem(f"{folder} is no folder")
    return _submission(student, [folder.resolve()], part)


def _submission(student: str, paths: Sequence[Path], part: str) -> Submission:
    """Return the submission of a student, of whom there should be one path."""
    path, *others = paths
    if others:
        return Submission(student, refused=f"{len(paths)} submissions have this name: {_names(paths)}")
    if path.is_symlink():
        return Submission(student, refused="it is a link, and not a file")
    if not path.is_dir():
        return _of_file(student, path)
    if not (path / part).exists():
        return Submission(student, refused=f"its folder has no {part}")
    if (path / part).resolve() != path.resolve() / part:
        return Submission(student, refused=f"{part} in its folder is a link")
    return _of_folder(student, path / part)


def _of_file(student: str, path: Path) -> Submission:
    """Return the submission of a file, whose name ends as that of a source or an archive, in any case."""
    suffix = path.suffix.lower()
    if suffix in _ARCHIVES:
        return Submission(student, refused=f"{path.name} is an archive: submit the file, or its folder")
    if path.suffix not in KERNELS:
        right = suffix if suffix in KERNELS else KERNELS[0]
        return Submission(student, refused=f"its name ends in {path.suffix}; rename it to {right}")
    return _read(student, path.parent, [path])


def _of_folder(student: str, path: Path) -> Submission:
    """Return the submission of a folder with one kernel, or of a kernel with the headers and modules of its folder."""
    folder = path if path.is_dir() else path.parent
    files = [*itertools.islice((each for each in _paths(folder) if not each.is_symlink()), _MOST_FILES + 1)]
    if len(files) > _MOST_FILES:
        return Submission(student, refused=f"its folder has more than {_MOST_FILES} files")
    kernels = [path] if path != folder else _kernels([file for file in files if file.suffix in KERNELS])
    if not kernels and (links := [each for each in _paths(folder) if each.is_symlink()]):
        return Submission(student, refused=f"links are not graded: {_names(links, folder)}")
    if not kernels:
        others = f", but {_names(files, folder)}" if files else ""
        return Submission(student, refused=f"its folder has no file that ends in {', '.join(KERNELS)}{others}")
    if len(kernels) > 1:
        names = f"its folder has {len(kernels)} files for a kernel: {_names(kernels, folder)}"
        return Submission(student, refused=f"{names}; submission in the task names the path of one in each folder")
    suffixes = _HEADERS if kernels[0].suffix == ".cu" else (*_HEADERS, _MODULE)
    beside = [file for file in files if file.suffix in suffixes and file not in kernels]
    return _read(student, kernels[0].parent, [*kernels, *beside])


def _kernels(files: Sequence[Path]) -> Sequence[Path]:
    """Return the files of a folder that have kernels; all if none has one."""
    return [file for file in files if len(files) == 1 or _has_kernel(file)] or files


def _has_kernel(file: Path) -> bool:
    """Return whether a file has a kernel; one that cannot be read may have one."""
    if file.suffix != _MODULE:
        return True
    try:
        program = python_program(file, read_text(file))
    except (OSError, ValueError, InvalidKernel):
        return True
    return any(each.is_product or each.launched for each in found_kernels(program).values())


def _names(paths: Sequence[Path], folder: Path | None = None) -> str:
    """Return the first names of some paths, relative to a folder."""
    names = [str(path.relative_to(folder)) if folder else path.name for path in paths]
    more = [f"{len(names) - _MOST_NAMES} more"] if len(names) > _MOST_NAMES else []
    return ", ".join([*names[:_MOST_NAMES], *more])


def _paths(folder: Path) -> Iterator[Path]:
    """Yield the files and links below a folder; hidden ones are skipped."""
    for root, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name[0] not in "._")
        links = [name for name in folders if Path(root, name).is_symlink()]
        yield from (Path(root, name) for name in sorted([*links, *names]) if not name.startswith("."))


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
