"""A run of many cells on many GPUs, simulated event by event.

The head is one thread that takes answers in the order in which they come, and gives each free worker its next cell as
:class:`mmcore_engines.Spread` does: what a lost worker had, the rest of its group, the next group.
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
    """What a cell costs besides its own time, in seconds.

    Attributes:
        head: of the head for each answer, which includes giving the next cell.
        idle: more of it, for each worker that is free.
        transport: from a worker to the head and back.
    """

    head: float
    idle: float = 0.0
    transport: float = 0.0


@dataclass(frozen=True)
class Losses:
    """Nodes that are lost, :data:`GPUS_PER_NODE` GPUs each.

    Attributes:
        every: seconds from one loss to the next, on average.
        away: seconds until its GPUs are there again.
    """

    every: float
    away: float


@dataclass(frozen=True)
class Outcome:
    """What came of it.

    Attributes:
        makespan: seconds from the first cell's beginning to the last one's end.
        measuring: share of all GPUs' time in which they measured what was not lost.
        head: share of the makespan in which the head was busy.
        begun_again: cells whose node was lost.
    """

    makespan: float
    measuring: float
    head: float
    begun_again: int


class Simulation:
    """One run.

    Args:
        seconds: how long each cell takes.
        group: how many cells that follow each other are one worker's.
    """

    def __init__(self, seconds: Sequence[float], group: int, gpus: int, costs: Costs, losses: Losses | None) -> None:
        self._seconds, self._costs, self._losses = seconds, costs, losses
        starts = range(0, len(seconds), group)
        self._groups = deque(deque(range(start, min(start + group, len(seconds)))) for start in starts)
        self._own: list[deque[int]] = [deque() for _ in range(gpus)]
        self._current: list[int | None] = [None] * gpus
        self._epoch = [0] * gpus  # how often a GPU was lost, or came back
        self._retries: deque[int] = deque()
        self._idle = set(range(gpus))
        self._head = self._busy = self._makespan = 0.0
        self._left, self._again = len(seconds), 0
        self._events: list[tuple[float, int, int]] = []  # when, which GPU (-1: a node is lost), its epoch
        self._random = random.Random(3)

    def outcome(self) -> Outcome:
        """Run it to its end."""
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
        """Take an answer, or a GPU that is there again, and give it its next cell."""
        if self._current[gpu] is not None:
            self._current[gpu] = None
            self._left, self._makespan = self._left - 1, max(self._makespan, now)
        self._serve(now + self._costs.transport / 2)
        self._begin(gpu)

    def _fill(self, now: float) -> None:
        """Give the GPUs that are free what nobody has."""
        while self._idle and (self._retries or self._groups):
            self._serve(now)
            self._begin(self._idle.pop())

    def _serve(self, now: float) -> None:
        """Have the head work for an answer, once it is done with those before."""
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
        """Give the cells of a node's GPUs to others; they come back after a while."""
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
    """The outcome of a run of cells that take so long on so many GPUs."""
    return Simulation(seconds, group, gpus, costs, losses).outcome()
