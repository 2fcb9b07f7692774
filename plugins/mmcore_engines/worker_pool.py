"""The pool of workers that measure one run: it admits comparable workers, and compares their cards."""

from __future__ import annotations

import contextlib
import json
import math
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from mmcore.cell import Cell
from mmcore.errors import DeviceLost, NoDevice
from mmcore.result import Result
from mmcore_engines.cards import card_differences, incompatibility
from mmcore_engines.engine import Engine, Worker
from mmcore_engines.tasks import MEASURE, Task

ATTEMPTS = 3
"""The number of times that a cell is begun if its worker or its device's process dies; then the cell fails."""

_HELLO = {"hello": True}
_HELLO_SECONDS = 120.0  # time limit of a worker's answer to its hello
_LATE_SECONDS = 30.0  # after a time limit, until the user gets a message
_LOST_SECONDS = 300.0  # after the message, until the worker is given up


@dataclass(eq=False)
class WorkerState:
    """A worker, and what the pool knows about it.

    Attributes:
        device: the description of its device; empty until it has answered its hello.
        busy: True after another process had its device.
        current: the task that it measures; None during its hello and the reference cell.
        request: the description of its last request.
        due: the time limit of that request, by :func:`time.monotonic`.
        late: True if the user was notified that the limit has passed.
        reference: its time for the reference cell, in seconds.
        left_out: True if the run no longer uses it.
        deaths: the number of times that its device's process died during the hello.
    """

    worker: Worker
    device: Mapping[str, Any] = field(default_factory=dict)
    busy: bool = False
    current: Task | None = None
    request: str = ""
    due: float = math.inf
    late: bool = False
    reference: float | None = None
    left_out: bool = False
    deaths: int = 0

    @property
    def name(self) -> str:
        return self.worker.name


