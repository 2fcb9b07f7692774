"""The workers that measure one run together: each has said what it is, and its card is compared with the others'."""

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
from mmcore_engines.cards import compared_cards, stranger
from mmcore_engines.engine import Engine, Worker
from mmcore_engines.tasks import MEASURE, Task

ATTEMPTS = 3
"""How often a cell is begun whose worker, or device's process, dies; after the last the cell is to blame."""

_HELLO = {"hello": True}
_HELLO_SECONDS = 120.0  # that a worker may take to say what it is
_LATE_SECONDS = 30.0  # behind a time limit, after which the user is told what is waited for
_LOST_SECONDS = 300.0  # after that, when a cell is waited for no longer


@dataclass(eq=False)
class WorkerState:
    """A worker, as its crew sees it.

    Attributes:
        device: what it has said of its device; empty before.
        busy: whether somebody else had its device.
        current: what it is measuring; None during its hello, and the reference cell.
        asked: what it was asked for last, in words.
        due: when that should have ended, by :func:`time.monotonic`.
        late: whether the user was told that it has not.
        reference: its time for the reference cell, in seconds.
        left_out: whether the run does without it.
        deaths: how often its device's process died while it was to say what it is.
    """

    worker: Worker
    device: Mapping[str, Any] = field(default_factory=dict)
    busy: bool = False
    current: Task | None = None
    asked: str = ""
    due: float = math.inf
    late: bool = False
    reference: float | None = None
    left_out: bool = False
    deaths: int = 0


