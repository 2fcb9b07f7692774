"""Spreading cells over an engine's workers: each is measured once, whatever becomes of the worker that has it."""

from __future__ import annotations

import contextlib
import json
import math
import queue
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mmcore.cell import Cell
from mmcore.errors import DeviceLost, LockFailed, MmcoreError, NoDevice
from mmcore.executor import unfinished
from mmcore.reproduce import reference_words
from mmcore.result import Result
from mmcore_engines.cards import compared_cards, is_doubtful, stranger
from mmcore_engines.engine import Engine, Worker
from mmcore_engines.journal import Journal
from mmcore_engines.place import AHEAD, identity
from mmcore_engines.tasks import MEASURE, Task, Tasks

ATTEMPTS = 3
"""How often a cell is begun whose worker, or device's process, dies; after the last the cell is to blame."""

_POLL_SECONDS = 1.0  # how often the engine is asked for more workers, and a busy device for its release
_NAMED = 8  # workers at most whose counts are told one by one
_SILENCE_SECONDS = 10.0  # after which the user is told what is waited for
_LATE_SECONDS = 30.0  # behind a cell's time limit, likewise
_HELLO = {"hello": True}


class NotMeasured(NoDevice):
    """A cell has not been measured, through no fault of its own: no worker is left, or the run has ended."""


@dataclass(eq=False)
class _Seat:
    """A worker, as the spread sees it.

    Attributes:
        device: what it has said of its device; empty before.
        busy: whether somebody else had its device.
        current: what it is measuring; None during its hello, and the reference cell.
        due: when that should have ended, by :func:`time.monotonic`.
        reference: its time for the reference cell, in seconds.
        left_out: whether the run does without it.
        deaths: how often its device's process died while it was to say what it is.
    """

    worker: Worker
    device: Mapping[str, Any] = field(default_factory=dict)
    busy: bool = False
    current: Task | None = None
    due: float = math.inf
    reference: float | None = None
    left_out: bool = False
    deaths: int = 0


