"""The cells that wait to be measured: in groups, each of which goes to one worker, and those whose worker was lost."""

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
    """A cell to be measured.

    Attributes:
        cell: the cell, whose device is that of the worker which has it.
        group: cells of one group go to one worker, in order.
        target, further: the function that is called with the cell's JSON, and its further arguments.
        future: what comes of it.
        begun: the workers that have begun with it.
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

    def outcome(self, answer: Mapping[str, Any], place: str) -> Any:
        """What a worker's answer says: a result, or a MmcoreError; ValueError where it is another task's answer."""
        if answer.get("error") == TimeLimit.__name__:
            return self.unfinished(TimeLimit(answer["text"]))
        if "error" in answer:
            return error_from_json(answer)
        if self.target != MEASURE:
            return answer["result"]
        result = Result.from_json({**answer["result"], "place": place})
        if replace(result.cell, seed=self.cell.seed) != self.cell:
            raise ValueError("it is another cell's")
        parts = (result.config, result.figures, result.phases, result.distributions, result.conditions)
        if not all(isinstance(each, Mapping) for each in parts):
            raise ValueError("its parts are of other types")
        return result

    def unfinished(self, error: TimeLimit | DeviceLost) -> Any:
        """What comes of it where it reached its time limit, or took its workers down."""
        return unfinished(self.cell, error) if self.target == MEASURE else error

    def to_json(self, outcome: Any) -> Any:
        return outcome.to_json() if self.target == MEASURE else outcome

    def from_json(self, values: Any) -> Any:
        return Result.from_json(values) if self.target == MEASURE else values


class Tasks:
    """Tasks by group; :meth:`add` is for every thread, the rest for one alone."""

    def __init__(self) -> None:
        self._added: queue.SimpleQueue[Task] = queue.SimpleQueue()
        self._groups: dict[str, deque[Task]] = {}  # that no worker has yet
        self._owned: dict[str, deque[Task]] = {}  # by worker: of the groups that it has
        self._owners: dict[str, str] = {}  # by group
        self._retries: list[Task] = []

    def add(self, task: Task) -> None:
        self._added.put(task)

    def receive(self) -> None:
        """Sort what was added into its groups; first come those of most cells, and of these the largest products."""
        first = not self._groups and not self._owners
        while not self._added.empty():
            task = self._added.get()
            owner = self._owners.get(task.group)
            own = self._groups.setdefault(task.group, deque()) if owner is None else self._owned[owner]
            own.append(task)
        if first:
            self._groups = dict(sorted(self._groups.items(), key=lambda item: _size(item[1]), reverse=True))

    def retry(self, task: Task) -> None:
        """Have a task begun again, by another worker if there is one."""
        self._retries.append(task)

    def next(self, worker: str, others: Callable[[], Set[str]]) -> Task | None:
        """The next task for a worker: one that another has lost, or of its groups, or of a group that nobody has.

        ``others`` tells the other workers that there are; it is asked for only where a task has been lost.
        """
        for task in self._retries:
            if worker not in task.begun or others() <= set(task.begun):
                self._retries.remove(task)
                return task
        own = self._owned.setdefault(worker, deque())
        if not own and self._groups:
            group = next(iter(self._groups))
            own.extend(self._groups.pop(group))
            self._owners[group] = worker
        return own.popleft() if own else None

    def following(self, worker: str, count: int) -> Iterator[Task]:
        """The tasks that a worker will be given next."""
        return (task for task, _ in zip(self._owned.get(worker, ()), range(count), strict=False))

    def release(self, worker: str) -> None:
        """Give the rest of a worker's groups to others."""
        self._owners = {group: owner for group, owner in self._owners.items() if owner != worker}
        for task in self._owned.pop(worker, ()):
            self._groups.setdefault(task.group, deque()).append(task)

    def left(self) -> list[Task]:
        """Every task that waits."""
        self.receive()
        several = [*self._groups.values(), *self._owned.values()]
        return [*self._retries, *(task for tasks in several for task in tasks)]


def _size(tasks: Sequence[Task]) -> tuple[int, int]:
    cell = tasks[0].cell
    return len(tasks), cell.m * cell.n * cell.k
