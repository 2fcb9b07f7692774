"""What runs in the worker process: a device, and everything that was made on it.

The process is started with a connection's file descriptor. It answers one request after the other, each a function of
this module and its arguments, and ends when the other side of the connection is closed. Objects that stay here are
known to the other side by number; a handle that arrives in a request's arguments has become the object itself.
"""

from __future__ import annotations

import os
import pickle
import queue
import signal
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from mmcore.errors import MmcoreError
from mmcore.launching.code import Code
from mmcore.launching.device import Buffer, Call, Device, DeviceProvider, HostArray, Program, Refresh
from mmcore.launching.faults import Fault
from mmcore.launching.identified import identity
from mmcore.launching.stopwatch import Stopwatch
from mmcore.planning.limits import Limits
from mmcore.planning.peaks import Peaks

_kept: dict[int, Any] = {}


@dataclass(frozen=True)
class Described:
    """What a device says of itself, and where the worker keeps it."""

    number: int
    name: str
    identity: str
    description: str
    keeps_time: bool
    architecture: str
    facts: Mapping[str, Any]
    peaks: Peaks | None


def kept(number: int) -> Any:
    """The object of that number: what a handle becomes here."""
    return _kept[number]


def _keep(found: object) -> int:
    number = len(_kept)
    _kept[number] = found
    return number


def open_device(provider: DeviceProvider, index: int) -> Described:
    """Open the device."""
    device = provider.open(index)
    return Described(
        _keep(device),
        device.name,
        identity(device),
        device.description,
        device.keeps_time,
        device.architecture,
        dict(device.facts),
        device.peaks,
    )


def limits(device: Device) -> Limits:
    """What the device allows."""
    return device.limits


def allocate(device: Device, label: str, nbytes: int, over_read_bytes: int) -> tuple[int, int]:
    """The buffer's number and address."""
    buffer = device.allocate(label, nbytes, over_read_bytes)
    return _keep(buffer), buffer.address


def upload(buffer: Buffer, data: HostArray) -> None:
    """Fill a buffer."""
    buffer.upload(data)


def download(buffer: Buffer, nbytes: int) -> HostArray:
    """The start of a buffer, as bytes."""
    content = np.empty(nbytes, np.uint8)
    buffer.download(content)
    return content


def trespasses(buffer: Buffer) -> list[Fault]:
    """What was written outside a buffer."""
    return buffer.trespasses()


def load(device: Device, code: Code) -> int:
    """The number of the program."""
    return _keep(device.load(code))


def run(program: Program, calls: Sequence[Call]) -> list[Fault]:
    """Make the launches."""
    return program.run(calls)


def stopwatch(
    program: Program, calls: Sequence[Call], cold: bool, refresh: Sequence[Refresh]
) -> tuple[int, str, float] | None:
    """The stopwatch's number, method and grain."""
    return _keep_stopwatch(program.stopwatch(calls, cold=cold, refresh=refresh))


def global_stopwatch(
    program: Program,
    calls: Sequence[Call],
    uploads: Sequence[tuple[Buffer, HostArray]],
    downloads: Sequence[tuple[Buffer, HostArray]],
    pinned: bool,
) -> tuple[int, str, float] | None:
    """As :func:`stopwatch`."""
    return _keep_stopwatch(program.global_stopwatch(calls, uploads, downloads, pinned=pinned))


def _keep_stopwatch(found: Stopwatch | None) -> tuple[int, str, float] | None:
    return None if found is None else (_keep(found), found.method, found.grain)


def seconds(found: Stopwatch, count: int) -> float:
    """Read a stopwatch."""
    return found.seconds(count)


def close(found: Buffer | Program | Stopwatch, number: int) -> None:
    """Let go of what has that number."""
    _kept[number] = None
    found.close()


def serve(connection: Connection) -> None:
    """Answer requests for ever; the process ends with the connection."""
    # Ctrl-C is for the process that waits for this one.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    requests: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_receive, args=(connection, requests), daemon=True).start()
    while True:
        connection.send(_answer(requests.get()))


def _receive(connection: Connection, requests: queue.SimpleQueue[bytes]) -> None:
    """Pass requests on. A kernel that never ends does not keep the process when nobody waits for it any more."""
    try:
        while True:
            requests.put(connection.recv_bytes())
    except (EOFError, OSError):
        os._exit(0)


def _answer(request: bytes) -> tuple[str, Any]:
    """("", what the function returned), or the name of an error's class and its text."""
    try:
        function, arguments = pickle.loads(request)
        return "", function(*arguments)
    except MmcoreError as error:
        return type(error).__name__, str(error)
    except Exception as error:
        return MmcoreError.__name__, f"{type(error).__name__}: {error}"
