"""Another version of a kernel's source, to be measured beside it: a folder's, or a revision's of its Git repository."""

from __future__ import annotations

import io
import subprocess
import tarfile
from pathlib import Path

from mmcore.cache_directory import cache_directory
from mmcore.errors import InvalidKernel
from mmcore.kernel.declaration import Kernel


def other_source(kernel: Kernel, version: str) -> str:
    """The path of a kernel's source in another version; empty where ``version`` is.

    Args:
        kernel: the kernel.
        version: a folder that holds a file of the source's name, as far below it as need be, or a revision ("HEAD~1",
            a branch, a tag) of the repository that the source lies in, whose files are unpacked into the cache.

    Raises:
        InvalidKernel: there is no such folder or revision, or it has no such file.
    """
    if not version:
        return ""
    source = kernel.source.resolve()
    if Path(version).is_dir():
        found = sorted(Path(version).resolve().rglob(source.name), key=lambda path: len(path.parts))
        if not found:
            raise InvalidKernel(f"{kernel.name}: there is no {source.name} in {version}")
        return str(found[0])
    unknown = f"{kernel.name}: {version} is neither a folder, nor a revision of the Git repository of {source}"
    top = Path(_git(source.parent, unknown, "rev-parse", "--show-toplevel").decode().strip())
    commit = _git(top, unknown, "rev-parse", "--verify", "--quiet", f"{version}^{{commit}}").decode().strip()
    inside, folder = source.relative_to(top), cache_directory() / "revisions" / commit
    absent = f"{kernel.name}: there is no {inside} in {version}"
    if not (folder / inside).is_file():
        archive = _git(top, absent, "archive", commit, str(inside.parent))
        with tarfile.open(fileobj=io.BytesIO(archive)) as files:
            files.extraction_filter = getattr(tarfile, "data_filter", None)  # from Python 3.11.4 on
            files.extractall(folder)
    if not (folder / inside).is_file():
        raise InvalidKernel(absent)
    return str(folder / inside)


def _git(folder: Path, failure: str, *words: str) -> bytes:
    """What Git says in a folder; :class:`InvalidKernel` of that text where it fails."""
    try:
        return subprocess.run(["git", *words], cwd=folder, capture_output=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        raise InvalidKernel(failure) from None
