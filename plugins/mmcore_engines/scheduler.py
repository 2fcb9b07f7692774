"""The scheduler of cells on an engine's workers: it measures each cell once, even if workers are lost."""

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

_POLL_SECONDS = 1.0  # between two checks for new workers and released devices
_NAMED = 8  # at most, of workers with one count each in the report
_SILENCE_SECONDS = 10.0  # without an answer, until the user gets a message
_END_SECONDS = 10.0  # time limit of ending the workers and the engine


class NotMeasured(NoDevice):
    """An error: a cell was not measured, because no worker is left or the run has ended."""


class Scheduler:
    """A scheduler that assigns cells to an engine's idle workers; one worker measures all cells of a group.

    If a worker fails, another measures its cell. A cell is begun :data:`ATTEMPTS` times at most.

    Args:
        engine: the source of workers.
        say: called with each message for the user.
        reference: the cell that each card with timing measures first, so that cards can be compared.
    """

    def __init__(self, engine: Engine, say: Callable[[str], None], reference: Cell | None = None) -> None:
        self._say, self._common = say, identity()
        self._journal: Journal | None = None
        self._events: queue.SimpleQueue[tuple[WorkerState, Future[bytes]] | None] = queue.SimpleQueue()
        self._tasks = Tasks()
        self._pool = WorkerPool(
            engine,
            self._common,
            reference,
            on_answer=lambda worker, future: self._events.put((worker, future)),
            say=say,
            on_release=self._tasks.release,
        )
        self._measured: Counter[str] = Counter()  # number of cells by worker
        self._resumed = 0  # number of cells from the journal
        self._begun = self._closed = False
        self._thread = threading.Thread(target=self._run, name="scheduler", daemon=True)

    def add(self, cell: Cell, group: str, target: str = MEASURE, further: Sequence[Any] = ()) -> Future[Any]:
        """Queue a cell, and return the future of its result.

        The future raises :class:`NotMeasured` if no worker is left, or another MmcoreError if the cell cannot be
        measured.

        Args:
            cell: the cell; its device is replaced by the worker's.
            group: cells of one group are measured by one worker, in order.
            target: a function as for :func:`mmcore.executor.run`, called with the cell's JSON and ``further``.
            further: further arguments of ``target``.
        """
        task = Task(cell, group, target, further)
        self._tasks.add(task)
        self._events.put(None)
        if self._closed:
            self._fail(MmcoreError("it was not measured: the run has ended"))
        return task.future

    def start(self) -> Future[Mapping[str, Any]]:
        """Start the workers, and return the future of the first one's device, or of a MmcoreError if there is none."""
        if self._thread.ident is None:
            self._thread.start()
        return self._pool.first

    def begin(self, journal: Path | None = None) -> None:
        """Begin to measure, with the largest group first; ``journal`` is the file of a :class:`Journal`."""
        if journal is not None:
            try:
                self._journal = Journal(journal, self._common)
            except (LockFailed, OSError) as error:
                self._say(f"this run cannot be resumed after an interruption: {error}")
        self._begun = True
        self._events.put(None)

    @property
    def can_resume(self) -> bool:
        """True if the next run can resume this one after an interruption."""
        return self._journal is not None

    @property
    def workers(self) -> int:
        """The number of admitted workers."""
        return sum(bool(worker.device) for worker in self._pool.workers)

    def close(self, *, complete: bool = True) -> None:
        """End all workers at once, and fail unmeasured cells; keep the journal if the run is not complete."""
        self._closed = True
        self._events.put(None)
        # Engines and workers that do not end must not delay the results.
        if self._thread.is_alive():
            self._thread.join(_END_SECONDS)
        ending = threading.Thread(target=self._pool.end, name="end", daemon=True)
        ending.start()
        ending.join(_END_SECONDS)
        if self._journal is not None:
            self._journal.close(complete=complete)

    def report(self) -> list[str]:
        """Return sentences on the cells of each worker and of the journal, and on how much the cards differ."""
        counts = [f"{count} by {name}" for name, count in sorted(self._measured.items())]
        if len(counts) > _NAMED:
            by_worker = self._measured.values()
            counts = [f"{sum(by_worker)} by {len(by_worker)} workers ({min(by_worker)} to {max(by_worker)} by each)"]
        counts += [f"{self._resumed} before the interruption"] if self._resumed else []
        return [f"measured {', '.join(counts)}", *self._pool.card_differences()]

    # The methods below run in the scheduler's thread.

    def _run(self) -> None:
        error = MmcoreError("it was not measured: the run has ended")
        try:
            self._loop()
        except NoDevice as no_device:
            error = no_device
        except BaseException as failure:  # an engine may raise anything
            error = MmcoreError(f"cells can no longer be scheduled: {type(failure).__name__}: {failure}")
        finally:
            self._closed = True
            self._fail(error)

    def _loop(self) -> None:
        began, updated, silent = time.monotonic(), -math.inf, True
        while not self._closed:
            if time.monotonic() > updated + _POLL_SECONDS:
                self._pool.update()
                for worker in self._pool.lost():
                    self._events.put((worker, failed(TimeoutError("it does not answer"))))
                updated = time.monotonic()
            if silent and not self._pool.first.done() and time.monotonic() > began + _SILENCE_SECONDS:
                silent = False
                self._say("no worker has answered yet; waiting for the first")
            try:
                event = self._events.get(timeout=_POLL_SECONDS)
            except queue.Empty:
                continue
            if event is not None and not event[0].left_out:
                self._receive(*event)
            if self._begun:
                self._tasks.receive()
                self._assign()

    def _receive(self, worker: WorkerState, future: Future[bytes]) -> None:
        """Process a worker's answer: to its hello, for the reference cell, or for a task."""
        task, worker.current, worker.due = worker.current, None, math.inf
        failure, answer, outcome = "the worker was lost", {}, None
        try:
            content = future.result()
            failure = "its answer is not valid"
            answer = json.loads(content)
            if task is None:
                self._pool.receive(worker, answer)
            else:
                outcome = task.outcome(answer, worker.name)
        except BaseException as error:
            reason = f"{failure} ({type(error).__name__}: {error}".splitlines()[0] + ")"
            self._pool.leave_out(worker, reason)
            if task is not None:
                self._retry(task, reason)
            return
        if task is not None:
            self._finish(worker, task, answer, outcome)

    def _finish(self, worker: WorkerState, task: Task, answer: Mapping[str, Any], outcome: Any) -> None:
        """Settle a task, or retry it if its device's process died."""
        error = answer.get("error")
        if is_doubtful(answer):
            self._pool.recheck(worker)
        else:
            self._pool.idle.append(worker)
        if error in (DeviceLost.__name__, NoDevice.__name__):
            self._retry(task, answer["text"])
            return
        self._measured[worker.name] += 1
        if error is None:
            self._record(task, outcome)
        _settle(task, outcome)

    def _record(self, task: Task, outcome: Any) -> None:
        """Write a result to the journal; close the journal if this fails."""
        if self._journal is None:
            return
        try:
            self._journal.record(task.cell, self._pool.first.result()["facts"], task.to_json(outcome))
        except OSError as error:
            self._say(f"no further results are kept for resuming this run: {error.strerror}")
            self._journal.close(complete=False)
            self._journal = None

    def _retry(self, task: Task, reason: str) -> None:
        """Queue a cell again, or fail it if every attempt lost its worker."""
        if len(task.begun) < ATTEMPTS:
            self._tasks.retry(task)
        else:
            _settle(task, task.unfinished(DeviceLost(f"{reason}; this happened {ATTEMPTS} times")))

    def _assign(self) -> None:
        """Send each idle worker its next cell."""
        idle, self._pool.idle = self._pool.idle, []
        for worker in idle:
            if worker.left_out:
                continue
            task = self._next(worker)
            if task is None:
                self._pool.idle.append(worker)
                continue
            worker.current = task
            task.begun.append(worker.name)
            following = self._tasks.following(worker.name, AHEAD)
            ahead = [next_task.cell.to_json() for next_task in following]
            task.cell = cell = task.cell.on(worker.device["name"])
            request = {"target": task.target, "arguments": [cell.to_json(), *task.further], "timeout": cell.timeout}
            self._pool.ask(worker, {**request, "ahead": ahead}, f"for {task.label}", cell.timeout)

    def _next(self, worker: WorkerState) -> Task | None:
        """Return the next task for a worker; settle tasks whose result is in the journal."""
        while task := self._tasks.next(worker.name, lambda: self._pool.others(worker)):
            recorded = self._journal and self._journal.result(task.cell, self._pool.first.result()["facts"])
            try:
                outcome = None if recorded is None else task.from_json(recorded)
            except Exception:  # the line is damaged
                outcome = None
            if outcome is None:
                break
            self._resumed += 1
            task.future.set_result(outcome)
        return task

    def _fail(self, error: MmcoreError) -> None:
        """Fail every unmeasured task."""
        if not self._pool.first.done():
            self._pool.first.set_exception(error)
        current = [worker.current for worker in self._pool.workers if worker.current is not None]
        for task in [*self._tasks.waiting(), *current]:
            if not task.future.done():
                task.future.set_exception(NotMeasured(str(error)))


def _settle(task: Task, outcome: Any) -> None:
    """Set the result or the exception of a task's future."""
    if isinstance(outcome, MmcoreError):
        task.future.set_exception(outcome)
    else:
        task.future.set_result(outcome)
