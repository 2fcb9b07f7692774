"""Barriers of blocks and clusters: the lanes that have arrived at each, and the lanes that may leave."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mmcore_emulator.machine.lanes import THREAD_AXES, Batch, Mask
from mmcore_emulator.machine.limits import WARP
from mmcore_emulator.machine.warps import Warps
from mmcore_emulator.numerics.types import Values


@dataclass(frozen=True)
class BarrierKind:
    """The kind of a barrier instruction."""

    action: str  # "sync", "arrive" (do not wait) or "red" (wait, and reduce a predicate)
    aligned: bool = True  # true if all threads of a warp must execute it together
    # For "red", the reduction and the PTX type of its result.
    finding: str = ""
    kind: str = ""


@dataclass(frozen=True)
class Reduction:
    """The reduction of a barrier."""

    # Maps the predicates of all lanes, and the lanes at the barrier, to the result of each block.
    of: Callable[[Values, Values], Values]
    slot: int  # the register of the result


@dataclass(frozen=True)
class Arrival:
    """The operands of lanes at a barrier of their block, as lanes."""

    wanted: Values | None  # lanes that execute the instruction, if it is guarded
    number: Values  # number of the barrier
    count: Values | None  # threads that the barrier waits for; None for all that have not left the kernel
    vote: Values | None  # predicate of a reduction


class BlockBarriers:
    """The barriers of a batch's blocks."""

    def __init__(self, batch: Batch, warps: Callable[[], Warps]) -> None:
        self._batch = batch
        self._warps = warps
        # Operands of each waiting lane; a count of 0 means all threads.
        self.number: Values = np.zeros((1,) * 6, np.uint32)
        self.count: Values = np.zeros((1,) * 6, np.uint32)
        self.vote: Values = np.zeros((1,) * 6, np.bool_)
        # Threads of each block that have arrived without waiting, by barrier number, and the counts that they named.
        self._arrived: dict[int, Values] = {}
        self._arrived_for: dict[int, Values] = {}
        self._have_arrived: dict[int, Values] = {}  # these lanes

    @property
    def plain(self) -> bool:
        """True if all waiting lanes are at one barrier, for all threads of their blocks."""
        return not self._arrived and self.number.size == 1 and self.count.size == 1 and not self.count.item()

    def arrive(self, lanes: Values, number: Values, count: Values | None) -> Values:
        """Count arrivals of lanes that do not wait, and return the lanes that nothing has kept from arriving twice.

        These have arrived before, no lane has left the barrier since, and arrivals alone have not completed it.
        """
        numbers = np.broadcast_to(number, self._batch.shape)
        arriving = np.broadcast_to(lanes, self._batch.shape)
        again = np.zeros(self._batch.shape, np.bool_)
        for barrier in np.unique(numbers[arriving]).tolist():
            arriving_there = arriving & (numbers == barrier)
            wanted = np.where(arriving_there, 0 if count is None else count, 0).max(THREAD_AXES, keepdims=True)
            before = self._have_arrived.get(barrier, np.False_) & (self._arrived.get(barrier, 0) < wanted)
            again |= arriving_there & before
            self._have_arrived[barrier] = before | arriving_there
            self._arrived[barrier] = self._arrived.get(barrier, 0) + self._threads(arriving_there)
            counts = self._arrived_for.get(barrier, np.zeros(self._batch.shape, np.uint32))
            self._arrived_for[barrier] = np.where(arriving_there, 0 if count is None else count, counts)
        return again

    def complete(self, waiting: Values, present: Values) -> Values:
        """Return the waiting lanes whose barrier is complete; ``present`` lanes have not left the kernel."""
        numbers, counts = (np.broadcast_to(values, self._batch.shape) for values in (self.number, self.count))
        going = np.zeros(self._batch.shape, np.bool_)
        for barrier in np.unique(numbers[waiting]).tolist():
            waiters = waiting & (numbers == barrier)
            arrived = self._arrived.get(barrier, np.zeros((1,) * 6, np.int64))
            wanted = np.where(waiters, counts, 0).max(THREAD_AXES, keepdims=True)
            missing = self._threads(present & ~waiters) - arrived
            come = self._threads(waiters) + arrived
            complete = np.where(wanted, come >= wanted, missing <= 0)
            leaving = waiters & complete
            # With more arrivals than the count, the first lanes leave; the others wait for the next phase.
            late = complete & (wanted != 0) & (come > wanted)
            if late.any():
                leaving &= ~late | (self._rank(waiters) < wanted - arrived)
            going |= leaving
        return going

    def leave(self, going: Values) -> None:
        """Restart the barriers that lanes leave."""
        for barrier, arrived in self._arrived.items():
            over = (going & (np.broadcast_to(self.number, going.shape) == barrier)).any(THREAD_AXES, keepdims=True)
            self._arrived[barrier] = np.where(over, 0, arrived)
            self._arrived_for[barrier] = np.where(over, 0, self._arrived_for[barrier])
            self._have_arrived[barrier] = self._have_arrived[barrier] & ~over

    def miscounted(self, waiting: Values, going: Values) -> list[tuple[Values, str]]:
        """Return lanes at barriers with a wrong count, each with a clause; ``going`` are the lanes that may leave."""
        numbers, counts = (np.broadcast_to(values, self._batch.shape) for values in (self.number, self.count))
        mistakes = []
        for barrier in np.unique(numbers[going & (counts != 0)]).tolist():
            waiters = waiting & (numbers == barrier)
            most = np.where(waiters, counts, 0).max(THREAD_AXES, keepdims=True)
            arrived = self._arrived_for.get(barrier, np.zeros(self._batch.shape, np.uint32))
            apart = ((arrived != 0) & (arrived != most)).any(THREAD_AXES, keepdims=True)
            mistakes += [
                (
                    waiters & apart,
                    "waits at a barrier for another number of threads than others of its block arrive for",
                ),
                (
                    waiters & (counts != most),
                    "waits at a barrier for fewer threads than others of its block wait there for",
                ),
                (waiters & (counts % WARP != 0), "waits at a barrier for a part of a warp"),
                (
                    waiters & ~going & (going & waiters).any(THREAD_AXES, keepdims=True),
                    "reaches a barrier at which others of its block continue without it, as it waits for fewer threads",
                ),
            ]
        return [(lanes, text) for lanes, text in mistakes if lanes.any()]

    def come(self, lane: tuple[int, ...], waiting: Values) -> tuple[int, int]:
        """Return how many threads have come to the barrier where a lane waits, and how many of these do not wait."""
        numbers = np.broadcast_to(self.number, self._batch.shape)
        number = int(numbers[lane])
        arrived = self._arrived.get(number, np.zeros((1,) * 6, np.int64))
        come = self._threads(waiting & (numbers == number)) + arrived
        come, arrived = (np.broadcast_to(values, self._batch.shape)[lane] for values in (come, arrived))
        return int(come), int(arrived)

    def _threads(self, lanes: Values) -> Values:
        """Return the number of lanes in each block; threads missing from the last warp count like its others."""
        threads = np.asarray(lanes.sum(THREAD_AXES, np.int64, keepdims=True))
        size = self._batch.block.size
        if size % WARP:
            last = np.broadcast_to(self._batch.thread_index() >= size // WARP * WARP, self._batch.shape)
            full = (lanes | ~last).all(THREAD_AXES, keepdims=True)
            threads = threads + np.where(full, WARP - size % WARP, 0)
        return threads

    def _rank(self, lanes: Values) -> Values:
        """Return for each lane how many lanes precede it in its block, by whole warps."""
        warps = self._warps()
        taking_part = warps.rows(lanes).any(axis=1).reshape(-1, warps.per_block)
        before: Values = np.asarray(np.cumsum(taking_part, axis=1) - taking_part) * WARP
        return warps.lanes(np.repeat(before.reshape(-1, 1), WARP, axis=1))


class ClusterBarrier:
    """The arrivals of a batch's lanes at the barriers of their clusters."""

    def __init__(self, batch: Batch) -> None:
        self._batch = batch
        self.arrivals: Values = np.zeros((1,) * 6, np.int64)  # how often each lane has arrived
        self.relaxed: Values = np.zeros((1,) * 6, np.bool_)  # the lanes whose last arrival orders no accesses

    def arrive(self, mask: Mask | None, *, relaxed: bool) -> None:
        """Count arrivals of lanes."""
        lanes = self._batch.spread(mask)
        self.arrivals = self.arrivals + lanes
        if relaxed or self.relaxed.any():
            self.relaxed = np.where(lanes, relaxed, self.relaxed)
