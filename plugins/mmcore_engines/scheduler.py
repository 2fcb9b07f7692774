"""Spreading cells over an engine's workers: each is measured once, whatever becomes of the worker that has it."""

from __future__ import annotations

import json
import math
import queue
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from mmcore.cell import Cell
from mmcore.errors import DeviceLost, MmcoreError, NoDevice
from mmcore_engines.cards import is_doubtful
from mmcore_engines.device_worker import AHEAD, identity
from mmcore_engines.engine import Engine
from mmcore_engines.file_locks import LockFailed
from mmcore_engines.journal import Journal
from mmcore_engines.tasks import MEASURE, Task, Tasks
from mmcore_engines.worker_pool import ATTEMPTS, WorkerPool, WorkerState, failed

_POLL_SECONDS = 1.0  # how often the engine is asked for more workers, and a busy device for its release
_NAMED = 8  # workers at most whose counts are told one by one
_SILENCE_SECONDS = 10.0  # after which the user is told what is waited for
_END_SECONDS = 10.0  # that an engine may take to end


class NotMeasured(NoDevice):
    """A cell has not been measured, through no fault of its own: no worker is left, or the run has ended."""


class Scheduler:
    """Gives cells to the workers of an engine, those of one group to one worker, as workers become free.

    The cell of a worker that fails is measured by another, :data:`ATTEMPTS` times in all.

    Args:
        engine: where the workers are.
        say: is told what the user should know, a sentence each.
        reference: what each card that supports timing measures first, so that cards can be compared.
    """

    def __init__(self, engine: Engine, say: Callable[[str], None], reference: Cell | None = None) -> None:
        self._say, self._common = say, identity()
        self._journal: Journal | None = None
        self._events: queue.SimpleQueue[tuple[WorkerState, Future[bytes]] | None] = queue.SimpleQueue()
        self._tasks = Tasks()
        self._crew = WorkerPool(
            engine,
            self._common,
            reference,
            answered=lambda seat, future: self._events.put((seat, future)),
            said=say,
            released=self._tasks.release,
        )
        self._measured: Counter[str] = Counter()  # cells by worker
        self._remembered = 0  # cells of the journal
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
        if self._thread.ident is None:
            self._thread.start()
        return self._crew.first

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
        return sum(bool(seat.device) for seat in self._crew.seats)

    def close(self, *, whole: bool = True) -> None:
        """End all workers at once; what is not measured fails. The journal of a run that is not ``whole`` stays."""
        self._closed = True
        self._events.put(None)
        # Neither an engine that does not return nor a worker that does not end may hold up what is measured.
        if self._thread.is_alive():
            self._thread.join(_END_SECONDS)
        ending = threading.Thread(target=self._crew.end, name="end", daemon=True)
        ending.start()
        ending.join(_END_SECONDS)
        if self._journal is not None:
            self._journal.close(whole=whole)

    def report(self) -> list[str]:
        """What each worker measured, what was taken from the journal, and how much the cards differ."""
        counts = [f"{count} by {name}" for name, count in sorted(self._measured.items())]
        if len(counts) > _NAMED:
            several = self._measured.values()
            counts = [f"{sum(several)} by {len(several)} workers ({min(several)} to {max(several)} by each)"]
        counts += [f"{self._remembered} before the interruption"] if self._remembered else []
        return [f"measured {', '.join(counts)}", *self._crew.compared()]

    # The rest runs in the spread's own thread, which alone changes what is above.

    def _run(self) -> None:
        error = MmcoreError("it was not measured: the run has ended")
        try:
            self._loop()
        except NoDevice as none:
            error = none
        except BaseException as failure:  # of an engine, which may raise anything
            error = MmcoreError(f"the cells can no longer be spread: {type(failure).__name__}: {failure}")
        finally:
            self._closed = True
            self._fail(error)

    def _loop(self) -> None:
        began, asked, silent = time.monotonic(), float("-inf"), True
        while not self._closed:
            if time.monotonic() > asked + _POLL_SECONDS:
                self._crew.take_in()
                for seat in self._crew.late():
                    self._events.put((seat, failed(TimeoutError("it does not answer"))))
                asked = time.monotonic()
            if silent and not self._crew.first.done() and time.monotonic() > began + _SILENCE_SECONDS:
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

    def _answered(self, seat: WorkerState, future: Future[bytes]) -> None:
        """Take a worker's answer: to its hello, of the reference cell, or of a task."""
        task, seat.current, seat.due = seat.current, None, math.inf
        what, answer, outcome = "the worker was lost", {}, None
        try:
            content = future.result()
            what = "its answer is none"
            answer = json.loads(content)
            if task is None:
                self._crew.heard(seat, answer)
            else:
                outcome = task.outcome(answer, seat.worker.name)
        except BaseException as error:
            lost = f"{what} ({type(error).__name__}: {error}".splitlines()[0] + ")"
            self._crew.leave_out(seat, lost)
            if task is not None:
                self._again(task, lost)
            return
        if task is not None:
            self._finish(seat, task, answer, outcome)

    def _finish(self, seat: WorkerState, task: Task, answer: Mapping[str, Any], outcome: Any) -> None:
        """Hand over what came of a task; have it measured again where its device's process died."""
        error = answer.get("error")
        if is_doubtful(answer):
            self._crew.doubt(seat)
        else:
            self._crew.idle.append(seat)
        if error in (DeviceLost.__name__, NoDevice.__name__):
            self._again(task, answer["text"])
            return
        self._measured[seat.worker.name] += 1
        if error is None:
            self._keep(task, outcome)
        _settle(task, outcome)

    def _keep(self, task: Task, outcome: Any) -> None:
        """Enter a result in the journal, while that can be written."""
        if self._journal is None:
            return
        try:
            self._journal.keep(task.cell, self._crew.first.result()["facts"], task.to_json(outcome))
        except OSError as error:
            self._say(f"nothing more of this run is kept if it is interrupted: {error.strerror}")
            self._journal.close(whole=False)
            self._journal = None

    def _again(self, task: Task, why: str) -> None:
        """Have a cell measured elsewhere, or say that it takes every worker down."""
        if len(task.begun) < ATTEMPTS:
            self._tasks.retry(task)
        else:
            _settle(task, task.unfinished(DeviceLost(f"{why}; so it went {ATTEMPTS} times")))

    def _give(self) -> None:
        """Give each worker that is free its next cell."""
        idle, self._crew.idle = self._crew.idle, []
        for seat in idle:
            if seat.left_out:
                continue
            task = self._next(seat)
            if task is None:
                self._crew.idle.append(seat)
                continue
            seat.current = task
            task.begun.append(seat.worker.name)
            ahead = [each.cell.to_json() for each in self._tasks.following(seat.worker.name, AHEAD)]
            task.cell = cell = task.cell.on(seat.device["name"])
            asked = {"target": task.target, "arguments": [cell.to_json(), *task.further], "timeout": cell.timeout}
            self._crew.ask(seat, {**asked, "ahead": ahead}, f"for {task.label}", cell.timeout)

    def _next(self, seat: WorkerState) -> Task | None:
        """The next cell for a worker that is not in the journal."""
        while task := self._tasks.next(seat.worker.name, lambda: self._crew.others(seat)):
            known = self._journal and self._journal.result(task.cell, self._crew.first.result()["facts"])
            try:
                outcome = None if known is None else task.from_json(known)
            except Exception:  # of a line that was damaged
                outcome = None
            if outcome is None:
                break
            self._remembered += 1
            task.future.set_result(outcome)
        return task

    def _fail(self, error: MmcoreError) -> None:
        """Give everything that is not measured an error."""
        if not self._crew.first.done():
            self._crew.first.set_exception(error)
        left = [*self._tasks.left(), *(seat.current for seat in self._crew.seats if seat.current is not None)]
        for task in left:
            if not task.future.done():
                task.future.set_exception(NotMeasured(str(error)))


def _settle(task: Task, outcome: Any) -> None:
    """Give a task's future what came of it."""
    if isinstance(outcome, MmcoreError):
        task.future.set_exception(outcome)
    else:
        task.future.set_result(outcome)
