"""Clocks of asynchronous events and mbarriers, which barriers of warps, blocks and clusters join.

Events of one kind are numbered: a lane that has number n in its clock has waited for event n and all before it. The
clocks also have the time of each thread of the cluster, which threads release at mbarriers. A kind belongs to a rank in
a cluster, so that one column has it for all clusters of the batch; so do threads.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from mmcore_emulator.machine.limits import WARP
from mmcore_emulator.numerics.types import Flags, Integers
from mmcore_emulator.sanitizer.happens_before.numbering import LaneNumbers

Kind: TypeAlias = tuple[str, int]
"""("mbarrier", place in its block), ("wgmma", number of a warp), ("bulk", thread) or ("remote", 0)."""
Rows: TypeAlias = NDArray[np.int32]
"""Clocks of lanes: [lanes, columns]."""
Released: TypeAlias = dict[int, NDArray[np.int32]]
"""The joined clocks that lanes have released at each barrier or mbarrier."""
WARPS_OF_GROUP = 4
"""Warps of a warpgroup."""


class EventClocks:
    """The event clocks of a batch's lanes."""

    def __init__(self, numbers: LaneNumbers) -> None:
        self.numbers = numbers
        self._block_size, self._ranks = numbers.batch.block.size, int(numbers.rank.max(initial=0)) + 1
        self._columns: dict[tuple[int, Kind], int] = {}
        self._first_thread: int | None = None
        # Number of the latest event of each kind, and time of each thread (columns), for each lane (row).
        self.clock: Rows = np.zeros((numbers.batch.lanes, 0), np.int32)

    def columns(self, blocks: Integers, kind: Kind) -> Integers:
        """Return the columns of a kind of events, one for each of some blocks."""
        ranks, index = np.unique(self.numbers.rank[blocks], return_inverse=True)
        for rank in ranks.tolist():
            if (rank, kind) not in self._columns:
                self._columns[rank, kind] = self._add_columns(1)
        return np.array([self._columns[rank, kind] for rank in ranks.tolist()], np.int64)[index]

    def _add_columns(self, count: int) -> int:
        self.clock = np.pad(self.clock, ((0, 0), (0, count)))
        return len(self.clock[0]) - count

    def of_kind(self, lanes: Integers, blocks: Integers, kind: Kind) -> NDArray[np.int32]:
        """Return the numbers of a kind of events of some blocks in the clocks of lanes, one block for each lane."""
        columns = self.columns(blocks, kind)  # They may make the clocks wider.
        return self.clock[lanes, columns]

    def acquire(self, lanes: Integers, blocks: Integers, kind: Kind, numbers: Integers | int) -> None:
        """Let lanes acquire a kind of events of some blocks, one block for each lane."""
        columns = self.columns(blocks, kind)
        self.clock[lanes, columns] = np.maximum(self.clock[lanes, columns], numbers)

    def ordered(self, lanes: Integers, epochs: NDArray[np.void]) -> Flags:
        """Return for each lane whether its clock includes the accesses of an epoch."""
        ordered = np.zeros(len(lanes), np.bool_)
        if self._first_thread is None:
            return ordered
        numbers, own_block = self.numbers, self.numbers.block_in_batch[lanes]
        order = np.argsort(numbers.grid_number)
        found = np.searchsorted(numbers.grid_number, epochs["block"], sorter=order)
        block = order[found.clip(max=len(order) - 1)]
        near = (numbers.grid_number[block] == epochs["block"]) & (numbers.cluster[block] == numbers.cluster[own_block])
        warps = epochs["warps"]
        several = (warps & (warps - np.uint32(1))) != 0
        keys = np.stack([numbers.rank[block], warps, np.where(several, 0xFFFFFFFF, epochs["lanes"])])[:, near]
        distinct, which = np.unique(keys, axis=1, return_inverse=True)
        entries, threads = np.flatnonzero(near), np.arange(self._block_size)
        own_column = self._first_thread + numbers.rank[own_block] * self._block_size + numbers.thread_in_block[lanes]
        for number, (rank, of_warps, of_lanes) in enumerate(distinct.T.tolist()):
            rows = entries[which.reshape(-1) == number]
            accessing = ((of_warps >> (threads // WARP)) & (of_lanes >> (threads % WARP)) & 1).astype(np.bool_)
            columns = self._first_thread + rank * self._block_size + threads[accessing]
            before = self.clock[lanes[rows, np.newaxis], columns] > epochs["time"][rows, np.newaxis]
            ordered[rows] = (before | (columns == own_column[rows, np.newaxis])).all(axis=1)
        return ordered

    def of_threads(self, lane: int) -> Iterator[tuple[int, int]]:
        """Yield the threads in a lane's clock, by their numbers in the grid, with their times."""
        if self._first_thread is None:
            return
        numbers = self.numbers
        for block in np.flatnonzero(numbers.cluster == numbers.cluster[numbers.block_in_batch[lane]]).tolist():
            first = self._first_thread + int(numbers.rank[block]) * self._block_size
            times = self.clock[lane, first : first + self._block_size]
            for thread in np.flatnonzero(times).tolist():
                yield int(numbers.grid_number[block]) * self._block_size + thread + 1, int(times[thread])

    def times_of_threads(self, clock: NDArray[np.int32], lanes: Integers) -> NDArray[np.int32]:
        """Return the times that a clock has for the threads of some lanes."""
        numbers, first = self.numbers, self._first_thread or 0
        columns = (
            first + numbers.rank[numbers.block_in_batch[lanes]] * self._block_size + numbers.thread_in_block[lanes]
        )
        return self._padded(clock)[columns]

    def join(self, lanes: Integers, groups: Integers) -> None:
        """Join the clocks of lanes of the same group."""
        if self.clock.shape[1]:
            _, index, joined = _joined(self.clock[lanes], groups)
            self.clock[lanes] = joined[index]

    def with_threads(self, lanes: Integers, times: Integers) -> Rows:
        """Let lanes acquire the times of all threads of their blocks, [lanes, threads], and return their clocks."""
        if self._first_thread is None:
            self._first_thread = self._add_columns(self._ranks * self._block_size)
        first = self._first_thread + self.numbers.rank[self.numbers.block_in_batch[lanes]] * self._block_size
        of_block = lanes[:, np.newaxis], first[:, np.newaxis] + np.arange(self._block_size)
        self.clock[of_block] = np.maximum(self.clock[of_block], times)
        return self.clock[lanes]

    def of_warpgroups(self, lanes: Integers, clocks: Rows) -> Rows:
        """Return clocks of lanes in which their own warp's waits for ``wgmma`` stand for those of their warpgroup.

        One thread of a warpgroup arrives at an mbarrier for all, in CUTLASS as elsewhere: a warpgroup's reads end
        together.
        """
        columns = [(rank, kind, column) for (rank, kind), column in self._columns.items() if kind[0] == "wgmma"]
        if not columns:
            return clocks
        clocks, ranks = clocks.copy(), self.numbers.rank[self.numbers.block_in_batch[lanes]]
        warps = self.numbers.thread_in_block[lanes] // WARP
        for rank, kind, column in columns:
            for other in range(WARPS_OF_GROUP):
                own = kind[1] // WARPS_OF_GROUP * WARPS_OF_GROUP + other
                from_column = self._columns.get((rank, ("wgmma", own)))
                rows = (ranks == rank) & (warps == own)
                if from_column is not None:
                    clocks[rows, column] = np.maximum(clocks[rows, column], clocks[rows, from_column])
        return clocks

    def acquire_released(self, released: Released, lanes: Integers, keys: Integers) -> None:
        """Let lanes acquire the clocks released at the barriers or mbarriers ``keys``."""
        for key in np.unique(keys).tolist():
            if key in released:
                acquiring = lanes[keys == key]
                self.clock[acquiring] = np.maximum(self.clock[acquiring], self._padded(released[key]))

    def release(self, released: Released, clocks: Rows, keys: Integers) -> None:
        """Release clocks at the barriers or mbarriers ``keys``."""
        if clocks.shape[1]:
            distinct, _, joined = _joined(clocks, keys)
            for key, clock in zip(distinct.tolist(), map(self._padded, joined), strict=True):
                released[key] = np.maximum(clock, self._padded(released[key])) if key in released else clock

    def _padded(self, clock: NDArray[np.int32]) -> NDArray[np.int32]:
        return np.pad(clock, (0, self.clock.shape[1] - len(clock)))


def _joined(clocks: Rows, groups: Integers) -> tuple[Integers, Integers, Rows]:
    """Return the distinct groups, the number of each row's group among them, and the joined clock of each group."""
    distinct, index = np.unique(groups, return_inverse=True)
    order = np.argsort(index, kind="stable")
    starts = np.flatnonzero(np.diff(index[order], prepend=-1))
    if not len(starts):
        return distinct, index, np.zeros((0, clocks.shape[1]), np.int32)
    return distinct, index, np.maximum.reduceat(clocks[order], starts, axis=0)
