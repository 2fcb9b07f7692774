"""Barriers of blocks and clusters: which lanes have arrived at each, and which may leave."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mmcore_emulator.machine.lanes import THREAD_AXES, WARP, Batch, Mask
from mmcore_emulator.machine.warps import Warps
from mmcore_emulator.numerics.floats import Values


@dataclass(frozen=True)
class BarrierKind:
    """What a barrier instruction does.

    Attributes:
        action: "sync", "arrive" (go on at once) or "red" (wait, and find out something together).
        aligned: whether all threads of a warp must come to it together.
        finding, kind: of "red", what is found out and its PTX type.
    """

    action: str
    aligned: bool = True
    finding: str = ""
    kind: str = ""


@dataclass(frozen=True)
class Reduction:
    """A barrier's result.

    Attributes:
        of: from all lanes' predicates, and which of the lanes are at the barrier, to what each block is told.
        slot: the register that it goes to.
    """

    of: Callable[[Values, Values], Values]
    slot: int


@dataclass(frozen=True)
class Arrival:
    """What lanes bring to a barrier of their block, as lanes each.

    Attributes:
        wanted: who takes part, where the instruction is guarded.
        number: the barrier's.
        count: threads that it waits for; None for all that have not left the kernel.
        vote: the predicate that a reduction is about.
    """

    wanted: Values | None
    number: Values
    count: Values | None
    vote: Values | None


class BlockBarriers:
    """The barriers of a batch's blocks.

    Attributes:
        number, count, vote: what each lane that waits at one has brought; a count of 0 stands for all threads.
    """

    def __init__(self, batch: Batch, warps: Callable[[], Warps]) -> None:
        self._batch = batch
        self._warps = warps
        self.number: Values = np.zeros((1,) * 6, np.uint32)
        self.count: Values = np.zeros((1,) * 6, np.uint32)
        self.vote: Values = np.zeros((1,) * 6, np.bool_)
        # Threads of each block that have arrived at a barrier and gone on, by its number; and for how many threads.
        self._arrived: dict[int, Values] = {}
        self._arrived_for: dict[int, Values] = {}

    @property
    def plain(self) -> bool:
        """Whether all who wait are at one barrier, for all threads of their blocks."""
        return not self._arrived and self.number.size == 1 and self.count.size == 1 and not self.count.item()

    def arrive(self, lanes: Values, number: Values, count: Values | None) -> None:
        """Lanes that do not wait."""
        numbers = np.broadcast_to(number, self._batch.shape)
        here = np.broadcast_to(lanes, self._batch.shape)
        for each in np.unique(numbers[here]).tolist():
            those = here & (numbers == each)
            self._arrived[each] = self._arrived.get(each, 0) + self._threads(those)
            told = self._arrived_for.get(each, np.zeros(self._batch.shape, np.uint32))
            self._arrived_for[each] = np.where(those, 0 if count is None else count, told)

    def complete(self, waiting: Values, present: Values) -> Values:
        """Of the lanes that wait, those whose barrier is complete.

        Args:
            waiting: who is at a barrier of its block.
            present: who has not left the kernel.
        """
        numbers, counts = (np.broadcast_to(each, self._batch.shape) for each in (self.number, self.count))
        going = np.zeros(self._batch.shape, np.bool_)
        for each in np.unique(numbers[waiting]).tolist():
            here = waiting & (numbers == each)
            arrived = self._arrived.get(each, np.zeros((1,) * 6, np.int64))
            wanted = np.where(here, counts, 0).max(THREAD_AXES, keepdims=True)
            missing = self._threads(present & ~here) - arrived
            come = self._threads(here) + arrived
            complete = np.where(wanted, come >= wanted, missing <= 0)
            goes = here & complete
            # More than it waits for: the first go on, the others wait for the next time.
            late = complete & (wanted != 0) & (come > wanted)
            if late.any():
                goes &= ~late | (self._rank(here) < wanted - arrived)
            going |= goes
        return going

    def leave(self, going: Values) -> None:
        """These lanes go on: their barriers begin anew."""
        for each, arrived in self._arrived.items():
            over = (going & (np.broadcast_to(self.number, going.shape) == each)).any(THREAD_AXES, keepdims=True)
            self._arrived[each] = np.where(over, 0, arrived)
            self._arrived_for[each] = np.where(over, 0, self._arrived_for[each])

    def miscounted(self, waiting: Values, going: Values) -> list[tuple[Values, str]]:
        """Lanes at barriers whose counts are wrong, each with what they do; ``going`` are those that may go on."""
        numbers, counts = (np.broadcast_to(each, self._batch.shape) for each in (self.number, self.count))
        found = []
        for each in np.unique(numbers[going & (counts != 0)]).tolist():
            here = waiting & (numbers == each)
            most = np.where(here, counts, 0).max(THREAD_AXES, keepdims=True)
            arrived = self._arrived_for.get(each, np.zeros(self._batch.shape, np.uint32))
            apart = ((arrived != 0) & (arrived != most)).any(THREAD_AXES, keepdims=True)
            found += [
                (here & apart, "waits at a barrier for another number of threads than others of its block arrive for"),
                (
                    here & (counts != most),
                    "waits at a barrier for fewer threads than others of its block wait there for",
                ),
                (here & (counts % WARP != 0), "waits at a barrier for a part of a warp"),
                (
                    here & ~going & (going & here).any(THREAD_AXES, keepdims=True),
                    "comes to a barrier at which others of its block go on without it, as it waits for fewer threads",
                ),
            ]
        return [(lanes, text) for lanes, text in found if lanes.any()]

    def come(self, lane: tuple[int, ...], waiting: Values) -> tuple[int, int]:
        """How many threads have come to the barrier at which a lane waits, and how many of them only arrive there."""
        numbers = np.broadcast_to(self.number, self._batch.shape)
        number = int(numbers[lane])
        arrived = self._arrived.get(number, np.zeros((1,) * 6, np.int64))
        come = self._threads(waiting & (numbers == number)) + arrived
        come, arrived = (np.broadcast_to(each, self._batch.shape)[lane] for each in (come, arrived))
        return int(come), int(arrived)

    def _threads(self, lanes: Values) -> Values:
        """How many threads of each block these are; the threads that its last warp lacks count as the warp's others."""
        threads = np.asarray(lanes.sum(THREAD_AXES, np.int64, keepdims=True))
        size = self._batch.block.size
        if size % WARP:
            last = np.broadcast_to(self._batch.thread_index() >= size // WARP * WARP, self._batch.shape)
            whole = (lanes | ~last).all(THREAD_AXES, keepdims=True)
            threads = threads + np.where(whole, WARP - size % WARP, 0)
        return threads

    def _rank(self, lanes: Values) -> Values:
        """For each lane, how many of these precede it in its block, by whole warps."""
        warps = self._warps()
        taking_part = warps.rows(lanes).any(axis=1).reshape(-1, warps.per_block)
        before: Values = np.asarray(np.cumsum(taking_part, axis=1) - taking_part) * WARP
        return warps.lanes(np.repeat(before.reshape(-1, 1), WARP, axis=1))


class ClusterBarrier:
    """The arrivals of a batch's lanes at the barriers of their clusters.

    Attributes:
        arrivals: how often each lane has arrived.
        relaxed: the lanes whose last arrival orders no accesses.
    """

    def __init__(self, batch: Batch) -> None:
        self._batch = batch
        self.arrivals: Values = np.zeros((1,) * 6, np.int64)
        self.relaxed: Values = np.zeros((1,) * 6, np.bool_)

    def arrive(self, mask: Mask | None, *, relaxed: bool) -> None:
        """Let lanes arrive without waiting."""
        lanes = self._batch.spread(mask)
        self.arrivals = self.arrivals + lanes
        if relaxed or self.relaxed.any():
            self.relaxed = np.where(lanes, relaxed, self.relaxed)
