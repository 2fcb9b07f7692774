"""A place: one device of this host, with a process that measures on it and one that compiles ahead."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import socket
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from mmcore.cell import Cell
from mmcore.compile.compiler import compile_plan
from mmcore.devices.base import Device
from mmcore.errors import MmcoreError, error_to_json
from mmcore.executor.worker import describe as describe_device
from mmcore.executor.worker_client import WorkerProcess
from mmcore.kernel.properties import DeviceProperties
from mmcore.measure import Phases
from mmcore.planning.plan import plan_cell
from mmcore.registry import registry
from mmcore_engines.file_locks import Lock, LockFailed

AHEAD = 4
"""Cells that a worker compiles while it measures another, each in a process of its own where there are processors."""

_COMPILERS = max(1, min(AHEAD, (os.cpu_count() or 1) // 4))
_COMPILING = "emulator"  # the device of the process that compiles ahead: it holds nothing of the card


def identity() -> dict[str, str]:
    """What the head and its workers must have in common: each plugin's distribution by version and content."""
    found = registry()
    return {name: f"{version} {found.content(name)}" for name, version in found.distributions.items()}


def describe(device: Device, phases: Phases) -> dict[str, Any]:
    """What :func:`mmcore.executor.worker.describe` says, and what a process without the device compiles for."""
    return {**describe_device(device, phases), "architecture": device.architecture}


def compile_ahead(
    device: Device, phases: Phases, cell: Mapping[str, Any], properties: Mapping[str, Any], architecture: str
) -> None:
    """Compile a cell's kernel into the cache for a device with such properties."""
    compile_plan(plan_cell(Cell.from_json(cell), DeviceProperties.from_json(properties)), architecture)


class DeviceWorker:
    """Answers requests on a device, one at a time.

    Args:
        device: its name on this host, such as "cuda:0".
    """

    def __init__(self, device: str) -> None:
        self.device = device
        self._process: WorkerProcess | None = None
        self._lock: Lock | None = None
        self._ahead = _Ahead()

    def answer(self, request: bytes) -> bytes:
        """The answer to a request, both JSON; whatever goes wrong is an answer too.

        A request is ``{"hello": true}``, or a function as :func:`mmcore.executor.run` takes it, whose first argument
        is a cell: ``{"target", "arguments", "timeout", "ahead"}``, ``ahead`` being cells that come next. An answer has
        "result"; or "error" and "text", as :func:`mmcore.errors.error_to_json` has them; or "busy", with who else holds
        the device.
        """
        asked = json.loads(request)
        try:
            answer = self._hello() if asked.get("hello") else {"result": self._result(asked)}
        except MmcoreError as error:
            answer = error_to_json(error)
        return json.dumps(answer).encode()

    def _hello(self) -> dict[str, Any]:
        """What there is here, once the device is this run's alone."""
        described = self._ask("mmcore_engines.device_worker:describe", [], None)
        self._ahead.described = described
        if described["supports_timing"] and self._lock is None:
            lock = Lock(f"device-{described['identity']}")
            try:
                if holder := lock.try_to_take():
                    return {"busy": str(holder)}
            except LockFailed:  # another run on this device would go unnoticed
                pass
            self._lock = lock
        common = {"host": socket.gethostname(), "process": os.getpid(), "identity": identity()}
        return {"result": {**common, "device": described}}

    def _result(self, asked: Mapping[str, Any]) -> Any:
        timeout, ahead = asked.get("timeout"), asked.get("ahead", ())
        self._ahead.compile(ahead, timeout)
        for cell in asked["arguments"][:1]:
            self._ahead.wait_for(cell)
        return self._ask(asked["target"], asked["arguments"], timeout)

    def _ask(self, target: str, arguments: list[Any], timeout: float | None) -> Any:
        if self._process is None or not self._process.alive:
            self._process = WorkerProcess(self.device)
        return self._process.ask(target, arguments, timeout)

    def end(self) -> None:
        """End its processes, and free the device for others."""
        self._ahead.end()
        if self._process is not None:
            self._process.end()
        if self._lock is not None:
            self._lock.release()


class _Ahead:
    """Compiles what is asked for next in processes of its own, so that it is in the cache when its turn comes."""

    def __init__(self) -> None:
        self.described: Mapping[str, Any] = {}
        self._threads = ThreadPoolExecutor(_COMPILERS, "compile-ahead")
        self._begun: dict[str, Future[None]] = {}
        self._idle: queue.SimpleQueue[WorkerProcess] = queue.SimpleQueue()
        self._ended = False

    def compile(self, cells: Sequence[Mapping[str, Any]], timeout: float | None) -> None:
        """Have these compiled, each once; nothing for a device without device time."""
        for cell in cells if self.described.get("supports_timing") else ():
            if (key := _key(cell)) not in self._begun:
                self._begun[key] = self._threads.submit(self._compile, cell, timeout)

    def wait_for(self, cell: Mapping[str, Any]) -> None:
        """Wait while a cell that is to be measured now is being compiled; what has not begun is left to the device."""
        compiled = self._begun.get(_key(cell))
        if compiled is not None and not compiled.cancel():
            compiled.result()

    def _compile(self, cell: Mapping[str, Any], timeout: float | None) -> None:
        try:
            process = self._idle.get_nowait()
        except queue.Empty:
            process = WorkerProcess(_COMPILING)
        properties = [self.described["properties"], self.described["architecture"]]
        with contextlib.suppress(MmcoreError):  # what is wrong with a cell, it says itself
            process.ask("mmcore_engines.device_worker:compile_ahead", [cell, *properties], timeout)
        if process.alive and not self._ended:
            self._idle.put(process)

    def end(self) -> None:
        """Compile nothing more; a process that is compiling ends when it has."""
        self._ended = True
        self._threads.shutdown(wait=False, cancel_futures=True)


def _key(cell: Mapping[str, Any]) -> str:
    return json.dumps([cell["kernel"], cell["m"], cell["n"], cell["k"], cell["config"]], sort_keys=True)
