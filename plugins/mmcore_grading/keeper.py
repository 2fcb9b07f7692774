"""A process that runs one command under limits, and ends it together with everything that it started.

It is started as a script, with the limits and the command as JSON, and the descriptor of the command's stdout, on its
command line. It imports only the standard library, so that it starts in a few milliseconds. When the command has ended,
it writes to stdout why it ended the command, or nothing.
"""

from __future__ import annotations

import ctypes
import json
import math
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any

_SET_DEATH_SIGNAL, _SET_CHILD_SUBREAPER = 1, 36  # of prctl(2)
_INTERVAL = 0.05  # seconds between two looks at the processes
_GRACE = 5  # processor seconds for the processes to report where they were at the limit
_PAGE, _TICKS = resource.getpagesize(), os.sysconf("SC_CLK_TCK")


def main() -> None:
    """Run the command, watch it, and end all of its processes."""
    limits, command = json.loads(sys.argv[1])
    output = int(sys.argv[2])
    _prctl(_SET_CHILD_SUBREAPER, 1)  # a process whose parent has ended becomes a child of this one
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:  # such as SIGHUP under nohup
            signal.signal(number, lambda *_: _stop())
    _prctl(_SET_DEATH_SIGNAL, signal.SIGTERM)
    process = subprocess.Popen(
        command, stdin=0, stdout=output, stderr=subprocess.DEVNULL, preexec_fn=lambda: _limit(limits)
    )
    os.close(output)
    reason = _watched(process, limits)
    _end_all()
    print(reason)


def _stop() -> None:
    _end_all()
    os._exit(1)


def _prctl(option: int, value: int) -> None:
    ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def _limit(limits: Mapping[str, Any]) -> None:
    """Set the limits of the command's processes; each of them has them."""
    _prctl(_SET_DEATH_SIGNAL, signal.SIGKILL)
    seconds, size, memory = math.ceil(limits["seconds"]), limits["file_bytes"], limits["memory_bytes"]
    for what, most, grace in (("CPU", seconds, _GRACE), ("FSIZE", size, 0), ("DATA", memory, 0), ("CORE", 0, 0)):
        name = getattr(resource, f"RLIMIT_{what}")
        hard = resource.getrlimit(name)[1]
        largest = most + grace if hard == resource.RLIM_INFINITY else min(most + grace, hard)
        resource.setrlimit(name, (min(most, largest), largest))


def _watched(process: subprocess.Popen[bytes], limits: Mapping[str, Any]) -> str:
    """Wait for the command; return why it was ended, or "".

    At the limit of processor time the processes get SIGXCPU, and may still answer where they were.
    """
    end, reached = time.monotonic() + limits["wall_seconds"], False
    late = (
        f"it took more than {limits['seconds']:g} seconds of processor time; limits.seconds of the task sets the limit"
    )
    while process.poll() is None:
        processes = _descendants()
        if len(processes) > limits["processes"]:
            return f"it started more than {limits['processes']} processes; limits.processes of the task sets the limit"
        if sum(map(_memory, processes)) > limits["memory_bytes"]:
            return f"it used more than {limits['memory_bytes'] >> 20} MB; limits.memory_mb of the task sets the limit"
        spent = sum(map(_seconds, processes))
        if spent > limits["seconds"]:
            reached = True
            _send(signal.SIGXCPU, processes)
        if spent > limits["seconds"] + _GRACE:
            return late
        if time.monotonic() > end:
            return f"it took more than {limits['wall_seconds']:g} seconds, 20 times limits.seconds of the task"
        time.sleep(_INTERVAL)
    return late if reached or process.returncode == -signal.SIGXCPU else ""


def _end_all() -> None:
    """Kill every descendant until none is left."""
    while processes := _descendants():
        _send(signal.SIGKILL, processes)
        _reap()
    _reap()


def _send(number: int, processes: Sequence[int]) -> None:
    for process in processes:
        try:
            os.kill(process, number)
        except OSError:
            continue


def _reap() -> None:
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return


def _descendants() -> Sequence[int]:
    """Return the identifiers of the live processes that descend from this one."""
    children: dict[int, list[int]] = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        fields = _stat(int(name))
        if fields and fields[0] != "Z":
            children.setdefault(int(fields[1]), []).append(int(name))
    found, waiting = list[int](), [os.getpid()]
    while waiting:
        below = children.pop(waiting.pop(), [])
        found += below
        waiting += below
    return found


def _stat(process: int) -> Sequence[str]:
    """Return the state, the parent and further fields of a process; empty if it has ended."""
    try:
        with open(f"/proc/{process}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()
    except OSError:
        return ()


def _seconds(process: int) -> float:
    """Return the processor time of a process and of its children that have ended."""
    fields = _stat(process)
    return sum(map(int, fields[11:15])) / _TICKS if fields else 0.0


def _memory(process: int) -> int:
    """Return the bytes of a process's resident memory."""
    fields = _stat(process)
    return int(fields[21]) * _PAGE if fields else 0


if __name__ == "__main__":
    main()
