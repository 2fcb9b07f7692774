"""Locks between processes. The operating system releases a lock when its holder ends.

A holder's child processes may use its locks too.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shlex
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import filelock

from mmcore.errors import MmcoreError
from mmcore.files import cache_directory, read_text, replace

_ANCESTORS = "MMCORE_LOCK_HOLDERS"


class LockFailed(MmcoreError):
    """An error: files cannot be locked on this machine."""


class Holder(NamedTuple):
    """The process that holds a lock: its process id, empty until the holder has written it, and its command."""

    pid: str
    command: str

    def __str__(self) -> str:
        return f"process {self.pid} ({self.command})" if self.pid else "another process"


class Lock:
    """A lock on a name that all processes share, such as a device's identity or a file's path.

    Raises:
        LockFailed: there is no folder for locks, or files in it cannot be locked.
    """

    def __init__(self, name: str) -> None:
        path = _lock_file(hashlib.sha256(name.encode(errors="surrogateescape")).hexdigest() + ".lock")
        self._lock = filelock.FileLock(path, mode=0o600, thread_local=False)
        # A separate file, because some versions of filelock truncate the lock file when they open it.
        self._holder = path.with_suffix(".holder")

    def try_to_take(self) -> Holder | None:
        """Take the lock and return None, or return the other process that holds it."""
        ancestors = os.environ.get(_ANCESTORS, "").split()
        try:
            if not self._lock.is_locked:
                self._lock.acquire(blocking=False)
                with contextlib.suppress(OSError):  # on a full disk, the lock is held without a name
                    self._holder.unlink(missing_ok=True)
                    replace(self._holder, f"{os.getpid()} {_command()}".encode(errors="replace"))
                os.environ[_ANCESTORS] = " ".join({*ancestors, str(os.getpid())})
            return None
        except filelock.Timeout:
            text = " "
            with contextlib.suppress(OSError):  # the holder has not written it yet
                text = read_text(self._holder, "replace")
            holder = Holder(*text.partition(" ")[::2])
            return None if holder.pid in ancestors else holder
        except (OSError, NotImplementedError) as error:
            raise LockFailed(f"files cannot be locked under {self._holder.parent}: {error}") from None

    def take(self, busy: Callable[[Holder], None]) -> None:
        """Take the lock; if another process holds it, call ``busy`` with the holder once, and wait."""
        if holder := self.try_to_take():
            busy(holder)
            while self.try_to_take():
                time.sleep(0.2)

    def release(self) -> None:
        """Release the lock, if it was taken."""
        if self._lock.is_locked:
            with contextlib.suppress(OSError):
                self._holder.unlink()
            self._lock.release()


def _lock_file(name: str) -> Path:
    """Return a file in a private folder of the user: in the cache directory, or else among temporary files."""
    for parent, folder_name in ((cache_directory, "locks"), (tempfile.gettempdir, f"mmcore-locks-{os.getuid()}")):
        try:
            folder = Path(parent(), folder_name)
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if folder.is_symlink() or folder.stat().st_uid != os.getuid():
                raise PermissionError(f"{folder} is a link, or another user's")
            folder.chmod(0o700)
            os.close(os.open(folder / name, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600))
            return folder / name
        except (OSError, MmcoreError) as error:
            reason = error
    raise LockFailed(f"there is no folder for locks: {reason}; MMCORE_CACHE_DIR can name one")


def _command() -> str:
    program = Path(sys.argv[0])
    name = program.parent.name if program.name == "__main__.py" else program.name
    return shlex.join([name, *sys.argv[1:]])[:100]