class WorkerPool:
    """The workers of an engine that may measure a run together.

    A worker is taken in once it has said what it is: the same plugins by content as here, the same card model and
    driver as the first worker, and nobody else's at the time. One that fails is left out with a sentence.

    Args:
        engine: where the workers are.
        common: what they must have in common, as :func:`~mmcore_engines.device_worker.identity` tells.
        reference: what each card that supports timing measures first, so that cards can be compared.
        answered: is called in any thread with what a worker was asked for.
        said: is told the sentences.
        released: is told the name of a worker that had been taken in and is left out.

    Attributes:
        seats: the workers that there are.
        idle: those that have been taken in and have nothing to do.
        first: the device of the first worker, described.
    """

    def __init__(
        self,
        engine: Engine,
        common: Mapping[str, str],
        reference: Cell | None,
        answered: Callable[[WorkerState, Future[bytes]], None],
        said: Callable[[str], None],
        released: Callable[[str], None],
    ) -> None:
        self._engine, self._common, self._reference = engine, common, reference
        self._answered, self._say, self._released = answered, said, released
        self.seats: list[WorkerState] = []
        self.idle: list[WorkerState] = []
        self.first: Future[Mapping[str, Any]] = Future()
        self._given: list[Worker] = []  # every worker that the engine has told of
        self._waiting: list[WorkerState] = []  # for a device that somebody else has
        self._reasons: list[str] = []  # why workers are left out
        self._failures: set[str] = set()  # of the engine, that the user was told of

    def take_in(self) -> None:
        """Ask workers that are new, and those whose device somebody else had, what they are.

        Raises:
            NoDevice: there is none any more.
        """
        new = []
        for worker in self._new_workers():
            seat, names = WorkerState(worker), [each.worker.name for each in self.seats]
            self.seats.append(seat)
            if not (isinstance(worker.name, str) and worker.name.strip() and worker.name.isprintable()):
                self._drop(seat, "its name is no line of text")
            elif worker.name in names:
                self._drop(seat, "another worker has its name")
            else:
                new.append(seat)
        if not self.seats:
            raise NoDevice("; ".join(dict.fromkeys(self._reasons[-4:])) or "the engine has no worker")
        for seat in (*new, *self._waiting):
            self._greet(seat)
        self._waiting = []

    def _new_workers(self) -> list[Worker]:
        """The workers that have not been seen; an engine that fails later than at first costs those that would join."""
        try:
            new = [each for each in self._engine.workers() if not any(each is known for known in self._given)]
        except Exception as error:
            if not self.seats:
                raise
            what = f"no further workers can join: {type(error).__name__}: {error}".splitlines()[0]
            if what not in self._failures:
                self._failures.add(what)
                self._say(what)
            return []
        self._given += new
        return new

    def _greet(self, seat: WorkerState) -> None:
        self.ask(seat, _HELLO, "what it is", _HELLO_SECONDS)

    def late(self) -> list[WorkerState]:
        """Tell once of each worker that has not answered in time; those whose cell is waited for no longer.

        One that has not said what it is may be in a queue for its card.
        """
        now = time.monotonic()
        late = [seat for seat in self.seats if now > seat.due + _LATE_SECONDS]
        for seat in late:
            if not seat.late:
                seat.late = True
                self._say(f"still waiting for {seat.worker.name}, which was asked {seat.asked}")
        return [seat for seat in late if seat.current and now > seat.due + _LATE_SECONDS + _LOST_SECONDS]

    def ask(self, seat: WorkerState, request: Mapping[str, Any], what: str, seconds: float | None) -> None:
        """Ask a worker; ``answered`` is called once it has answered, or is gone.

        Args:
            seat: which.
            request: as :meth:`~mmcore_engines.device_worker.DeviceWorker.answer` takes it.
            what: the same in words.
            seconds: that it may take; no limit when None.
        """
        seat.asked, seat.due, seat.late = what, time.monotonic() + (seconds or math.inf), False
        try:
            future = seat.worker.submit(json.dumps(request).encode())
            future.add_done_callback(lambda done: self._answered(seat, done))
        except Exception as error:  # an engine may raise anything
            self._answered(seat, failed(error))

    def doubt(self, seat: WorkerState) -> None:
        """Ask a worker again what it is: whether its card is still there, and still computes."""
        seat.device, seat.reference = {}, None
        self._greet(seat)

    def heard(self, seat: WorkerState, answer: Mapping[str, Any]) -> None:
        """Take a worker's answer to its hello, or of the reference cell."""
        if seat.device:
            self._compare(seat, answer)
        else:
            self._meet(seat, answer)

    def _meet(self, seat: WorkerState, answer: Mapping[str, Any]) -> None:
        """Take a worker in that has said what it is, or leave it out."""
        if "busy" in answer:
            if not seat.busy:
                self._say(f"{seat.worker.name} is being measured by {answer['busy']}; it joins when it is free")
            seat.busy = True
            self._waiting.append(seat)
            return
        if answer.get("error") == DeviceLost.__name__ and seat.deaths < ATTEMPTS:
            seat.deaths += 1
            self._greet(seat)
            return
        first = self.first.result() if self.first.done() else None
        reason = answer["text"] if "error" in answer else stranger(answer["result"], self._common, first)
        if reason:
            self.leave_out(seat, reason)
            return
        seat.device = answer["result"]["device"]
        if first is None:
            self.first.set_result(seat.device)
        if self._reference is None or seat.reference is not None or not seat.device["supports_timing"]:
            self.idle.append(seat)
        else:
            cell = self._reference.on(seat.device["name"])
            request = {"target": MEASURE, "arguments": [cell.to_json()], "timeout": cell.timeout}
            self.ask(seat, request, "for the reference kernel", cell.timeout)

    def _compare(self, seat: WorkerState, answer: Mapping[str, Any]) -> None:
        """Take the reference cell's time; leave out a card that does not compute it."""
        result = Result.from_json(answer["result"]) if "result" in answer else None
        if result is None or result.kernel_seconds is None:
            reason = "; ".join(result.failures()) if result else answer["text"]
            self.leave_out(seat, f"it does not compute the reference kernel: {reason}".splitlines()[0])
            return
        seat.reference = result.kernel_seconds
        self.idle.append(seat)

    def leave_out(self, seat: WorkerState, reason: str) -> None:
        """Do without a worker that was there."""
        self._drop(seat, reason)
        self._released(seat.worker.name)

    def _drop(self, seat: WorkerState, reason: str) -> None:
        self._reasons.append(f"{seat.worker.name} is left out: {reason}")
        self._say(self._reasons[-1])
        _end(seat.worker)
        self.seats.remove(seat)
        seat.left_out = True

    def others(self, seat: WorkerState) -> set[str]:
        """The names of the other workers that have been taken in."""
        return {each.worker.name for each in self.seats if each.device and each is not seat}

    def compared(self) -> list[str]:
        """How much the cards differ, a sentence each."""
        times = {
            f"{seat.worker.name} ({seat.device['identity']})": seat.reference
            for seat in self.seats
            if seat.device and seat.reference is not None
        }
        return compared_cards(times, self._reference)

    def end(self) -> None:
        """End all workers, and the engine."""
        for seat in self.seats:
            _end(seat.worker)
        with contextlib.suppress(Exception):  # what is measured is worth more than what an engine could not free
            self._engine.close()


def failed(error: BaseException) -> Future[bytes]:
    """What becomes of a request to a worker that is gone."""
    future: Future[bytes] = Future()
    future.set_exception(error)
    return future


def _end(worker: Worker) -> None:
    with contextlib.suppress(Exception):  # an engine may raise anything
        worker.end()
