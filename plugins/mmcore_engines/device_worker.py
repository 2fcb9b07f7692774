"""A worker for one device of this host, with a process that measures and processes that compile ahead."""

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
"""The number of cells that a worker compiles ahead while it measures another."""

_COMPILERS = max(1, min(AHEAD, (os.cpu_count() or 1) // 4))


def identity() -> dict[str, str]:
    """Return the version and content digest of each plugin's distribution; they must be equal on all hosts."""
    plugins = registry()
    return {name: f"{version} {plugins.content(name)}" for name, version in plugins.distributions.items()}


def describe(device: Device, phases: Phases) -> dict[str, Any]:
    """Return :func:`mmcore.executor.worker.describe`, and the architecture that compiling ahead needs."""
    return {**describe_device(device, phases), "architecture": device.architecture}


def compile_ahead(
    device: Device, phases: Phases, cell: Mapping[str, Any], properties: Mapping[str, Any], architecture: str
) -> None:
    """Compile a cell's kernel into the cache for a device with such properties."""
    compile_plan(plan_cell(Cell.from_json(cell), DeviceProperties.from_json(properties)), architecture)


class DeviceWorker:
    """A worker that answers requests on one device, one at a time.

    Args:
        device: its name on this host, such as "cuda:0".
    """

    def __init__(self, device: str) -> None:
        self.device = device
        self._process: WorkerProcess | None = None
        self._lock: Lock | None = None
        self._ahead = AheadCompiler()

    def answer(self, request: bytes) -> bytes:
        """Return the answer to a request, both as JSON; errors are answers too.

        A request is ``{"hello": true}``, or ``{"target", "arguments", "timeout", "ahead"}``: a function as for
        :func:`mmcore.executor.run`, its arguments with the cell first, and the cells to compile ahead. An answer
        contains "result", or "error" and "text" from :func:`mmcore.errors.error_to_json`, or "busy" with the process
        that holds the device.
        """
        message = json.loads(request)
        try:
            answer = self._hello() if message.get("hello") else {"result": self._result(message)}
        except MmcoreError as error:
            answer = error_to_json(error)
        return json.dumps(answer).encode()

    def _hello(self) -> dict[str, Any]:
        """Lock the device and return its description, or the process that holds it."""
        described = self._ask("mmcore_engines.device_worker:describe", [], None)
        self._ahead.described = described
        if described["supports_timing"] and self._lock is None:
            lock = Lock(f"device-{described['identity']}")
            try:
                if holder := lock.try_to_take():
                    return {"busy": str(holder)}
            except LockFailed:  # measure without detecting other runs on this device
                pass
            self._lock = lock
        common = {"host": socket.gethostname(), "process": os.getpid(), "identity": identity()}
        return {"result": {**common, "device": described}}

    def _result(self, message: Mapping[str, Any]) -> Any:
        timeout, ahead = message.get("timeout"), message.get("ahead", ())
        self._ahead.compile(ahead, timeout)
        for cell in message["arguments"][:1]:
            self._ahead.wait_for(cell)
        return self._ask(message["target"], message["arguments"], timeout)

    def _ask(self, target: str, arguments: list[Any], timeout: float | None) -> Any:
        if self._process is None or not self._process.alive:
            self._process = WorkerProcess(self.device)
        return self._process.ask(target, arguments, timeout)

    def end(self) -> None:
        """End the processes, and unlock the device."""
        self._ahead.end()
        if self._process is not None:
            self._process.end()
        if self._lock is not None:
            self._lock.release()


class AheadCompiler:
    """A compiler that fills the cache with the next cells' kernels, in separate processes."""

    def __init__(self) -> None:
        self.described: Mapping[str, Any] = {}
        self._threads = ThreadPoolExecutor(_COMPILERS, "compile-ahead")
        self._begun: dict[str, Future[None]] = {}
        self._idle: queue.SimpleQueue[WorkerProcess] = queue.SimpleQueue()
        self._ended = False

    def compile(self, cells: Sequence[Mapping[str, Any]], timeout: float | None) -> None:
        """Start compiling the cells, each once; do nothing for a device that does not support timing."""
        for cell in cells if self.described.get("supports_timing") else ():
            if (key := _key(cell)) not in self._begun:
                self._begun[key] = self._threads.submit(self._compile, cell, timeout)

    def wait_for(self, cell: Mapping[str, Any]) -> None:
        """Wait for a cell that is being compiled; cancel the compilation if it has not begun."""
        compiled = self._begun.get(_key(cell))
        if compiled is not None and not compiled.cancel():
            compiled.result()

    def _compile(self, cell: Mapping[str, Any], timeout: float | None) -> None:
        try:
            process = self._idle.get_nowait()
        except queue.Empty:
            # Processes of a device without device time use no GPU memory.
            untimed = (name for name, each in registry().providers.items() if not each.item.supports_timing)
            process = WorkerProcess(next(untimed, ""))
        properties = [self.described["properties"], self.described["architecture"]]
        with contextlib.suppress(MmcoreError):  # measuring the cell reports its errors
            process.ask("mmcore_engines.device_worker:compile_ahead", [cell, *properties], timeout)
        if process.alive and not self._ended:
            self._idle.put(process)

    def end(self) -> None:
        """Start no more compilations; those in progress complete."""
        self._ended = True
        self._threads.shutdown(wait=False, cancel_futures=True)


def _key(cell: Mapping[str, Any]) -> str:
    return json.dumps([cell["kernel"], cell["m"], cell["n"], cell["k"], cell["config"]], sort_keys=True)
