"""Locks between processes. The operating system frees one when its holder ends; a holder's children may use it too."""

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

from mmcore.cache_directory import cache_directory
from mmcore.errors import MmcoreError
from mmcore.files import read_text, replace

_ANCESTORS = "MMCORE_LOCK_HOLDERS"


class LockFailed(MmcoreError):
    """A lock between processes cannot be kept on this machine."""


class Holder(NamedTuple):
    """The process that holds a lock: its number, empty while it has not written it yet, and its command."""

    pid: str
    command: str

    def __str__(self) -> str:
        return f"process {self.pid} ({self.command})" if self.pid else "another process"


class Lock:
    """The lock of what every process knows by one name: a device's identity, a file's path; raises LockFailed."""

    def __init__(self, name: str) -> None:
        path = _placed(hashlib.sha256(name.encode(errors="surrogateescape")).hexdigest() + ".lock")
        self._lock = filelock.FileLock(path, mode=0o600, thread_local=False)
        # A file of its own: some versions of filelock truncate the lock's as they open it.
        self._holder = path.with_suffix(".holder")

    def try_to_take(self) -> Holder | None:
        """Take the lock, unless somebody else holds it, who is then returned."""
        ancestors = os.environ.get(_ANCESTORS, "").split()
        try:
            if not self._lock.is_locked:
                self._lock.acquire(blocking=False)
                with contextlib.suppress(OSError):  # on a full disk a lock is held without a name
                    self._holder.unlink(missing_ok=True)
                    replace(self._holder, f"{os.getpid()} {_command()}".encode(errors="replace"))
                os.environ[_ANCESTORS] = " ".join({*ancestors, str(os.getpid())})
            return None
        except filelock.Timeout:
            text = " "
            with contextlib.suppress(OSError):  # it has not been written yet
                text = read_text(self._holder, "replace")
            holder = Holder(*text.partition(" ")[::2])
            return None if holder.pid in ancestors else holder
        except (OSError, NotImplementedError) as error:
            raise LockFailed(f"files cannot be locked under {self._holder.parent}: {error}") from None

    def take(self, busy: Callable[[Holder], None]) -> None:
        """Take the lock; where somebody else holds it, tell ``busy`` who does, once, and wait."""
        if holder := self.try_to_take():
            busy(holder)
            while self.try_to_take():
                time.sleep(0.2)

    def release(self) -> None:
        """Give the lock back, if it was taken."""
        if self._lock.is_locked:
            with contextlib.suppress(OSError):
                self._holder.unlink()
            self._lock.release()


def _placed(file: str) -> Path:
    """A file in a folder that is the user's alone: with the cache, or with temporary files where that cannot be."""
    for parent, name in ((cache_directory, "locks"), (tempfile.gettempdir, f"mmcore-locks-{os.getuid()}")):
        try:
            folder = Path(parent(), name)
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if folder.is_symlink() or folder.stat().st_uid != os.getuid():
                raise PermissionError(f"{folder} is a link, or another user's")
            folder.chmod(0o700)
            os.close(os.open(folder / file, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600))
            return folder / file
        except (OSError, MmcoreError) as error:
            reason = error
    raise LockFailed(f"there is no folder for locks: {reason}; MMCORE_CACHE_DIR can name one")


def _command() -> str:
    program = Path(sys.argv[0])
    name = program.parent.name if program.name == "__main__.py" else program.name
    return shlex.join([name, *sys.argv[1:]])[:100]
