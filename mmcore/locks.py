"""Locks between processes: what one of them uses alone, the others wait for or do without.

The operating system frees a lock when its holder ends, however it ends. A process may use what one of its ancestors
holds: the ancestor is waiting for it.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from mmcore.cache import cache_directory
from mmcore.errors import LockFailed

_ANCESTORS = "MMCORE_LOCK_HOLDERS"
_POLL_SECONDS = 0.2
_LONGEST = 100


@dataclass(frozen=True)
class Holder:
    """Who holds a lock.

    Attributes:
        pid: number of the process; empty while it has not written it yet.
        command: what it was started as.
    """

    pid: str
    command: str

    def __str__(self) -> str:
        return f"process {self.pid} ({self.command})" if self.pid else "another process"


class Lock:
    """A lock of the user's, known by a name.

    Args:
        name: of what is locked, the same in every process: a device's identity, a file's absolute path.
    """

    def __init__(self, name: str) -> None:
        self._file = _folder() / re.sub(r"[^A-Za-z0-9.-]+", "-", name)[-_LONGEST:]
        self._descriptor: int | None = None

    def try_to_take(self) -> Holder | None:
        """Take the lock, unless somebody else holds it, who is then returned.

        Raises:
            LockFailed: locks cannot be kept here.
        """
        if self._descriptor is not None:
            return None
        descriptor = self._opened()
        if _locked(descriptor):
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, f"{os.getpid()} {_command()}".encode(), 0)
            os.environ[_ANCESTORS] = " ".join({*_ancestors(), str(os.getpid())})
            self._descriptor = descriptor
            return None
        pid, _, command = os.pread(descriptor, 4096, 0).decode(errors="replace").partition(" ")
        os.close(descriptor)
        return None if pid in _ancestors() else Holder(pid, command)

    def take(self, busy: Callable[[Holder], None]) -> None:
        """Take the lock; where somebody else holds it, say so once and wait.

        Args:
            busy: is told who holds it, before the wait begins.

        Raises:
            LockFailed: locks cannot be kept here.
        """
        holder = self.try_to_take()
        if holder is None:
            return
        busy(holder)
        while self.try_to_take() is not None:
            time.sleep(_POLL_SECONDS)

    def release(self) -> None:
        """Give the lock back, if it was taken."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)

    def _opened(self) -> int:
        try:
            return os.open(self._file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise LockFailed(f"the lock {self._file} cannot be made: {error.strerror}") from None


def _locked(descriptor: int) -> bool:
    import fcntl

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        os.close(descriptor)
        raise LockFailed(f"files cannot be locked under {_folder()}: {error.strerror}") from None
    return True


def _folder() -> Path:
    """Where locks are kept: with the cache, or for temporary files where there is none."""
    with contextlib.suppress(OSError, RuntimeError):  # Path.home() knows no home
        return _made(cache_directory() / "locks")
    try:
        return _made(Path(tempfile.gettempdir()) / f"mmcore-locks-{os.getuid()}")
    except OSError as error:
        raise LockFailed(f"there is no folder for locks: {error}; MMCORE_CACHE_DIR can name one") from None


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _ancestors() -> list[str]:
    """Processes, this one and those that it descends from, which have taken locks."""
    return os.environ.get(_ANCESTORS, "").split()


def _command() -> str:
    program = Path(sys.argv[0])
    name = program.parent.name if program.name == "__main__.py" else program.name
    return shlex.join([name, *sys.argv[1:]])[:_LONGEST]
