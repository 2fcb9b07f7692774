"""Another version of a kernel's source, from a folder or a revision of its Git repository, for comparison."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import tempfile
from pathlib import Path
from typing import IO

from mmcore.errors import InvalidKernel
from mmcore.files import DATA_BYTES, cache_directory
from mmcore.kernel.declaration import Kernel

_SECONDS = 60  # time limit of a Git command
# The repository is not trusted: Git must not fetch, nor run programs that its config names.
_OBJECTS_ALONE = {"GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": "none", "GIT_NO_REPLACE_OBJECTS": "1"}


def source_revision(kernel: Kernel, version: str) -> str:
    """Return the path of a kernel's source in another version.

    A version is a folder with a file of the source's name at any depth, or a revision ("HEAD~1", a branch, a tag) of
    the source's repository. The files of the source's folder in that revision are unpacked into the cache. Raises
    InvalidKernel if there is no such folder or revision, or if it has no such file.
    """
    source = kernel.source.resolve()
    if os.path.isdir(version):
        several = [path for path in Path(version).resolve().rglob(source.name) if path.is_file()]
        if not several:
            raise InvalidKernel(f"{kernel.name}: there is no {source.name} in {version}")
        return str(min(sorted(several), key=lambda path: len(path.parts)))
    folder_of_source = source.parent
    absent = InvalidKernel(f"{kernel.name}: there is no {source} in {version}")
    unknown = f"{kernel.name}: {version} is neither a folder, nor a revision of the Git repository of {source}"
    commit = _object(folder_of_source, f"{version}^{{commit}}", InvalidKernel(unknown))
    tree = _object(folder_of_source, f"{commit}:./", absent)
    try:
        # The key has the folder, because Git does not verify that an object matches its name.
        folder = cache_directory() / "revisions" / hashlib.sha256(f"{folder_of_source}\0{tree}".encode()).hexdigest()
        if not folder.is_dir():
            _unpack(folder_of_source, tree, folder)
    except (OSError, RuntimeError, ValueError, subprocess.SubprocessError) as error:
        lacks = "Git does not return its files" if isinstance(error, subprocess.SubprocessError) else error
        reason = getattr(error, "strerror", None) or lacks
        raise InvalidKernel(f"{kernel.name}: {version} cannot be unpacked into the cache: {reason}") from None
    if not (folder / source.name).is_file():
        raise absent
    return str(folder / source.name)


def _object(folder: Path, name: str, unknown: InvalidKernel) -> str:
    """Return the digits of the object that Git knows by a name in a folder."""
    try:
        digits = _git(folder, "rev-parse", "--verify", "--quiet", name).decode().strip()
    except (OSError, ValueError, subprocess.SubprocessError):
        raise unknown from None
    if not re.fullmatch("[0-9a-f]{40,64}", digits):  # Git took the name as an option
        raise unknown
    return digits


def _unpack(repository: Path, tree: str, folder: Path) -> None:
    """Create a folder with a tree's files, which appears only when it is complete."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory(dir=folder.parent, prefix=".") as beside,
        tempfile.TemporaryFile(dir=beside) as blobs,
    ):
        listed = _git(repository, "ls-tree", "-r", "-z", "-l", "--full-tree", tree).split(b"\0")[:-1]
        rows = [(*about.split(), path) for about, _, path in (row.partition(b"\t") for row in listed)]
        # Skip submodules, and files that are too large to compile.
        rows = [row for row in rows if row[1] == b"blob" and not (row[3].isdigit() and int(row[3]) > DATA_BYTES)]
        _git(repository, "cat-file", "--batch", given=b"".join(row[2] + b"\n" for row in rows), output=blobs)
        blobs.seek(0)
        unpacked, links = Path(beside, "made"), dict[Path, str]()
        unpacked.mkdir()
        for mode, _, _, size, name in rows:
            path = unpacked / os.fsdecode(name)
            inside = path.is_relative_to(unpacked) and ".." not in path.parts
            if not inside or not blobs.readline().endswith(b" %s\n" % size):
                raise ValueError(f"the repository has no {path.name} that can be read")
            content = blobs.read(int(size))
            blobs.readline()
            path.parent.mkdir(parents=True, exist_ok=True)
            if mode == b"120000":
                links[path] = os.fsdecode(content)
            else:
                path.write_bytes(content)
        for path, target in links.items():  # last, so that no file is written through one
            path.symlink_to(target)
        try:
            unpacked.rename(folder)
        except OSError:
            if not folder.is_dir():  # else another process was faster
                raise


def _git(folder: Path, *words: str, given: bytes = b"", output: int | IO[bytes] = subprocess.PIPE) -> bytes:
    """Return the output of a Git command that reads objects only; raises the same as :func:`subprocess.run`."""
    done = subprocess.run(
        ["git", "--no-pager", *words],
        cwd=folder,
        env={**os.environ, **_OBJECTS_ALONE},
        input=given,
        stdout=output,
        stderr=subprocess.DEVNULL,
        timeout=_SECONDS,
        check=True,
    )
    return done.stdout or b""
