"""The queue of cells to measure: cells in groups, each assigned to one worker, and cells whose worker was lost."""

from __future__ import annotations

import queue
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from typing import Any

from mmcore.cell import Cell
from mmcore.errors import DeviceLost, TimeLimit, error_from_json
from mmcore.executor import unfinished
from mmcore.result import Result

MEASURE = "mmcore.executor.worker:measure_json"


@dataclass
class Task:
    """A cell to measure.

    Attributes:
        cell: the cell, on the device of its worker.
        group: cells of one group are measured by one worker, in order.
        target: the function that is called with the cell's JSON.
        further: further arguments of the function.
        future: the future of the outcome.
        begun: the workers that have begun the cell.
    """

    cell: Cell
    group: str
    target: str
    further: Sequence[Any] = ()
    future: Future[Any] = field(default_factory=Future)
    begun: list[str] = field(default_factory=list)

    @property
    def label(self) -> str:
        kernel = self.cell.kernel
        return f"{kernel if isinstance(kernel, str) else kernel['file']} {self.cell.m}×{self.cell.n}×{self.cell.k}"

    def outcome(self, answer: Mapping[str, Any], worker: str) -> Any:
        """Return the result or the MmcoreError in a worker's answer.

        Raises:
            ValueError: it is the answer of another task, or not a result.
        """
        if answer.get("error") == TimeLimit.__name__:
            return self.unfinished(TimeLimit(answer["text"]))
        if "error" in answer:
            return error_from_json(answer)
        if self.target != MEASURE:
            return answer["result"]
        result = Result.from_json({**answer["result"], "place": worker})
        if replace(result.cell, seed=self.cell.seed) != self.cell:
            raise ValueError("it is another cell's")
        parts = (result.config, result.figures, result.phases, result.distributions, result.conditions)
        if not all(isinstance(part, Mapping) for part in parts):
            raise ValueError("its parts are of other types")
        return result

    def unfinished(self, error: TimeLimit | DeviceLost) -> Any:
        """Return the outcome of a task that reached its time limit, or whose workers died."""
        return unfinished(self.cell, error) if self.target == MEASURE else error

    def to_json(self, outcome: Any) -> Any:
        return outcome.to_json() if self.target == MEASURE else outcome

    def from_json(self, values: Any) -> Any:
        return Result.from_json(values) if self.target == MEASURE else values


class Tasks:
    """Tasks by group. Any thread may call :meth:`add`; the other methods belong to one thread."""

    def __init__(self) -> None:
        self._added: queue.SimpleQueue[Task] = queue.SimpleQueue()
        self._groups: dict[str, deque[Task]] = {}  # without a worker
        self._assigned: dict[str, deque[Task]] = {}  # the tasks of assigned groups, by worker
        self._owners: dict[str, str] = {}  # workers by group
        self._retries: list[Task] = []

    def add(self, task: Task) -> None:
        self._added.put(task)

    def receive(self) -> None:
        """Sort added tasks into their groups; the first time, order groups by number of cells, then by size."""
        first = not self._groups and not self._owners
        while not self._added.empty():
            task = self._added.get()
            owner = self._owners.get(task.group)
            tasks = self._groups.setdefault(task.group, deque()) if owner is None else self._assigned[owner]
            tasks.append(task)
        if first:
            self._groups = dict(sorted(self._groups.items(), key=lambda item: _size(item[1]), reverse=True))

    def retry(self, task: Task) -> None:
        """Queue a task again, for another worker if there is one."""
        self._retries.append(task)

    def next(self, worker: str, others: Callable[[], Set[str]]) -> Task | None:
        """Return the next task for a worker: a lost one, one of its groups, or one of an unassigned group.

        ``others`` returns the names of the other workers; it is called only for a lost task.
        """
        for task in self._retries:
            if worker not in task.begun or others() <= set(task.begun):
                self._retries.remove(task)
                return task
        tasks = self._assigned.setdefault(worker, deque())
        if not tasks and self._groups:
            group = next(iter(self._groups))
            tasks.extend(self._groups.pop(group))
            self._owners[group] = worker
        return tasks.popleft() if tasks else None

    def following(self, worker: str, count: int) -> Iterator[Task]:
        """Return the next tasks of a worker's groups."""
        return (task for task, _ in zip(self._assigned.get(worker, ()), range(count), strict=False))

    def release(self, worker: str) -> None:
        """Make the rest of a worker's groups available to other workers."""
        self._owners = {group: owner for group, owner in self._owners.items() if owner != worker}
        for task in self._assigned.pop(worker, ()):
            self._groups.setdefault(task.group, deque()).append(task)

    def waiting(self) -> list[Task]:
        """Return every task that no worker has begun, or that is queued again."""
        self.receive()
        queues = [*self._groups.values(), *self._assigned.values()]
        return [*self._retries, *(task for tasks in queues for task in tasks)]


def _size(tasks: Sequence[Task]) -> tuple[int, int]:
    cell = tasks[0].cell
    return len(tasks), cell.m * cell.n * cell.k
