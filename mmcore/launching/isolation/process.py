"""The other side of a worker process: starting it, asking it, and ending it."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import subprocess
import sys
import weakref
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any, TypeVar

from mmcore import errors
from mmcore.errors import DeviceLost, MmcoreError

_T = TypeVar("_T")

# Ending a process that has a kernel running takes the driver a moment.
_END_SECONDS = 60.0
_STDERR = 2


class WorkerLost(DeviceLost):
    """The worker process is no more; the text says why.

    Attributes:
        kind: "timeout" or "process-death", as in :class:`~mmcore.launching.faults.Fault`.
    """

    def __init__(self, kind: str, reason: str) -> None:
        self.kind = kind
        super().__init__(reason)


class WorkerProcess:
    """A worker process, running until :meth:`end`, or until nobody holds this any more."""

    def __init__(self) -> None:
        self._connection, theirs = multiprocessing.Pipe()
        self._process = _started(theirs)
        self._end = weakref.finalize(self, _end, self._process, self._connection, os.getpid())

    @property
    def alive(self) -> bool:
        """Whether it was not ended, nor found dead."""
        return self._end.alive

    def ask(self, function: Callable[..., Any], *arguments: Any, seconds: float | None) -> Any:
        """What a function returns there.

        Args:
            function: one that can be imported by its name.
            arguments: its arguments.
            seconds: how long it may take; as long as it likes when None.

        Raises:
            WorkerLost: the process died, or was ended as it took too long.
            MmcoreError: what the function raised.
        """
        try:
            self._connection.send((function, arguments))
            if not self._connection.poll(None if seconds is None else max(seconds, 0.0)):
                self.end()
                raise WorkerLost("timeout", "the time limit was reached")
            name, answer = self._connection.recv()
        except (EOFError, ConnectionError):
            raise WorkerLost("process-death", self._death()) from None
        if name:
            raise getattr(errors, name, MmcoreError)(answer)
        return answer

    def end(self) -> None:
        """End the process at once, whatever it is doing, and free what it holds."""
        self._end()

    def _death(self) -> str:
        """Why the process, which has closed the connection, is no more."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_END_SECONDS)
        status = self._process.poll()
        self.end()
        if status is not None and status < 0:
            return f"the process that ran it was killed by {signal.Signals(-status).name}"
        return f"the process that ran it ended with status {status}"


def _end(process: subprocess.Popen[bytes], connection: Connection, parent: int) -> None:
    # A process that was forked off its parent leaves it alone.
    if os.getpid() == parent:
        process.kill()
        connection.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_END_SECONDS)


def _started(theirs: Connection) -> subprocess.Popen[bytes]:
    """The process, which alone holds its end of the connection."""
    # -P: what lies in the working directory is no module of ours; the path is this process's own.
    command = [sys.executable, "-P", "-m", "mmcore.launching.isolation", str(theirs.fileno())]
    path = os.pathsep.join(entry or os.getcwd() for entry in sys.path)
    with theirs:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            # What a kernel prints is no part of a command's output.
            stdout=_STDERR,
            pass_fds=(theirs.fileno(),),
            env={**os.environ, "PYTHONPATH": path},
        )
