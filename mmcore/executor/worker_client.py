"""The other side of a worker process: starting it, asking it, and ending it."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
import weakref
from collections.abc import Iterator
from typing import Any

from mmcore.errors import DeviceLost, TimeLimit, error_from_json

_GRACE_SECONDS = 3.0  # for a worker that has reached its time limit to say so before it is killed
_START_SECONDS = 120.0  # for a process and its device to start
_END_SECONDS = 60.0  # to end a process that has a kernel running, which takes the driver a moment
_STDERR = 2


class WorkerProcess:
    """A worker process for a device, running until ``end()``, or until this object is deleted."""

    def __init__(self, device: str) -> None:
        self._connection, far_end = socket.socketpair()
        self._process = _started(device, far_end)
        self._lines = _lines(self._connection)
        self._patience = _START_SECONDS
        #: Ends the process at once and frees its resources.
        self.end = weakref.finalize(self, _end, self._process, self._connection, os.getpid())

    @property
    def alive(self) -> bool:
        """Return whether it is running and belongs to this process."""
        return self.end.alive and os.getpid() == self.end.peek()[2][2]  # type: ignore[index]

    def ask(self, target: str, arguments: list[Any], timeout: float | None) -> Any:
        """Call a function there and return its result; see :func:`mmcore.executor.run`."""
        answer: dict[str, Any] = {}
        try:
            request = {"target": target, "arguments": arguments, "timeout": timeout}
            self._connection.sendall(json.dumps(request).encode() + b"\n")
            phase, planned = "start", False
            # Starting, and opening the device, have a time of their own: the limit is for what comes then.
            end = None if timeout is None else time.monotonic() + timeout + self._patience
            while "result" not in answer and "error" not in answer:
                answer = self._next(end, phase, timeout)
                if "phase" in answer:
                    phase = answer["phase"]
                    if timeout is not None and phase == "plan" and not planned:
                        end, planned = time.monotonic() + timeout + _GRACE_SECONDS, True
        except OSError:
            raise DeviceLost(self._death()) from None
        except BaseException:
            self.end()  # no caller waits for the answer any more
            raise
        self._patience = _GRACE_SECONDS
        if answer.get("lost"):
            self.end()
        if "error" in answer:
            raise error_from_json(answer)
        return answer["result"]

    def _next(self, end: float | None, phase: str, timeout: float | None) -> dict[str, Any]:
        """Return the next message. Raises TimeLimit if there is none in time, DeviceLost if there will be none."""
        for line in self._lines:
            message: dict[str, Any] = json.loads(line or b"{}")
            if "result" in message or "error" in message:
                return message
            if end is not None and time.monotonic() > end:
                raise TimeLimit(f"the phase {phase!r} had not ended after {timeout:g} s")
            if line:
                return message
        raise DeviceLost(self._death())

    def _death(self) -> str:
        """Return the reason why the process has closed the connection and ended."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_END_SECONDS)
        status = self._process.poll()
        self.end()
        if status is not None and status < 0:
            return f"the process that ran it was killed by {signal.Signals(-status).name}"
        return f"the process that ran it ended with status {status}"


def _lines(connection: socket.socket) -> Iterator[bytes]:
    """Yield the lines that arrive, and an empty one now and then while none does, until the connection closes."""
    kept = b""
    while True:
        if not select.select([connection], [], [], 0.2)[0]:
            yield b""
            continue
        received = connection.recv(1 << 20)
        if not received:
            return
        *lines, kept = (kept + received).split(b"\n")
        yield from filter(None, lines)


def _end(process: subprocess.Popen[bytes], connection: socket.socket, parent: int) -> None:
    if os.getpid() == parent:  # a process that was forked off its parent leaves it alone
        process.kill()
        connection.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_END_SECONDS)


def _started(device: str, far_end: socket.socket) -> subprocess.Popen[bytes]:
    """Start the process, which alone has its end of the connection."""
    # -P: the working directory is not searched for modules; the path is this process's own.
    command = [sys.executable, "-P", "-m", "mmcore.executor", device, str(far_end.fileno())]
    folder = "/"
    with contextlib.suppress(FileNotFoundError):  # Python does not start in a folder that is gone
        folder = os.getcwd()
    path = os.pathsep.join(entry or folder for entry in sys.path)
    with far_end:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=_STDERR,  # what a plugin or a kernel prints is no part of a command's output
            pass_fds=(far_end.fileno(),),
            cwd=folder,
            # A Ctrl-C in the terminal is for the command alone: the end of the connection ends the process.
            process_group=0,
            env={**os.environ, "PYTHONPATH": path},
        )
