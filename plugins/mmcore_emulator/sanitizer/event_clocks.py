"""What each thread of a batch knows by mbarriers: which asynchronous events it has waited for, and what threads of its
cluster have done, which others have told it since at barriers of warps, blocks and clusters.

Events of one kind are counted: a thread that knows of number n knows of all before it. A kind belongs to a block's rank
in its cluster, so that a column holds it for all clusters of the batch; so do threads.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from mmcore_emulator.machine.asynchronous.events import BLOCK_BYTES
from mmcore_emulator.machine.lanes import WARP, Batch
from mmcore_emulator.machine.warps import Warps

Kind: TypeAlias = tuple[str, int]
"""("mbarrier", place in its block), ("wgmma", number of a warpgroup), ("bulk", thread) or ("remote", 0)."""
Numbers: TypeAlias = NDArray[np.int64]
_BARRIERS = 16


class EventClocks:
    """What the lanes of a batch know.

    Attributes:
        block: of each lane, its number in the batch.
        thread: of each lane, its number in its block.
        rank: of each block, its rank in its cluster.
        known: number of the latest event of each kind, and the latest moment of each thread (columns), that each lane
            (row) knows of.
    """

    def __init__(self, batch: Batch, warps: Warps) -> None:
        self.block = np.broadcast_to(batch.block_index(), batch.shape).reshape(-1)
        in_grid = np.broadcast_to(batch.number_in_grid(), batch.shape)
        self.rank, self._cluster, self._in_grid = (np.zeros(batch.extent.size, np.int64) for _ in range(3))
        self.rank[self.block] = np.broadcast_to(batch.special("%cluster_ctarank"), batch.shape).reshape(-1)
        self._cluster[self.block] = batch.by_cluster(np.min, in_grid).reshape(-1)
        self._in_grid[self.block] = in_grid.reshape(-1)
        place = warps.place.reshape(-1)
        self.thread = place - self.block * (warps.per_block * WARP)
        self._warp = place // WARP
        self._lane = warps.lane_numbers.reshape(-1)
        self._threads = batch.block.size
        self._columns: dict[tuple[int, Kind], int] = {}
        self._threads_at: int | None = None
        self.known = np.zeros((batch.lanes, 0), np.int32)
        self._told: dict[int, NDArray[np.int32]] = {}
        self._arrived: dict[int, NDArray[np.int32]] = {}

    def column(self, rank: int, kind: Kind) -> int:
        """The column of what the blocks of a rank do."""
        if (rank, kind) not in self._columns:
            self._columns[rank, kind] = self._new_columns(1)
        return self._columns[rank, kind]

    def columns(self, blocks: Numbers, kind: Kind) -> Numbers:
        """The columns of what some blocks do, one for each of them."""
        by_rank = np.zeros(int(self.rank.max(initial=0)) + 1, np.int64)
        for rank in np.unique(self.rank[blocks]).tolist():
            by_rank[rank] = self.column(rank, kind)
        return by_rank[self.rank[blocks]]

    def _new_columns(self, count: int) -> int:
        self.known = np.pad(self.known, ((0, 0), (0, count)))
        return self.known.shape[1] - count

    def learn(self, lanes: Numbers, columns: Numbers, numbers: Numbers) -> None:
        """Lanes come to know of events."""
        self.known[lanes, columns] = np.maximum(self.known[lanes, columns], numbers)

    def knows(
        self,
        place: Numbers,
        block: NDArray[np.int32],
        warps: NDArray[np.uint32],
        lanes: NDArray[np.uint32],
        time: NDArray[np.int32],
    ) -> NDArray[np.bool_]:
        """Whether lanes know what threads have done at a time.

        Args:
            place: of each lane among the batch's warps.
            block: number in the grid of those threads' block; negative for several.
            warps, lanes: masks of the warps and lanes that they are among.
            time: what they have done then.
        """
        found = np.zeros(len(place), np.bool_)
        if self._threads_at is None:
            return found
        lane = self._lane[place]
        order = np.argsort(self._in_grid)
        in_batch = order[np.searchsorted(self._in_grid, block, sorter=order).clip(max=len(order) - 1)]
        near = (self._in_grid[in_batch] == block) & (self._cluster[in_batch] == self._cluster[self.block[lane]])
        several = (warps & (warps - np.uint32(1))) != 0
        keys = np.stack([self.rank[in_batch], warps, np.where(several, 0xFFFFFFFF, lanes)])[:, near]
        distinct, which = np.unique(keys, axis=1, return_inverse=True)
        here = np.flatnonzero(near)
        own = self._threads_at + self.rank[self.block[lane]] * self._threads + self.thread[lane]
        for number, (rank, of_warps, of_lanes) in enumerate(distinct.T.tolist()):
            rows = here[which.reshape(-1) == number]
            numbers = np.arange(self._threads)
            those = ((of_warps >> (numbers // WARP)) & (of_lanes >> (numbers % WARP)) & 1).astype(np.bool_)
            columns = self._threads_at + rank * self._threads + numbers[those]
            known = self.known[lane[rows, np.newaxis], columns] > time[rows, np.newaxis]
            found[rows] = (known | (columns == own[rows, np.newaxis])).all(axis=1)
        return found

    def of_threads(self, lane: int) -> Iterator[tuple[int, int]]:
        """Yield the threads of its cluster that a lane knows of, by their numbers in the grid, and until when."""
        if self._threads_at is None:
            return
        threads = self.known[lane, self._threads_at : self._threads_at + (int(self.rank.max()) + 1) * self._threads]
        for block in np.flatnonzero(self._cluster == self._cluster[self.block[lane]]).tolist():
            times = threads[self.rank[block] * self._threads :][: self._threads]
            for each in np.flatnonzero(times).tolist():
                yield int(self._in_grid[block]) * self._threads + each + 1, int(times[each])

    def meet(self, lanes: Numbers, groups: Numbers) -> None:
        """Lanes of the same group come to know what each of them knows."""
        if self.known.shape[1]:
            _, index, together = self._together(self.known[lanes], groups)
            self.known[lanes] = together[index]

    def meet_warps(self, lanes: Numbers, named: Numbers) -> None:
        """Lanes leave barriers of their warps, at which they have named masks."""
        self.meet(lanes, (self._warp[lanes] << WARP) | named)

    def barrier(self, lanes: Numbers, number: Numbers) -> None:
        """Lanes leave barriers of their blocks, by number."""
        groups = self.block[lanes] * _BARRIERS + number
        self.meet(lanes, groups)
        for group in [each for each in np.unique(groups).tolist() if each in self._arrived] if self._arrived else ():
            here = lanes[groups == group]
            self.known[here] = np.maximum(self.known[here], self._padded(self._arrived.pop(group)))

    def arrive_at_barrier(self, lanes: Numbers, number: Numbers) -> None:
        """Lanes tell those who wait at barriers of their blocks what they know."""
        self._tell(self._arrived, self.known[lanes], self.block[lanes] * _BARRIERS + number)

    def word(self, lanes: Numbers, of_block: NDArray[np.int64]) -> NDArray[np.int32]:
        """What lanes know, [lanes, columns], also of each thread of their block, until when."""
        if self._threads_at is None:
            self._threads_at = self._new_columns((int(self.rank.max(initial=0)) + 1) * self._threads)
        first = self._threads_at + self.rank[self.block[lanes]] * self._threads
        columns = first[:, np.newaxis] + np.arange(self._threads)
        self.learn(lanes[:, np.newaxis], columns, of_block)
        return self.known[lanes]

    def deliver(self, words: NDArray[np.int32], places: Numbers) -> None:
        """What lanes knew comes to those who wait for mbarriers."""
        self._tell(self._told, words, places)

    def forget(self, place: int) -> None:
        """Nobody has arrived yet at an mbarrier."""
        self._told.pop(place, None)

    def told(self, lanes: Numbers, places: Numbers) -> None:
        """Lanes come to know what those have told who have arrived at mbarriers."""
        for place in np.unique(places).tolist():
            if place in self._told:
                here = lanes[places == place]
                self.known[here] = np.maximum(self.known[here], self._padded(self._told[place]))

    def _tell(self, told: dict[int, NDArray[np.int32]], words: NDArray[np.int32], keys: Numbers) -> None:
        if words.shape[1]:
            distinct, _, together = self._together(words, keys)
            for key, known in zip(distinct.tolist(), map(self._padded, together), strict=True):
                told[key] = np.maximum(known, self._padded(told[key])) if key in told else known

    def _together(self, words: NDArray[np.int32], groups: Numbers) -> tuple[Numbers, Numbers, NDArray[np.int32]]:
        """The distinct groups, the number of each lane's among them, and what the lanes of each know together."""
        distinct, index = np.unique(groups, return_inverse=True)
        order = np.argsort(index, kind="stable")
        starts = np.flatnonzero(np.diff(index[order], prepend=-1))
        if not len(starts):
            return distinct, index, np.zeros((0, words.shape[1]), np.int32)
        return distinct, index, np.maximum.reduceat(words[order], starts, axis=0)

    def _padded(self, known: NDArray[np.int32]) -> NDArray[np.int32]:
        return np.pad(known, (0, self.known.shape[1] - len(known)))


def block_of(places: Numbers) -> Numbers:
    """Number in the batch of the blocks in whose memory places in bytes are."""
    return places // BLOCK_BYTES