class WorkerPool:
    """The workers of an engine that may measure a run together.

    A worker is admitted if it has the same plugins by content as this host, the first worker's card model and driver,
    and a device that no other process uses. A worker that fails is left out with a message.

    Args:
        engine: the source of workers.
        common: the head's :func:`~mmcore_engines.device_worker.identity`, which workers must share.
        reference: the cell that each card with timing measures first, so that cards can be compared.
        on_answer: called in any thread with a worker and the future of its answer.
        say: called with each message for the user.
        on_release: called with the name of an admitted worker that is left out.

    Attributes:
        workers: the workers in use.
        idle: the admitted workers without a task.
        first: the description of the first worker's device.
    """

    def __init__(
        self,
        engine: Engine,
        common: Mapping[str, str],
        reference: Cell | None,
        on_answer: Callable[[WorkerState, Future[bytes]], None],
        say: Callable[[str], None],
        on_release: Callable[[str], None],
    ) -> None:
        self._engine, self._common, self._reference = engine, common, reference
        self._on_answer, self._say, self._on_release = on_answer, say, on_release
        self.workers: list[WorkerState] = []
        self.idle: list[WorkerState] = []
        self.first: Future[Mapping[str, Any]] = Future()
        self._seen: list[Worker] = []  # every worker that the engine has returned
        self._busy: list[WorkerState] = []  # workers whose device another process has
        self._reasons: list[str] = []  # reasons why workers are left out
        self._failures: set[str] = set()  # reported failures of the engine

    def update(self) -> None:
        """Send a hello to new workers, and to workers whose device was busy.

        Raises:
            NoDevice: no worker is left.
        """
        new = []
        for worker in self._new_workers():
            state, names = WorkerState(worker), [other.name for other in self.workers]
            self.workers.append(state)
            if not (isinstance(worker.name, str) and worker.name.strip() and worker.name.isprintable()):
                self._drop(state, "its name is not a line of text")
            elif worker.name in names:
                self._drop(state, "another worker has its name")
            else:
                new.append(state)
        if not self.workers:
            raise NoDevice("; ".join(dict.fromkeys(self._reasons[-4:])) or "the engine has no worker")
        for state in (*new, *self._busy):
            self._greet(state)
        self._busy = []

    def _new_workers(self) -> list[Worker]:
        """Return new workers of the engine; report its failure, or raise it if there is no worker yet."""
        try:
            new = [worker for worker in self._engine.workers() if not any(worker is known for known in self._seen)]
        except Exception as error:
            if not self.workers:
                raise
            failure = f"no further workers can join: {type(error).__name__}: {error}".splitlines()[0]
            if failure not in self._failures:
                self._failures.add(failure)
                self._say(failure)
            return []
        self._seen += new
        return new

    def _greet(self, state: WorkerState) -> None:
        self.ask(state, _HELLO, "to describe its device", _HELLO_SECONDS)

    def lost(self) -> list[WorkerState]:
        """Report late workers once, and return those whose cell is given up.

        A worker that has not answered its hello is not given up, because it may be in a queue for its card.
        """
        now = time.monotonic()
        late = [state for state in self.workers if now > state.due + _LATE_SECONDS]
        for state in late:
            if not state.late:
                state.late = True
                self._say(f"still waiting for {state.name}, which was asked {state.request}")
        return [state for state in late if state.current and now > state.due + _LATE_SECONDS + _LOST_SECONDS]

    def ask(self, state: WorkerState, request: Mapping[str, Any], text: str, seconds: float | None) -> None:
        """Send a request to a worker; ``on_answer`` is called when it has answered, or is gone.

        Args:
            state: the worker.
            request: a request of :meth:`~mmcore_engines.device_worker.DeviceWorker.answer`.
            text: the request in words.
            seconds: the time limit; None for no limit.
        """
        state.request, state.due, state.late = text, time.monotonic() + (seconds or math.inf), False
        try:
            future = state.worker.submit(json.dumps(request).encode())
            future.add_done_callback(lambda done: self._on_answer(state, done))
        except Exception as error:  # an engine may raise anything
            self._on_answer(state, failed(error))

    def recheck(self, state: WorkerState) -> None:
        """Send a hello to an admitted worker again, to check that its card still exists and computes."""
        state.device, state.reference = {}, None
        self._greet(state)

    def receive(self, state: WorkerState, answer: Mapping[str, Any]) -> None:
        """Process a worker's answer to its hello, or for the reference cell."""
        if state.device:
            self._receive_reference(state, answer)
        else:
            self._receive_hello(state, answer)

    def _receive_hello(self, state: WorkerState, answer: Mapping[str, Any]) -> None:
        """Admit a worker or leave it out; let it wait while its device is busy."""
        if "busy" in answer:
            if not state.busy:
                self._say(f"{state.name} is being measured by {answer['busy']}; it joins when it is free")
            state.busy = True
            self._busy.append(state)
            return
        if answer.get("error") == DeviceLost.__name__ and state.deaths < ATTEMPTS:
            state.deaths += 1
            self._greet(state)
            return
        first = self.first.result() if self.first.done() else None
        reason = answer["text"] if "error" in answer else incompatibility(answer["result"], self._common, first)
        if reason:
            self.leave_out(state, reason)
            return
        state.device = answer["result"]["device"]
        if first is None:
            self.first.set_result(state.device)
        if self._reference is None or state.reference is not None or not state.device["supports_timing"]:
            self.idle.append(state)
        else:
            cell = self._reference.on(state.device["name"])
            request = {"target": MEASURE, "arguments": [cell.to_json()], "timeout": cell.timeout}
            self.ask(state, request, "for the reference kernel", cell.timeout)

    def _receive_reference(self, state: WorkerState, answer: Mapping[str, Any]) -> None:
        """Record the time of the reference cell; leave out a card that does not compute it."""
        result = Result.from_json(answer["result"]) if "result" in answer else None
        if result is None or result.kernel_seconds is None:
            reason = "; ".join(result.failures()) if result else answer["text"]
            self.leave_out(state, f"it does not compute the reference kernel: {reason}".splitlines()[0])
            return
        state.reference = result.kernel_seconds
        self.idle.append(state)

    def leave_out(self, state: WorkerState, reason: str) -> None:
        """Stop using a worker, and release its groups."""
        self._drop(state, reason)
        self._on_release(state.name)

    def _drop(self, state: WorkerState, reason: str) -> None:
        self._reasons.append(f"{state.name} is left out: {reason}")
        self._say(self._reasons[-1])
        _end(state.worker)
        self.workers.remove(state)
        state.left_out = True

    def others(self, state: WorkerState) -> set[str]:
        """Return the names of the other admitted workers."""
        return {other.name for other in self.workers if other.device and other is not state}

    def card_differences(self) -> list[str]:
        """Return sentences on how much the cards differ."""
        times = {
            f"{state.name} ({state.device['identity']})": state.reference
            for state in self.workers
            if state.device and state.reference is not None
        }
        return card_differences(times, self._reference)

    def end(self) -> None:
        """End all workers, and close the engine."""
        for state in self.workers:
            _end(state.worker)
        with contextlib.suppress(Exception):  # results matter more than an engine's failure to close
            self._engine.close()


def failed(error: BaseException) -> Future[bytes]:
    """Return a future that raises the error, for a worker that is gone."""
    future: Future[bytes] = Future()
    future.set_exception(error)
    return future


def _end(worker: Worker) -> None:
    with contextlib.suppress(Exception):  # an engine may raise anything
        worker.end()
