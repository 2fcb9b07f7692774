"""A run of many cells on many GPUs, simulated event by event.

The head is one thread. It takes answers in the order of their arrival, and gives each free worker its next cell as
:class:`mmcore_engines.Scheduler` does. The next cell is a lost worker's, one of the same group, or one of the next
group.
"""

from __future__ import annotations

import heapq
import random
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from bench.studies.scale.stand_in import GPUS_PER_NODE


@dataclass(frozen=True)
class Costs:
    """The costs of a cell besides its own time, in seconds.

    Attributes:
        head: the head's time for each answer, which includes giving the next cell.
        idle: the head's further time for each free worker.
        transport: the time from a worker to the head and back.
    """

    head: float
    idle: float = 0.0
    transport: float = 0.0


@dataclass(frozen=True)
class Losses:
    """Losses of nodes with :data:`GPUS_PER_NODE` GPUs each.

    Attributes:
        every: average seconds from one loss to the next.
        away: seconds until the GPUs of a lost node are back.
    """

    every: float
    away: float


@dataclass(frozen=True)
class Outcome:
    """The outcome of a run.

    Attributes:
        makespan: seconds from the first cell's beginning to the last one's end.
        measuring: share of all GPUs' time in which they measured results that were not lost.
        head: share of the makespan in which the head was busy.
        begun_again: number of cells whose node was lost.
    """

    makespan: float
    measuring: float
    head: float
    begun_again: int


class Simulation:
    """One run.

    Args:
        seconds: duration of each cell.
        group: number of consecutive cells that one worker measures.
    """

    def __init__(self, seconds: Sequence[float], group: int, gpus: int, costs: Costs, losses: Losses | None) -> None:
        self._seconds, self._costs, self._losses = seconds, costs, losses
        starts = range(0, len(seconds), group)
        self._groups = deque(deque(range(start, min(start + group, len(seconds)))) for start in starts)
        self._own: list[deque[int]] = [deque() for _ in range(gpus)]
        self._current: list[int | None] = [None] * gpus
        self._epoch = [0] * gpus  # counts the losses and returns of each GPU
        self._retries: deque[int] = deque()
        self._idle = set(range(gpus))
        self._head = self._busy = self._makespan = 0.0
        self._left, self._again = len(seconds), 0
        self._events: list[tuple[float, int, int]] = []  # when, which GPU (-1: a node is lost), its epoch
        self._random = random.Random(3)

    def outcome(self) -> Outcome:
        """Run to the end and return the outcome."""
        self._fill(0.0)
        if self._losses:
            self._plan_loss(0.0)
        while self._left:
            now, gpu, epoch = heapq.heappop(self._events)
            if gpu < 0:
                self._lose_node(now)
            elif epoch == self._epoch[gpu]:
                self._answered(gpu, now)
        share = sum(self._seconds) / len(self._own) / self._makespan
        return Outcome(self._makespan, share, self._busy / self._makespan, self._again)

    def _answered(self, gpu: int, now: float) -> None:
        """Take the answer of a GPU, or a GPU that is back, and give it its next cell."""
        if self._current[gpu] is not None:
            self._current[gpu] = None
            self._left, self._makespan = self._left - 1, max(self._makespan, now)
        self._serve(now + self._costs.transport / 2)
        self._begin(gpu)

    def _fill(self, now: float) -> None:
        """Give free GPUs the cells that no GPU has."""
        while self._idle and (self._retries or self._groups):
            self._serve(now)
            self._begin(self._idle.pop())

    def _serve(self, now: float) -> None:
        """Let the head work on an answer once it has done those before."""
        spent = self._costs.head + self._costs.idle * len(self._idle)
        self._head = max(self._head, now) + spent
        self._busy += spent

    def _begin(self, gpu: int) -> None:
        cell = self._current[gpu] = self._next(gpu)
        if cell is None:
            self._idle.add(gpu)
        else:
            end = self._head + self._costs.transport / 2 + self._seconds[cell]
            heapq.heappush(self._events, (end, gpu, self._epoch[gpu]))

    def _next(self, gpu: int) -> int | None:
        if self._retries:
            return self._retries.popleft()
        if not self._own[gpu] and self._groups:
            self._own[gpu] = self._groups.popleft()
        return self._own[gpu].popleft() if self._own[gpu] else None

    def _plan_loss(self, now: float) -> None:
        assert self._losses is not None
        heapq.heappush(self._events, (now + self._random.expovariate(1 / self._losses.every), -1, 0))

    def _lose_node(self, now: float) -> None:
        """Take a node away: give its cells to other GPUs, and bring its GPUs back later."""
        assert self._losses is not None
        first = self._random.randrange(len(self._own) // GPUS_PER_NODE) * GPUS_PER_NODE
        for gpu in range(first, first + GPUS_PER_NODE):
            self._epoch[gpu] += 1
            self._idle.discard(gpu)
            if (cell := self._current[gpu]) is not None:
                self._retries.append(cell)
                self._again += 1
            if self._own[gpu]:
                self._groups.append(self._own[gpu])
            self._current[gpu], self._own[gpu] = None, deque()
            heapq.heappush(self._events, (now + self._losses.away, gpu, self._epoch[gpu]))
        self._plan_loss(now)
        self._fill(now)


def simulated(
    seconds: Sequence[float], gpus: int, costs: Costs, group: int = 1, losses: Losses | None = None
) -> Outcome:
    """Return the outcome of a run of cells with these durations."""
    return Simulation(seconds, group, gpus, costs, losses).outcome()
