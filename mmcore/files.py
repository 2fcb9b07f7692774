"""Reading and writing of the files that a user, a plugin or the cache names.

The named file may be a pipe, a device, or of any size. Only regular files up to a stated size are read. A file that is
written replaces the present one when it is complete.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from mmcore.errors import MmcoreError

TEXT_BYTES = 8 << 20
"""The size up to which a source, a header, a table or a tuning file is read."""

DATA_BYTES = 64 << 20
"""The size up to which results, machine code or an entry of the cache is read."""

_LINE_BYTES = 1 << 20


class Unreadable(OSError):
    """A file that is not regular, or too large; ``strerror`` is a clause on what it is."""


def read_bytes(path: str | os.PathLike[str], most: int = DATA_BYTES) -> bytes:
    """Return the content of a regular file of at most ``most`` bytes; raises :class:`OSError` for any other."""
    with _opened(path) as file:
        size = os.fstat(file.fileno()).st_size
        # A file of /proc has no size.
        content = file.read(most + 1) if size <= most else b""
    if max(size, len(content)) > most:
        raise Unreadable(errno.EFBIG, f"it has more than {most >> 20} MiB", os.fspath(path))
    return content


def read_text(path: str | os.PathLike[str], errors: str = "strict") -> str:
    """Return a text file of at most :data:`TEXT_BYTES`, without a byte order mark.

    Raises as :func:`read_bytes`, and UnicodeDecodeError if it is not UTF-8.
    """
    return io.TextIOWrapper(io.BytesIO(read_bytes(path, TEXT_BYTES)), "utf-8-sig", errors).read()


def read_lines(path: str | os.PathLike[str]) -> Iterator[bytes]:
    """Yield the lines of a regular file of any size, a longer one than 1 MiB in parts; raises :class:`OSError`."""
    with _opened(path) as file:
        yield from iter(lambda: file.readline(_LINE_BYTES), b"")


def _opened(path: str | os.PathLike[str]) -> BinaryIO:
    # Opening a pipe would block.
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise Unreadable(errno.EINVAL, "it is not a regular file", os.fspath(path))
    return open(path, "rb")


def write(path: Path, content: bytes) -> None:
    """Write a file that a user names; one that was there stays as it is unless the new one is complete.

    A link is followed, and a pipe or a device is written to. Raises :class:`OSError`.
    """
    if path.exists() and not path.is_file():
        path.write_bytes(content)
    elif path.is_file() and not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
    else:
        replace(Path(os.path.realpath(path)), content)


def replace(path: Path, content: bytes) -> None:
    """Write a file beside its place, then rename it over the existing one; raises :class:`OSError`."""
    partial = path.with_name(f".mmcore-{os.getpid()}-{secrets.token_hex(4)}.partial")
    try:
        with partial.open("xb") as file:
            with contextlib.suppress(OSError):
                os.fchmod(file.fileno(), stat.S_IMODE(path.stat().st_mode))
            file.write(content)
            file.flush()
            os.fsync(file.fileno())  # some file systems notice here that they are full
        partial.replace(path)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None
    finally:
        with contextlib.suppress(OSError):
            partial.unlink()


def user_directory(variable: str, xdg: str, usual: str, name: str = "mmcore") -> Path:
    """Return the directory in ``variable``, else ``name`` in the directory in ``xdg``, or in the home's ``usual``.

    Raises MmcoreError if the user has no home, and no variable is set.
    """
    if named := os.environ.get(variable):
        return Path(named)
    try:
        return Path(os.environ.get(xdg) or Path.home() / usual) / name
    except RuntimeError:
        raise MmcoreError(f"there is no home directory; set HOME, or {variable} to a folder") from None


def cache_directory() -> Path:
    """Return the cache's directory; raises as :func:`user_directory`."""
    return user_directory("MMCORE_CACHE_DIR", "XDG_CACHE_HOME", ".cache")
