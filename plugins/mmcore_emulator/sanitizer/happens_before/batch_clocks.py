"""Clocks of the threads of a batch of blocks: what happens before their next accesses, by barriers, fences and flags.

Within a warp each thread has a time for every other thread; within a block, for every warp.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mmcore_emulator.machine.lanes import THREAD_AXES, Batch
from mmcore_emulator.machine.limits import WARP
from mmcore_emulator.machine.warps import BIT, groups
from mmcore_emulator.numerics.types import Flags, Integers, Values
from mmcore_emulator.sanitizer.happens_before.event_clocks import EventClocks, Released
from mmcore_emulator.sanitizer.happens_before.numbering import LaneNumbers
from mmcore_emulator.sanitizer.happens_before.vector_clocks import SCOPES, FlagClocks, HappensBefore, VectorClock, join

Masks = NDArray[np.uint32]
Times = NDArray[np.int32]
_BARRIERS = 16


class _Arrival(NamedTuple):
    """The release of a lane that arrived at a barrier without waiting: times of the warps, and clocks from flags."""

    warps: Times
    clocks: FlagClocks


class BatchClocks:
    """The clocks of a batch's lanes."""

    def __init__(self, order: HappensBefore, batch: Batch) -> None:
        self.order, self.numbers = order, LaneNumbers(batch)
        self.events = EventClocks(self.numbers)  # clocks of asynchronous events and mbarriers
        order.blocks, order.block_size = batch.grid.size, batch.block.size
        self._batch, self._warps = batch, self.numbers.warps
        # Time of the latest barrier of each lane's whole block, as a flat array.
        self.horizon = np.zeros(batch.lanes, np.int64)
        # Time that each lane (second axis) of each warp has for each lane (third axis) of it.
        self._lane_times = np.zeros((self._warps.count, WARP, WARP), np.int32)
        # Time that each warp has for each warp of its block (second axis).
        self._warp_times: Times | None = None
        # Time of each lane's latest fence, by scope: of all, and of those before the latest barrier of the block.
        self._fenced, self._fenced_before_barrier = (
            {scope: np.zeros(batch.lanes, np.int64) for scope in SCOPES} for _ in range(2)
        )
        self._arrivals: dict[int, list[_Arrival]] = {}
        self._event_arrivals: Released = {}
        self._warps_joined = False

    def warp_barrier(self, lanes: Values, named: Values) -> None:
        """Join the clocks of the lanes of a warp that name the same mask, and are in it."""
        rows, masks = self._warps.rows(lanes), self._warps.rows(named)
        now = self.order.tick()
        self._warps_joined = True
        for group in groups(np.asarray(rows & ((masks & BIT) != 0)), masks):
            whole = np.asarray(group.all(axis=1))
            self._lane_times[whole] = now
            if self._warp_times is not None:
                whole_warps = np.flatnonzero(whole)
                self._warp_times[whole_warps, whole_warps % self._warps.per_block] = now
            part = np.asarray(group.any(axis=1) & ~whole)
            members, times = group[part], self._lane_times[part]
            joined = np.where(members[:, :, np.newaxis], times, 0).max(axis=1, initial=0)
            joined = np.where(members, now, joined)
            self._lane_times[part] = np.where(members[:, :, np.newaxis], joined[:, np.newaxis, :], times)
            if self.order.any_acquired:
                for warp in np.flatnonzero(group.any(axis=1)).tolist():
                    self.order.join(self.threads(self._warps.lane_numbers[warp, group[warp]]))
        members = np.flatnonzero(lanes)
        self.events.join(members, (self.numbers.slot // WARP << WARP | self.numbers.flat(named))[members])

    def barrier(self, lanes: Values, number: Values, count: Values) -> None:
        """Join the clocks of lanes that leave a barrier of their block for ``count`` threads (0 for all)."""
        now = self.order.tick()
        lanes, number, count = (np.broadcast_to(values, self._batch.shape) for values in (lanes, number, count))
        together = lanes & (number == number.max(axis=THREAD_AXES, keepdims=True))
        whole = lanes & ((count == 0) | together.all(axis=THREAD_AXES, keepdims=True))
        lanes, barriers, whole = lanes.reshape(-1), self._barriers(number), whole.reshape(-1)
        self.horizon[whole] = now
        for scope, fenced in self._fenced.items():
            self._fenced_before_barrier[scope][whole] = fenced[whole]
        if self.order.any_acquired or self._arrivals or not whole.all():
            for barrier in np.unique(barriers[lanes]).tolist():
                members = np.flatnonzero(lanes & (barriers == barrier))
                self._join_block(members, self._arrivals.pop(barrier, []), bool(whole[members].all()))
        members = np.flatnonzero(lanes)
        self.events.join(members, barriers[members])
        if self._event_arrivals:
            self.events.acquire_released(self._event_arrivals, members, barriers[members])
            for barrier in np.unique(barriers[members]).tolist():
                self._event_arrivals.pop(barrier, None)

    def _barriers(self, number: Values) -> Integers:
        """Return the number in the batch of the barrier that each lane names by its number in the block."""
        return self.numbers.block_in_batch * _BARRIERS + self.numbers.flat(number)

    def _join_block(self, lanes: Integers, arrivals: list[_Arrival], whole: bool) -> None:
        warps = np.unique(self.numbers.slot[lanes] // WARP)
        if arrivals or not whole:
            times = self._times_of_warps()
            joined = np.stack([*times[warps], *(arrival.warps for arrival in arrivals)]).max(axis=0)
            joined[warps % self._warps.per_block] = self.order.now
            times[warps] = joined
        self.order.join(self.threads(lanes), [arrival.clocks for arrival in arrivals])

    def cluster_barrier(self, lanes: Values, relaxed: Values) -> None:
        """Join the clocks of lanes that leave the barrier of their clusters.

        A ``relaxed`` lane releases only its accesses before its latest fence.
        """
        self.order.tick()
        lanes, relaxed = self.numbers.flat(lanes), self.numbers.flat(relaxed)
        clusters = self.numbers.cluster[self.numbers.block_in_batch]
        for cluster in np.unique(clusters[lanes]).tolist():
            inside = clusters == cluster
            members = np.flatnonzero(lanes & inside)
            if (relaxed & inside).any():
                released = [self._released(lane, "gpu", "" if relaxed[lane] else "gpu") for lane in members.tolist()]
                self.order.acquire(self.threads(members), join(*released))
            else:
                self.order.acquire_blocks(self.threads(members), np.unique(self.numbers.block[inside]).tolist())
        members = np.flatnonzero(lanes)
        self.events.join(members, clusters[members])

    def threads(self, lanes: Integers) -> list[int]:
        """Return the numbers in the grid of lanes' threads."""
        threads: list[int] = self.numbers.thread[lanes].tolist()
        return threads

    def arrive(self, lanes: Values, number: Values) -> None:
        """Release the clocks of lanes at a barrier of their block, at which they do not wait."""
        times, now = self._times_of_warps(), self.order.tick()
        arriving = np.flatnonzero(self.numbers.flat(lanes))
        barriers, warps = self._barriers(number)[arriving], self.numbers.slot[arriving] // WARP
        for barrier, warp, thread in zip(barriers.tolist(), warps.tolist(), self.threads(arriving), strict=True):
            released = times[warp].copy()
            released[warp % self._warps.per_block] = now
            self._arrivals.setdefault(barrier, []).append(_Arrival(released, self.order.released(thread)))
        self.events.release(self._event_arrivals, self.events.clock[arriving], barriers)

    def _times_of_warps(self) -> Times:
        if self._warp_times is None:
            self._warp_times = np.zeros((self._warps.count, self._warps.per_block), np.int32)
        return self._warp_times

    def fence(self, scope: str, lanes: Values) -> None:
        """Order lanes' earlier accesses before their later ones, for threads of their block or of the GPU."""
        now, fencing = self.order.tick(), np.flatnonzero(self.numbers.flat(lanes))
        for included in SCOPES[scope]:
            self._fenced[included][fencing] = now
        self.order.fence(self.threads(fencing), scope)

    def write(self, place: tuple[int, ...], lane: int, releases: str, adds: bool) -> None:
        """Write a flag; ``releases`` is the scope of the write's release: "cta", "gpu", or "" for no release."""
        near, far = (self._released(lane, scope, releases) for scope in SCOPES)
        self.order.write(place, int(self.numbers.block[lane]), near, far, adds)

    def _released(self, lane: int, scope: str, releases: str) -> VectorClock:
        """Return the clock that a lane's strong write releases to threads of a scope."""
        until = self.order.now if releases in ("gpu", scope) else int(self._fenced[scope][lane])
        horizon, numbers = int(self.horizon[lane]), self.numbers
        block, thread = int(numbers.block[lane]), int(numbers.thread[lane])
        clock: dict[tuple[str, int], int] = {}
        if until and until >= horizon:
            clock["block", block] = horizon
        else:  # Other threads may have made a fence before the barrier that this thread has left.
            fenced = self._fenced_before_barrier[scope]
            for other in np.flatnonzero((fenced > 0) & (numbers.block == block)).tolist():
                clock["thread", int(numbers.thread[other])] = int(fenced[other])
        if not until:
            return clock
        warp, in_warp = divmod(int(numbers.slot[lane]), WARP)
        for other in np.flatnonzero(self._lane_times[warp, in_warp]).tolist():
            clock["thread", thread - in_warp + other] = min(until, int(self._lane_times[warp, in_warp, other]))
        if self._warp_times is not None:
            for other in np.flatnonzero(self._warp_times[warp]).tolist():
                clock["warp", block * self._warps.per_block + other] = min(until, int(self._warp_times[warp, other]))
        for number, time in self.events.of_threads(lane):
            clock["thread", number] = max(clock.get(("thread", number), 0), min(until, time))
        clock["thread", thread] = until
        return join(clock, self.order.acquired(thread, "" if until == self.order.now else scope))

    def of_block(self, lanes: Integers) -> Integers:
        """Return the time that lanes have for each thread of their blocks, by barriers: [lanes, threads]."""
        now, slot = self.order.tick(), self.numbers.slot[lanes]
        times = np.repeat(self.horizon[lanes, np.newaxis], self._warps.per_block * WARP, axis=1)
        if self._warp_times is not None:
            times = np.maximum(times, np.repeat(self._warp_times[slot // WARP], WARP, axis=1))
        in_block = slot % times.shape[1]
        rows, own_warp = np.arange(len(lanes)), (in_block // WARP * WARP)[:, np.newaxis] + np.arange(WARP)
        of_warp = rows[:, np.newaxis], own_warp
        times[of_warp] = np.maximum(times[of_warp], self._lane_times[slot // WARP, slot % WARP])
        times[rows, in_block] = now
        return times[:, : self._batch.block.size]

    def fenced_of_block(self, lanes: Integers, scope: str) -> Integers:
        """Return the same for what fences of a scope order before lanes' next accesses.

        Fences of other threads count if a barrier of the block has followed.
        """
        times = np.minimum(self.of_block(lanes), self._fenced[scope][lanes, np.newaxis])
        fenced = np.zeros((self._batch.extent.size, self._batch.block.size), np.int64)
        fenced[self.numbers.block_in_batch, self.numbers.thread_in_block] = self._fenced_before_barrier[scope]
        return np.maximum(times, fenced[self.numbers.block_in_batch[lanes]])

    def unordered_lanes(self, slot: Integers, others: Masks, time: Times) -> Masks:
        """Return the lanes among ``others`` (of the same warp) whose accesses until a time are not before a lane's."""
        if not self._warps_joined:
            return others
        return _without(others, self._lane_times.reshape(-1, WARP)[slot] > time[:, np.newaxis])

    def unordered_warps(self, slot: Integers, others: Masks, time: Times) -> Masks:
        """Return the warps among ``others`` (of the same block) whose accesses until a time are not before a lane's."""
        if self._warp_times is None:
            return others
        before = np.zeros((len(slot), WARP), np.bool_)
        before[:, : self._warps.per_block] = self._warp_times[slot // WARP] > time[:, np.newaxis]
        return _without(others, before)


def _without(masks: Masks, before: Flags) -> Masks:
    """Return masks without the bits that are true in the rows of ``before``."""
    return np.asarray(masks & ~np.packbits(before, axis=1, bitorder="little").view("<u4")[:, 0])