class Spread:
    """Gives cells to the workers of an engine, those of one group to one worker, as workers become free.

    A worker is taken in once it has said what it is: the same plugins by content as here, the same card model and
    driver as the first worker, and nobody else's at the time. One that fails is left out with a sentence, and its cell
    is measured elsewhere, :data:`ATTEMPTS` times in all.

    Args:
        engine: where the workers are.
        say: is told what the user should know, a sentence each.
        reference: what each card that supports timing measures first, so that cards can be compared.
    """

    def __init__(self, engine: Engine, say: Callable[[str], None], reference: Cell | None = None) -> None:
        self._engine, self._say, self._reference = engine, say, reference
        self._common = identity()
        self._journal: Journal | None = None
        self._events: queue.SimpleQueue[tuple[_Seat, Future[bytes]] | None] = queue.SimpleQueue()
        self._tasks = Tasks()
        self._seats: list[_Seat] = []
        self._idle: list[_Seat] = []
        self._waiting: list[_Seat] = []  # for a device that somebody else has
        self._reasons: list[str] = []  # why workers are left out
        self._measured: Counter[str] = Counter()  # cells by worker
        self._remembered = 0  # cells of the journal
        self._first: Future[Mapping[str, Any]] = Future()  # the device of the first worker
        self._begun = self._closed = False
        self._thread = threading.Thread(target=self._run, name="spread", daemon=True)

    def add(self, cell: Cell, group: str, target: str = MEASURE, further: Sequence[Any] = ()) -> Future[Any]:
        """Have a cell measured; the future has its result, or a MmcoreError where it cannot be measured, which is
        :class:`NotMeasured` where nobody has tried.

        Args:
            cell: its device is the worker's, whatever it says.
            group: cells of one group go to one worker, in order.
            target: a function as :func:`mmcore.executor.run` takes it, called with the cell's JSON and ``further``.
        """
        task = Task(cell, group, target, further)
        self._tasks.add(task)
        self._events.put(None)
        if self._closed:
            self._fail(MmcoreError("it was not measured: the run has ended"))
        return task.future

    def start(self) -> Future[Mapping[str, Any]]:
        """Meet the workers; what the first one's device is, described, or a MmcoreError if there is none."""
        self._thread.start()
        return self._first

    def begin(self, journal: Path | None = None) -> None:
        """Begin to measure, with the group that is largest now; ``journal`` is the file of a :class:`Journal`."""
        if journal is not None:
            try:
                self._journal = Journal(journal, self._common)
            except (LockFailed, OSError) as error:
                self._say(f"nothing of this run is kept if it is interrupted: {error}")
        self._begun = True
        self._events.put(None)

    @property
    def keeps(self) -> bool:
        """Whether the next run goes on from where this one is interrupted."""
        return self._journal is not None

    @property
    def workers(self) -> int:
        """How many workers have been taken in and are there."""
        return sum(bool(seat.device) for seat in self._seats)

    def close(self, *, whole: bool = True) -> None:
        """End all workers at once; what is not measured fails. The journal of a run that is not ``whole`` stays."""
        self._closed = True
        self._events.put(None)
        if self._thread.is_alive():
            self._thread.join()
        for seat in self._seats:
            _end(seat.worker)
        with contextlib.suppress(Exception):  # what is measured is worth more than what an engine could not free
            self._engine.close()
        if self._journal is not None:
            self._journal.close(whole=whole)

    def report(self) -> list[str]:
        """What each worker measured, what was taken from the journal, and how much the cards differ."""
        counts = [f"{count} by {name}" for name, count in sorted(self._measured.items())]
        if len(counts) > _NAMED:
            several = self._measured.values()
            counts = [f"{sum(several)} by {len(several)} workers ({min(several)} to {max(several)} by each)"]
        counts += [f"{self._remembered} before the interruption"] if self._remembered else []
        times = {
            f"{seat.worker.name} ({seat.device['identity']})": seat.reference
            for seat in self._seats
            if seat.device and seat.reference is not None
        }
        return [f"measured {', '.join(counts)}", *compared_cards(times, self._reference)]

    # The rest runs in the spread's own thread, which alone changes what is above.

    def _run(self) -> None:
        error = MmcoreError("it was not measured: the run has ended")
        try:
            self._loop()
        except NoDevice as none:
            error = none
        except Exception as failure:  # of an engine, which may raise anything
            error = MmcoreError(f"the cells can no longer be spread: {type(failure).__name__}: {failure}")
        finally:
            self._closed = True
            self._fail(error)

    def _loop(self) -> None:
        began, asked, silent = time.monotonic(), float("-inf"), True
        while not self._closed:
            if time.monotonic() > asked + _POLL_SECONDS:
                self._take_in()
                self._tell_late()
                asked = time.monotonic()
            if silent and not self._first.done() and time.monotonic() > began + _SILENCE_SECONDS:
                silent = False
                self._say("no worker has answered yet; waiting for the first")
            try:
                event = self._events.get(timeout=_POLL_SECONDS)
            except queue.Empty:
                continue
            if event is not None and not event[0].left_out:
                self._answered(*event)
            if self._begun:
                self._tasks.receive()
                self._give()

    def _tell_late(self) -> None:
        """Tell once of each cell that a worker has beyond its time limit; who knows how long an engine's way is."""
        for seat in self._seats:
            if seat.current is not None and time.monotonic() > seat.due:
                seat.due, cell = math.inf, seat.current.cell
                what = (
                    f"{reference_words(cell.kernel)[0]} {cell.m}×{cell.n}×{cell.k} should have taken {cell.timeout:g} s"
                )
                self._say(f"still waiting for {seat.worker.name}, though {what} at most")

    def _take_in(self) -> None:
        """Ask workers that are new, and those whose device somebody else had, what they are."""
        new = []
        for worker in self._engine.workers():
            seat, names = _Seat(worker), [each.worker.name for each in self._seats]
            self._seats.append(seat)
            if worker.name in names:
                self._leave_out(seat, "another worker has its name")
            else:
                new.append(seat)
        if not self._seats:
            raise NoDevice("; ".join(dict.fromkeys(self._reasons[-4:])) or "the engine has no worker")
        for seat in (*new, *self._waiting):
            self._ask(seat, _HELLO)
        self._waiting = []

    def _ask(self, seat: _Seat, request: Mapping[str, Any]) -> None:
        def answered(future: Future[bytes]) -> None:
            self._events.put((seat, future))

        try:
            seat.worker.submit(json.dumps(request).encode()).add_done_callback(answered)
        except Exception as error:  # an engine may raise anything
            failed: Future[bytes] = Future()
            failed.set_exception(error)
            answered(failed)

    def _answered(self, seat: _Seat, future: Future[bytes]) -> None:
        """Take a worker's answer: to its hello, of the reference cell, or of a task."""
        task, seat.current = seat.current, None
        what, answer, outcome = "the worker was lost", {}, None
        try:
            content = future.result()
            what = "its answer is none"
            answer = json.loads(content)
            if task is not None:
                outcome = task.outcome(answer, seat.worker.name)
            elif not seat.device:
                self._meet(seat, answer)
            else:
                self._compare(seat, answer)
        except BaseException as error:
            lost = f"{what} ({type(error).__name__}: {error}".splitlines()[0] + ")"
            self._leave_out(seat, lost)
            if task is not None:
                self._again(task, lost)
            return
        if task is not None:
            self._finish(seat, task, answer, outcome)

    def _meet(self, seat: _Seat, answer: Mapping[str, Any]) -> None:
        """Take a worker in that has said what it is, or leave it out."""
        if "busy" in answer:
            if not seat.busy:
                self._say(f"{seat.worker.name} is being measured by {answer['busy']}; it joins when it is free")
            seat.busy = True
            self._waiting.append(seat)
            return
        if answer.get("error") == DeviceLost.__name__ and seat.deaths < ATTEMPTS:
            seat.deaths += 1
            self._ask(seat, _HELLO)
            return
        first = self._first.result() if self._first.done() else None
        reason = answer["text"] if "error" in answer else stranger(answer["result"], self._common, first)
        if reason:
            self._leave_out(seat, reason)
            return
        seat.device = answer["result"]["device"]
        if first is None:
            self._first.set_result(seat.device)
        if self._reference is None or seat.reference is not None or not seat.device["supports_timing"]:
            self._idle.append(seat)
        else:
            cell = self._reference.on(seat.device["name"])
            self._ask(seat, {"target": MEASURE, "arguments": [cell.to_json()], "timeout": cell.timeout})

    def _compare(self, seat: _Seat, answer: Mapping[str, Any]) -> None:
        """Take the reference cell's time; leave out a card that does not compute it."""
        result = Result.from_json(answer["result"]) if "result" in answer else None
        if result is None or result.kernel_seconds is None:
            reason = "; ".join(result.failures()) if result else answer["text"]
            self._leave_out(seat, f"it does not compute the reference kernel: {reason}".splitlines()[0])
            return
        seat.reference = result.kernel_seconds
        self._idle.append(seat)

    def _leave_out(self, seat: _Seat, reason: str) -> None:
        """Do without a worker; the rest of its groups goes to others."""
        self._reasons.append(f"{seat.worker.name} is left out: {reason}")
        self._say(self._reasons[-1])
        _end(seat.worker)
        self._seats.remove(seat)
        seat.left_out = True
        self._tasks.release(seat.worker.name)

    def _finish(self, seat: _Seat, task: Task, answer: Mapping[str, Any], outcome: Any) -> None:
        """Hand over what came of a task; have it measured again where its device's process died."""
        error = answer.get("error")
        if is_doubtful(answer):
            # Whether the card is still there, and computes, its next hello and the reference cell tell.
            seat.device, seat.reference = {}, None
            self._ask(seat, _HELLO)
        else:
            self._idle.append(seat)
        if error in (DeviceLost.__name__, NoDevice.__name__):
            self._again(task, answer["text"])
            return
        self._measured[seat.worker.name] += 1
        if isinstance(outcome, MmcoreError):
            task.future.set_exception(outcome)
            return
        if self._journal is not None and error is None:
            self._journal.keep(task.cell, self._first.result()["facts"], task.to_json(outcome))
        task.future.set_result(outcome)

    def _again(self, task: Task, why: str) -> None:
        """Have a cell measured elsewhere, or say that it takes every worker down."""
        if len(task.begun) < ATTEMPTS:
            self._tasks.retry(task)
        else:
            task.future.set_result(unfinished(task.cell, DeviceLost(f"{why}; so it went {ATTEMPTS} times")))

    def _give(self) -> None:
        """Give each worker that is free its next cell."""
        idle, self._idle = self._idle, []
        for seat in idle:
            if seat.left_out:
                continue
            task = self._next(seat)
            if task is None:
                self._idle.append(seat)
                continue
            seat.current = task
            task.begun.append(seat.worker.name)
            ahead = [each.cell.to_json() for each in self._tasks.following(seat.worker.name, AHEAD)]
            task.cell = cell = task.cell.on(seat.device["name"])
            seat.due = time.monotonic() + (cell.timeout or math.inf) + _LATE_SECONDS
            arguments = [cell.to_json(), *task.further]
            self._ask(seat, {"target": task.target, "arguments": arguments, "timeout": cell.timeout, "ahead": ahead})

    def _next(self, seat: _Seat) -> Task | None:
        """The next cell for a worker that is not in the journal."""
        while task := self._tasks.next(seat.worker.name, lambda: self._others(seat)):
            known = self._journal and self._journal.result(task.cell, self._first.result()["facts"])
            if known is None:
                break
            self._remembered += 1
            task.future.set_result(task.from_json(known))
        return task

    def _others(self, seat: _Seat) -> set[str]:
        return {each.worker.name for each in self._seats if each.device and each is not seat}

    def _fail(self, error: MmcoreError) -> None:
        """Give everything that is not measured an error."""
        if not self._first.done():
            self._first.set_exception(error)
        left = [*self._tasks.left(), *(seat.current for seat in self._seats if seat.current is not None)]
        for task in left:
            if not task.future.done():
                task.future.set_exception(NotMeasured(str(error)))


def _end(worker: Worker) -> None:
    with contextlib.suppress(Exception):  # an engine may raise anything
        worker.end()
