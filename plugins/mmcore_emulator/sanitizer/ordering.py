"""What is in order among the threads of a launch: who knows of whom, by barriers, fences and flags.

Time advances with every event that puts accesses in order. "Known until t" means all accesses made before t. Within a
warp each thread knows others one by one; within a block, warp by warp; what threads tell each other by flags in memory
(a fence or release, a strong write; a strong read of it, an acquire or fence) is kept thread by thread. References: PTX
ISA, "Memory Consistency Model" (release and acquire patterns, causality order).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mmcore_emulator.machine.lanes import THREAD_AXES, WARP, Batch
from mmcore_emulator.machine.warps import BIT, PerWarp, Warps, groups
from mmcore_emulator.numerics.floats import Values
from mmcore_emulator.sanitizer.event_clocks import EventClocks

Knowledge: TypeAlias = Mapping[tuple[str, int], int]
"""Until when something is known, by ("thread", number), ("warp", number) or ("block", number)."""

NOTHING: Knowledge = MappingProxyType({})


def joined(*parts: Knowledge) -> Knowledge:
    """What is known to somebody who knows all of these."""
    known = list({id(part): part for part in parts if part}.values())
    if len(known) < 2:
        return known[0] if known else NOTHING
    together = dict(known[0])
    for part in known[1:]:
        for key, time in part.items():
            together[key] = max(time, together.get(key, 0))
    return together


@dataclass
class Flag:
    """What a strong write tells those who read it.

    Attributes:
        near: threads of the same block, by block.
        far: threads of all blocks.
    """

    near: dict[int, Knowledge] = field(default_factory=dict)
    far: Knowledge = field(default_factory=dict)


@dataclass
class _Pending:
    """What a thread has read in flags, which it only knows after a fence; and what it has found in each."""

    near: Knowledge = field(default_factory=dict)
    far: Knowledge = field(default_factory=dict)
    seen: dict[tuple[int, ...], tuple[Knowledge, Knowledge]] = field(default_factory=dict)


class Order:
    """The order of a launch.

    Attributes:
        now: the time.
        blocks: how many blocks the grid has.
        block_size: threads of a block.
        proxies_fenced: when anybody has last ordered writes to global memory before asynchronous reads of it.
    """

    def __init__(self) -> None:
        self.now = 1
        self.blocks = self.block_size = self.proxies_fenced = 0
        self._flags: dict[tuple[int, ...], Flag] = {}
        self._learned: dict[int, Knowledge] = {}
        self._fenced: dict[tuple[int, str], Knowledge] = {}
        self._pending: dict[int, _Pending] = {}

    @property
    def told_anything(self) -> bool:
        """Whether any thread has read anything in a flag, or blocks have met."""
        return bool(self._pending or self._learned)

    @property
    def flags_read(self) -> bool:
        """Whether any thread has read anything in a flag."""
        return bool(self._pending)

    def tick(self) -> int:
        """The next moment."""
        self.now += 1
        return self.now

    def write(self, place: tuple[int, ...], block: int, near: Knowledge, far: Knowledge, adds: bool) -> None:
        """A thread of a block writes a flag; one that ``adds`` to it hands on what others have told by it."""
        flag = self._flags.get(place, Flag()) if adds else Flag()
        flag.near[block] = joined(flag.near.get(block, NOTHING), near)
        flag.far = joined(flag.far, far)
        self._flags[place] = flag

    def read(self, place: tuple[int, ...], thread: int, block: int, acquires: str) -> None:
        """A thread reads a flag; if it ``acquires`` ("cta", "gpu"), it knows what that tells, else after a fence."""
        flag = self._flags.get(place)
        if flag is None:
            return
        pending = self._pending.setdefault(thread, _Pending())
        found = flag.near.get(block, NOTHING), flag.far
        seen = pending.seen.get(place)
        if seen is None or seen[0] is not found[0] or seen[1] is not found[1]:  # not what it has polled before
            pending.seen[place] = found
            pending.near, pending.far = joined(pending.near, found[0]), joined(pending.far, found[1])
        if acquires:
            self._learn(thread, acquires)

    def fence(self, threads: Sequence[int], scope: str) -> None:
        """Threads come to know what they have read in flags."""
        if not self._pending:
            return
        for thread in threads:
            self._learn(thread, scope)
            if thread in self._learned:
                for each in ("cta", "gpu") if scope == "gpu" else ("cta",):
                    self._fenced[thread, each] = self._learned[thread]

    def _learn(self, thread: int, scope: str) -> None:
        pending = self._pending.get(thread)
        if pending is not None:
            told = joined(pending.near, pending.far if scope == "gpu" else NOTHING)
            if told:
                self._learned[thread] = joined(self._learned.get(thread, NOTHING), told)

    def told(self, thread: int, fenced: str = "") -> Knowledge:
        """What a thread knows by flags, or of that what it knew at its last fence of a scope ("cta", "gpu")."""
        return self._fenced.get((thread, fenced), NOTHING) if fenced else self._learned.get(thread, NOTHING)

    def carried(self, thread: int) -> tuple[Knowledge, Knowledge, Knowledge]:
        """What a thread hands on at a barrier: what it has learned by flags, and what it has read in them."""
        pending = self._pending.get(thread, _Pending())
        return self._learned.get(thread, NOTHING), pending.near, pending.far

    def meet(self, threads: Sequence[int], arrived: Sequence[tuple[Knowledge, Knowledge, Knowledge]] = ()) -> None:
        """Threads know from now on what each of them knew, and what others carried who only arrived."""
        if not self._learned and not self._pending:
            return
        all_carried = [*map(self.carried, threads), *arrived]
        learned, near, far = (joined(*parts) for parts in zip(*all_carried, strict=True))
        for thread in threads:
            if learned:
                self._learned[thread] = learned
            if near or far:
                self._pending[thread] = _Pending(near, far)

    def tell(self, threads: Sequence[int], told: Knowledge) -> None:
        """Threads come to know something."""
        for thread in threads if told else ():
            self._learned[thread] = joined(self._learned.get(thread, NOTHING), told)

    def meet_blocks(self, threads: Sequence[int], blocks: Sequence[int]) -> None:
        """Threads know from now on what all of some blocks did, and may hand it on."""
        told: Knowledge = {("block", block): self.now for block in blocks}
        for thread in threads:
            self._learned[thread] = joined(self._learned.get(thread, NOTHING), told)
            for scope in ("cta", "gpu"):
                self._fenced[thread, scope] = self._learned[thread]

    def knows(self, thread: int, block: int, others: Accessors) -> bool:
        """Whether a thread of a block knows, by flags, of all that others did."""
        known, time = self.told(thread), others.time
        if others.block < 0:
            return len(known) >= self.blocks - 1 and all(
                known.get(("block", each), 0) > time for each in range(self.blocks) if each != block
            )
        if known.get(("block", others.block), 0) > time:
            return True
        warps = -(-self.block_size // WARP)
        return all(
            known.get(("warp", others.block * warps + warp), 0) > time
            or all(
                each == thread or known.get(("thread", each), 0) > time
                for each in self._threads(others.block, warp, others.lanes)
            )
            for warp in range(warps)
            if others.warps >> warp & 1
        )

    def _threads(self, block: int, warp: int, lanes: int) -> Iterator[int]:
        for lane in range(min(WARP, self.block_size - warp * WARP)):
            if lanes >> lane & 1:
                yield block * self.block_size + warp * WARP + lane + 1


@dataclass(frozen=True)
class Accessors:
    """Threads that have accessed something.

    Attributes:
        block: their block; negative for several.
        warps, lanes: masks of the warps of that block, and of the lanes of these, that they are among.
        time: of the latest access.
    """

    block: int
    warps: int
    lanes: int
    time: int


class _Arrival(NamedTuple):
    """What a lane knew that arrived at a barrier and went on: until when each warp, and by flags."""

    known: NDArray[np.int32]
    carried: tuple[Knowledge, Knowledge, Knowledge]


class Clocks:
    """What the threads of one batch of blocks know of each other, and what they tell by flags.

    Attributes:
        order: the launch's.
        horizon: until when each lane knows its whole block.
        by_mbarriers: what lanes know by mbarriers besides, if the kernel has any.
    """

    def __init__(self, order: Order, batch: Batch, warps: Warps, thread: Values, block: Values) -> None:
        self.order = order
        self._batch, self._warps = batch, warps
        self._thread, self._block = thread.reshape(-1), block.reshape(-1)
        self._place = warps.place.reshape(-1)
        self.horizon = np.zeros(batch.shape, np.int64)
        # Until when each lane (second axis) of each warp knows what each other (third axis) did.
        self._among = np.zeros((warps.count, WARP, WARP), np.int32)
        # Until when each warp knows each warp of its block (second axis).
        self._between: NDArray[np.int32] | None = None
        self._fenced: dict[str, NDArray[np.int64]] = {}
        self._fenced_before: dict[str, NDArray[np.int64]] = {}
        self._arrived: dict[tuple[int, int], list[_Arrival]] = {}
        self._met = False
        self.by_mbarriers: EventClocks | None = None
        # Rank in its cluster of each block.
        self._ranks = np.zeros(batch.extent.size, np.int64)
        self._ranks[batch.block_index().reshape(-1)] = batch.special("%cluster_ctarank").reshape(-1)

    def by_rank(self, place: NDArray[np.int64]) -> Iterator[tuple[int, NDArray[np.int64] | slice]]:
        """Yield the ranks in their clusters of blocks that have threads at these places, each with their entries."""
        if self._batch.cluster.size == 1:
            yield 0, slice(None)
            return
        ranks = self._ranks[place // (WARP * self._warps.per_block)]
        for rank in np.unique(ranks).tolist():
            yield rank, np.flatnonzero(ranks == rank)

    def meet(self, lanes: Values, named: Values) -> None:
        """Lanes of a warp that name the same mask meet; those that do not name themselves meet nobody."""
        here, masks = self._warps.rows(lanes), self._warps.rows(named)
        now = self.order.tick()
        self._met = True
        for group in groups(np.asarray(here & ((masks & BIT) != 0)), masks):
            whole = np.asarray(group.all(axis=1))
            self._among[whole] = now
            if self._between is not None:
                for warp in np.flatnonzero(whole).tolist():
                    self._between[warp, warp % self._warps.per_block] = now
            self._meet_in_part(group, np.asarray(group.any(axis=1) & ~whole), now)
            if self.order.told_anything:
                for warp in np.flatnonzero(group.any(axis=1)).tolist():
                    self.order.meet(self._threads_of(warp, group[warp]))

    def _meet_in_part(self, group: PerWarp, warps: NDArray[np.bool_], now: int) -> None:
        together, known = group[warps], self._among[warps]
        shared = np.where(together[:, :, np.newaxis], known, 0).max(axis=1, initial=0)
        shared = np.where(together, now, shared)
        self._among[warps] = np.where(together[:, :, np.newaxis], shared[:, np.newaxis, :], known)

    def _threads_of(self, warp: int, lanes: NDArray[np.bool_]) -> list[int]:
        flat = np.flatnonzero(self._place // WARP == warp)
        return [int(self._thread[each]) for each in flat[lanes[self._place[flat] % WARP]]]

    def barrier(self, lanes: Values, number: Values, count: Values) -> None:
        """Lanes leave a barrier of their block, of a number, at which ``count`` threads have met (0 for all)."""
        now = self.order.tick()
        lanes, number, count = (np.broadcast_to(each, self._batch.shape) for each in (lanes, number, count))
        together = lanes & (number == number.max(axis=THREAD_AXES, keepdims=True))
        whole = lanes & ((count == 0) | together.all(axis=THREAD_AXES, keepdims=True))
        self.horizon[whole] = now
        for scope, fenced in self._fenced.items():
            before = self._fenced_before.setdefault(scope, np.zeros_like(fenced))
            before[whole.reshape(-1)] = fenced[whole.reshape(-1)]
        if self.order.told_anything or self._arrived or not whole.all():
            for block in np.unique(self._block[lanes.reshape(-1)]).tolist():
                self._barrier_of(block, lanes, number, whole, now)

    def _barrier_of(self, block: int, lanes: Values, number: Values, whole: Values, now: int) -> None:
        here = lanes.reshape(-1) & (self._block == block)
        for each in np.unique(number.reshape(-1)[here]).tolist():
            flat = np.flatnonzero(here & (number.reshape(-1) == each))
            threads = self._thread[flat].tolist()
            warps = np.unique(self._place[flat] // WARP)
            before = self._arrived.pop((block, each), [])
            if before or not whole.reshape(-1)[flat].all():
                between = self._matrix()
                rows = np.stack([between[warp] for warp in warps] + [arrival.known for arrival in before])
                together = rows.max(axis=0)
                together[warps % self._warps.per_block] = now
                between[warps] = together
            self.order.meet(threads, [arrival.carried for arrival in before])

    def cluster(self, lanes: Values, relaxed: Values) -> None:
        """Lanes leave the barrier of their clusters, at which all of these have met.

        Of the ``relaxed`` they learn what a fence has put before their coming.
        """
        self.order.tick()
        relaxed = np.broadcast_to(relaxed, self._batch.shape).reshape(-1)
        numbers = np.broadcast_to(self._batch.number_in_grid(), self._batch.shape)
        clusters, here = self._batch.by_cluster(np.min, numbers).reshape(-1), lanes.reshape(-1)
        for cluster in np.unique(clusters[here]).tolist():
            inside = clusters == cluster
            threads = self._thread[here & inside].tolist()
            if (relaxed & inside).any():
                told = [
                    self._published(lane, "gpu", "" if relaxed[lane] else "gpu")
                    for lane in np.flatnonzero(here & inside).tolist()
                ]
                self.order.tell(threads, joined(*told))
            else:
                self.order.meet_blocks(threads, np.unique(self._block[inside]).tolist())

    def threads(self, lanes: NDArray[np.int64]) -> list[int]:
        """Return the numbers in the grid of lanes' threads."""
        return [int(each) for each in self._thread[lanes]]

    def arrive(self, lanes: Values, number: Values) -> None:
        """Lanes let those who wait at a barrier of their block know what they know, and go on."""
        between, now = self._matrix(), self.order.tick()
        lanes, number = (np.broadcast_to(each, self._batch.shape).reshape(-1) for each in (lanes, number))
        for each in np.flatnonzero(lanes).tolist():
            warp = int(self._place[each] // WARP)
            known = between[warp].copy()
            known[warp % self._warps.per_block] = now
            key = (int(self._block[each]), int(number[each]))
            self._arrived.setdefault(key, []).append(_Arrival(known, self.order.carried(int(self._thread[each]))))

    def _matrix(self) -> NDArray[np.int32]:
        if self._between is None:
            self._between = np.zeros((self._warps.count, self._warps.per_block), np.int32)
        return self._between

    def fence(self, scope: str, lanes: Values) -> None:
        """Lanes order what they have done before what they will do, as seen from their block or from the GPU."""
        now, flat = self.order.tick(), np.broadcast_to(lanes, self._batch.shape).reshape(-1)
        for each in ("cta", "gpu") if scope == "gpu" else ("cta",):
            self._fenced.setdefault(each, np.zeros(self._batch.lanes, np.int64))[flat] = now
        self.order.fence(self._thread[flat].tolist(), scope)

    def write(self, place: tuple[int, ...], lane: int, releases: str, adds: bool) -> None:
        """A lane makes a strong write, which ``releases`` (to "cta" or "gpu", or not at all) what it has done."""
        near, far = (self._published(lane, scope, releases) for scope in ("cta", "gpu"))
        self.order.write(place, int(self._block[lane]), near, far, adds)

    def _published(self, lane: int, scope: str, releases: str) -> Knowledge:
        """What a strong write tells those who are as far away as that."""
        until = int(self._fenced[scope][lane]) if scope in self._fenced else 0
        if releases and (scope == "cta" or releases == "gpu"):
            until = self.order.now
        horizon = int(self.horizon.reshape(-1)[lane])
        block, thread, place = int(self._block[lane]), int(self._thread[lane]), int(self._place[lane])
        told: dict[tuple[str, int], int] = {}
        if until and until >= horizon:
            told["block", block] = horizon
        else:
            # Those who made a fence of their own before the barrier that this thread has come from.
            before = self._fenced_before.get(scope, np.zeros(self._batch.lanes, np.int64))
            for each in np.flatnonzero((before > 0) & (self._block == block)).tolist():
                told["thread", int(self._thread[each])] = int(before[each])
        if until:
            warp, in_warp = divmod(place, WARP)
            for each in np.flatnonzero(self._among[warp, in_warp]).tolist():
                told["thread", thread - in_warp + each] = min(until, int(self._among[warp, in_warp, each]))
            if self._between is not None:
                for each in np.flatnonzero(self._between[warp]).tolist():
                    told["warp", block * self._warps.per_block + each] = min(until, int(self._between[warp, each]))
            if self.by_mbarriers is not None:
                for number, time in self.by_mbarriers.of_threads(lane):
                    told["thread", number] = max(told.get(("thread", number), 0), min(until, time))
            told["thread", thread] = until
        return joined(told, self.order.told(thread, "" if until == self.order.now else scope)) if until else told

    def of_block(self, lanes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Until when lanes know each thread of their blocks, by barriers: [lanes, threads]."""
        now, place = self.order.tick(), self._place[lanes]
        known = np.repeat(self.horizon.reshape(-1)[lanes, np.newaxis], self._warps.per_block * WARP, axis=1)
        if self._between is not None:
            known = np.maximum(known, np.repeat(self._between[place // WARP], WARP, axis=1))
        in_block = place % known.shape[1]
        own_warp = (in_block // WARP * WARP)[:, np.newaxis] + np.arange(WARP)
        rows = np.arange(len(lanes))
        known[rows[:, np.newaxis], own_warp] = np.maximum(
            known[rows[:, np.newaxis], own_warp], self._among[place // WARP, place % WARP]
        )
        known[rows, in_block] = now
        return known[:, : self._batch.block.size]

    def fenced_of_block(self, lanes: NDArray[np.int64], scope: str) -> NDArray[np.int64]:
        """The same as far as fences of a scope have put it before what lanes do now.

        Fences of other threads count where a barrier has been since.
        """
        none = np.zeros(self._batch.lanes, np.int64)
        until, before = self._fenced.get(scope, none), self._fenced_before.get(scope, none)
        of_block = np.zeros((self._batch.extent.size, self._warps.per_block * WARP), np.int64)
        block, in_block = divmod(self._place, of_block.shape[1])
        of_block[block, in_block] = before
        known = np.minimum(self.of_block(lanes), until[lanes, np.newaxis])
        return np.maximum(known, of_block[block[lanes], : known.shape[1]])

    def unknown_lanes(
        self, place: NDArray[np.int64], others: NDArray[np.uint32], time: NDArray[np.int32]
    ) -> NDArray[np.uint32]:
        """Of ``others``, a mask of lanes of the same warp for each, those of whom the thread at each place (as
        :class:`~mmcore_emulator.machine.warps.Warps` numbers them) does not know what they did at a time.
        """
        if not self._met:
            return others
        return _without(others, self._among.reshape(-1, WARP)[place] > time[:, np.newaxis])

    def unknown_warps(
        self, place: NDArray[np.int64], others: NDArray[np.uint32], time: NDArray[np.int32]
    ) -> NDArray[np.uint32]:
        """Likewise, of masks of warps of the same block."""
        if self._between is None:
            return others
        known = np.zeros((len(place), WARP), np.bool_)
        known[:, : self._warps.per_block] = self._between[place // WARP] > time[:, np.newaxis]
        return _without(others, known)


def _without(masks: NDArray[np.uint32], known: NDArray[np.bool_]) -> NDArray[np.uint32]:
    """Masks of 32 bits without those that are known, a row of ``known`` for each."""
    return np.asarray(masks & ~np.packbits(known, axis=1, bitorder="little").view("<u4")[:, 0])
