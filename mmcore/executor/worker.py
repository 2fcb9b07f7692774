"""A worker process: requests and answers are lines of JSON over a private descriptor; nothing is unpickled.

The process keeps the time limit itself, so that it can say what it was doing; the other side ends it when it does not.
A limit of its processor time (RLIMIT_CPU) ends a kernel in the same way.
"""

from __future__ import annotations

import importlib
import json
import os
import queue
import resource
import signal
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any

from mmcore.cell import Cell
from mmcore.devices.base import Device
from mmcore.errors import TimeLimit, error_to_json
from mmcore.executor.choose_device import open_device
from mmcore.kernel.declaration import Kernel
from mmcore.measure import Phases, measure
from mmcore.messages import quiet

_OWN_LIMIT_SECONDS = 1.0  # for a device that stops a kernel itself, and says where it was, to do so
_devices: dict[str, Device] = {}


def measure_json(
    device: Device, phases: Phases, cell: Mapping[str, Any], kernel: Kernel | None = None
) -> dict[str, Any]:
    """Return the result of a cell, both as JSON."""
    return measure(Cell.from_json(cell), device, kernel, phases).to_json()


def measure_quietly(device: Device, phases: Phases, *arguments: Any) -> dict[str, Any]:
    """Return the result of a cell as :func:`measure_json` does, ignoring what the kernel prints."""
    with quiet():
        return measure_json(device, phases, *arguments)


def describe(device: Device, phases: Phases) -> dict[str, Any]:
    """Return the facts about a device that results contain."""
    peaks = device.peaks
    return {
        **{name: getattr(device, name) for name in ("name", "identity", "description", "supports_timing")},
        "properties": asdict(device.properties),
        "facts": dict(device.facts),
        "peaks": peaks and {"flops": dict(peaks.flops), "bytes_per_second": peaks.bytes_per_second},
    }


def opened(name: str) -> Device:
    """Return the device of that name in this process, opened once."""
    if name not in _devices:
        _devices[name] = open_device(name)
    return _devices[name]


def call(device: str, target: str, arguments: list[Any], timeout: float | None, phases: Phases) -> Any:
    """Call a function with a device of this process, and return its result."""
    module, _, function = target.partition(":")
    with phases("open"):
        opened_device = opened(device)
    with opened_device.deadline.within(timeout):
        return getattr(importlib.import_module(module), function)(opened_device, phases, *arguments)


def serve(device: str, descriptor: int) -> None:
    """Answer requests until the other side closes the connection."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that waits for this one
    signal.signal(signal.SIGXCPU, lambda *_: _expire())
    connection = os.fdopen(descriptor, "r+b", buffering=0)
    requests: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_receive, args=(connection, requests), daemon=True).start()
    with suppress(BrokenPipeError):  # the other side has gone
        while True:
            request = json.loads(requests.get())
            _send(connection, _answer(device, request, connection))


def _expire() -> None:
    """End the time limit of what runs, as the process's limit of processor time was reached."""
    for device in _devices.values():
        device.deadline.expire(resource.getrlimit(resource.RLIMIT_CPU)[0])


def _receive(connection: IO[bytes], requests: queue.SimpleQueue[bytes]) -> None:
    """Queue requests; end the process, even in a kernel that does not end, when the connection closes."""
    # Reading from a connection that was closed early raises an error.
    with suppress(OSError), open(connection.fileno(), "rb", closefd=False) as lines:
        for line in lines:
            requests.put(line)
    os._exit(0)


def _answer(device: str, request: Mapping[str, Any], connection: IO[bytes]) -> dict[str, Any]:
    """Return {"result": …}, or {"error": …} with the name of its class and its text."""
    began: list[str] = ["start"]

    def begun(phase: str) -> None:
        began[0] = phase
        _send(connection, {"phase": phase})

    limit, main = request["timeout"], threading.get_ident()
    waiting = threading.Timer((limit or 0) + _OWN_LIMIT_SECONDS, lambda: _give_up(connection, began[0], limit, main))
    waiting.daemon = True
    if limit is not None:
        waiting.start()
    answer: dict[str, Any]
    try:
        answer = {"result": call(device, request["target"], request["arguments"], limit, Phases(begun))}
    except Exception as error:
        answer = error_to_json(error)
    waiting.cancel()
    # Whether a kernel destroyed what this process had of the device.
    return answer | {"lost": bool(getattr(_devices.get(device), "lost", False))}


def _give_up(connection: IO[bytes], phase: str, limit: float, thread: int) -> None:
    """Say where the time limit found this process, and end it."""
    frame = sys._current_frames().get(thread)
    while frame is not None and Path(frame.f_code.co_filename).is_relative_to(Path(__file__).parent.parent):
        frame = frame.f_back
    where = f", at {Path(frame.f_code.co_filename).name}:{frame.f_lineno}" if frame and phase == "plan" else ""
    what = {
        "plan": "its launch rule or a constraint had not answered",
        "compile": "the compiler had not ended",
        "verify": "the kernel had not ended",
        "time": "the kernel had not ended, launched to be timed,",
    }.get(phase, f"the phase {phase!r} had not ended")
    _send(connection, {"error": TimeLimit.__name__, "text": f"{what} after {limit:g} s{where}", "lost": True})
    os._exit(1)


def _send(connection: IO[bytes], message: Mapping[str, Any]) -> None:
    line = memoryview(json.dumps(message).encode() + b"\n")
    while line:
        line = line[connection.write(line) :]
