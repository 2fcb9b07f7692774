"""Who accessed each piece of an array last, and whether others may have done so at the same time.

Two accesses are in order when one thread makes both, when the later thread knows of the earlier access by barriers or
flags (:mod:`mmcore_emulator.sanitizer.ordering`), directly or through others; and in different launches. All others may
happen in either order or at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mmcore_emulator.machine.lanes import WARP
from mmcore_emulator.machine.memory.arrays import Array
from mmcore_emulator.machine.warps import BIT, EVERY_LANE
from mmcore_emulator.sanitizer.ordering import Accessors, Clocks, Order

Indices = NDArray[np.int64]
Flags = NDArray[np.bool_]

NOBODY = 0
_SEVERAL = -2


@dataclass(frozen=True)
class Accesses:
    """Accesses of threads to pieces: one entry each, a thread as often as it accesses pieces.

    Attributes:
        clocks: what the threads of their batch know of each other.
        thread: their numbers in the grid, from 1.
        warp: those of their warps in their blocks, from 0.
        block: those of their blocks, from 0.
        horizon: until when each knows its whole block.
        place: of each among the lanes of the batch's warps.
    """

    clocks: Clocks
    thread: Indices
    warp: Indices
    block: Indices
    horizon: Indices
    place: Indices

    def __getitem__(self, chosen: Flags | Indices | slice) -> Accesses:
        numbers = (self.thread, self.warp, self.block, self.horizon, self.place)
        return Accesses(self.clocks, *(each[chosen] for each in numbers))

    @property
    def lane_bit(self) -> NDArray[np.uint32]:
        """What stands for each in a mask of its warp's lanes."""
        return BIT[self.place % WARP]

    @property
    def warp_bit(self) -> NDArray[np.uint32]:
        """What stands for its warp in a mask of its block's warps."""
        return BIT[self.warp]


@dataclass(frozen=True)
class Earlier:
    """Earlier accesses, an entry for each later access to the same piece.

    Attributes:
        block: the block whose threads made them; negative for several.
        warps, lanes: masks of the warps of that block, and of the lanes of these, that they are among.
        time: of the latest.
    """

    block: NDArray[np.int32]
    warps: NDArray[np.uint32]
    lanes: NDArray[np.uint32]
    time: NDArray[np.int32]

    @classmethod
    def of(cls, accessors: Sequence[Accessors]) -> Earlier:
        """Return accesses that some threads made, an entry for each."""
        block, time = (np.array([getattr(each, name) for each in accessors], np.int32) for name in ("block", "time"))
        warps, lanes = (np.array([getattr(each, name) for each in accessors], np.uint32) for name in ("warps", "lanes"))
        return cls(block, warps, lanes, time)

    def __getitem__(self, chosen: Flags | Indices) -> Earlier:
        return Earlier(self.block[chosen], self.warps[chosen], self.lanes[chosen], self.time[chosen])

    def strangers(self, who: Accesses) -> NDArray[np.uint32]:
        """The lanes of each one's own warp that made them, and of which it does not know that they did."""
        return who.clocks.unknown_lanes(who.place, self.lanes & ~who.lane_bit, self.time)

    def unordered_with(self, who: Accesses) -> Flags:
        """Which of the later accesses is not in order with them."""
        same_block = self.block == who.block
        unordered: Flags = np.asarray(~(same_block & (self.time < who.horizon)))
        in_warp = np.flatnonzero(unordered & same_block & (self.warps == who.warp_bit))
        if in_warp.size:
            unordered[in_warp] = self[in_warp].strangers(who[in_warp]) != 0
        in_block, warps = np.flatnonzero(unordered & same_block), self.warps.copy()
        if in_block.size:
            those, own = self[in_block], who[in_block]
            unknown = who.clocks.unknown_warps(own.place, those.warps, those.time)
            unknown &= ~np.where(those.strangers(own), np.uint32(0), own.warp_bit)
            unordered[in_block], warps[in_block] = unknown != 0, unknown
        if who.clocks.by_mbarriers is not None:
            left = np.flatnonzero(unordered)
            those = self[left]
            unordered[left] = ~who.clocks.by_mbarriers.knows(
                who.place[left], those.block, warps[left], those.lanes, those.time
            )
        if who.clocks.order.told_anything:
            for entry in np.flatnonzero(unordered).tolist():
                of_warps = int(warps[entry])
                lanes = int(self.lanes[entry]) if of_warps & (of_warps - 1) == 0 else int(EVERY_LANE)
                others = Accessors(int(self.block[entry]), of_warps, lanes, int(self.time[entry]))
                unordered[entry] = not who.clocks.order.knows(int(who.thread[entry]), int(who.block[entry]), others)
        return unordered


class LastAccess:
    """The last accesses of one kind to each piece of an array: as much of them as tells whether another is in order.

    Where threads that are not in order with each other have accessed a piece, one of them stands for all, beside masks
    of their lanes and warps and the time of the latest; of threads of several blocks no more is known than that. So an
    access may be taken to be later than it was, or by more threads.

    Attributes:
        at: number of the instruction, of each piece.
        empty: whether there have been none.
    """

    def __init__(self, pieces: int) -> None:
        # Zeros take no memory until something else is written: most arrays are never accessed in most ways.
        self._thread, self._another = (np.zeros(pieces, np.int64) for _ in range(2))
        self._block, self._time = (np.zeros(pieces, np.int32) for _ in range(2))
        self._warps, self._lanes = (np.zeros(pieces, np.uint32) for _ in range(2))
        self.at = np.zeros(pieces, np.int32)
        self.empty = True

    def made(self, index: Indices) -> Flags:
        """Which of these pieces anybody has accessed."""
        if self.empty:
            return np.zeros(index.shape, np.bool_)
        return np.asarray(self._thread[index] != NOBODY)

    def made_since(self, time: int, index: Indices) -> Flags:
        """Which of these pieces anybody has accessed at that time or later."""
        return np.asarray(self.made(index) & (self._time[index] >= time))

    def unordered_with(self, index: Indices, who: Accesses) -> Flags:
        """Which of these accesses is not in order with an earlier one to the same piece."""
        unordered = self.made(index)
        if self.empty:
            return unordered
        unordered &= (self._block[index] != who.block) | (self._time[index] >= who.horizon)
        left = np.flatnonzero(unordered)
        if left.size:
            unordered[left] = self._earlier(index[left]).unordered_with(who[left])
        return unordered

    def _earlier(self, index: Indices) -> Earlier:
        return Earlier(self._block[index], self._warps[index], self._lanes[index], self._time[index])

    def elsewhere(self, index: Indices, who: Accesses) -> Flags:
        """Which of these pieces threads of other blocks have accessed."""
        return np.asarray(self._block[index] != who.block)

    def someone(self, piece: int) -> int:
        """A thread that has accessed a piece."""
        return int(self._thread[piece])

    def someone_else(self, index: Indices, who: Accesses) -> int:
        """A thread that is not in order with the only one of ``who``, and has accessed the only piece of ``index``."""
        (piece,), (thread,), (place,) = index.tolist(), who.thread.tolist(), who.place.tolist()
        if self._block[piece] == who.block[0] and self._warps[piece] == who.warp_bit[0]:
            (strangers,) = self._earlier(index).strangers(who).tolist()
            first = (strangers & -strangers).bit_length() - 1
            return int(thread - place % WARP + first)
        return int(self._another[piece] if self._thread[piece] == thread else self._thread[piece])

    def note(self, index: Indices, who: Accesses, at: int) -> None:
        """Remember accesses by an instruction of that number; several may be to one piece."""
        replaced = ~self.unordered_with(index, who)
        fresh, by = index[replaced], who[replaced]
        self._thread[fresh], self._block[fresh] = by.thread, by.block
        self._lanes[fresh] = self._warps[fresh] = 0
        self.at[fresh] = at
        self._time[index] = who.clocks.order.now
        np.bitwise_or.at(self._lanes, index, who.lane_bit)
        np.bitwise_or.at(self._warps, index, who.warp_bit)
        self._block[index[self._block[index] != who.block]] = _SEVERAL
        others = self._thread[index] != who.thread
        self._another[index[others]] = who.thread[others]
        self.empty = False


class LastAccesses:
    """The last accesses of one kind to each piece of an array, apart for each rank of a block in its cluster.

    Only the blocks of one cluster access a piece of shared memory, and of these only one has that rank.
    """

    def __init__(self, pieces: int) -> None:
        self._pieces = pieces
        self._by_rank: dict[int, LastAccess] = {}

    def __iter__(self) -> Iterator[LastAccess]:
        return iter(self._by_rank.values())

    def note(self, index: Indices, who: Accesses, at: int) -> None:
        """Remember accesses by an instruction of that number; several may be to one piece."""
        for rank, entries in who.clocks.by_rank(who.place):
            self._by_rank.setdefault(rank, LastAccess(self._pieces)).note(index[entries], who[entries], at)


class LastStrongStores(LastAccess):
    """The last strong stores of each thread to each piece: flags and counters, which many threads change."""

    def __init__(self, pieces: int) -> None:
        super().__init__(pieces)
        self._by_thread: dict[int, dict[int, Accessors]] = {}
        self._observed: dict[tuple[int, int], int] = {}

    def unordered_with(self, index: Indices, who: Accesses) -> Flags:
        unordered = super().unordered_with(index, who)
        left = {
            entry: self._unknown(int(index[entry]), int(who.thread[entry]), int(who.block[entry]), who.clocks.order)
            for entry in np.flatnonzero(unordered).tolist()
        }
        while left:
            others = {entry: other for entry, each in left.items() if (other := next(each, None)) is not None}
            unordered[[entry for entry in left if entry not in others]] = False
            entries = np.array(list(others), np.int64)
            known = entries[~Earlier.of(list(others.values())).unordered_with(who[entries])]
            left = {entry: left[entry] for entry in known.tolist()}
        return unordered

    def _unknown(self, piece: int, thread: int, block: int, order: Order) -> Iterator[Accessors]:
        """Yield the other threads that have stored to a piece, without those that a thread knows of by flags."""
        observed = self._observed.get((thread, piece), 0)
        for other, each in self._by_thread[piece].items():
            if other != thread and each.time >= observed and not order.knows(thread, block, each):
                yield each

    def made_in_turn(self, index: Indices, who: Accesses, at: int, *, stores: bool, sees: bool) -> None:
        """Remember accesses that are made one after the other: ``stores``, and such as see what others have stored.

        What a thread has seen lies before all that it does to the same piece.
        """
        order = who.clocks.order
        if stores:
            self.note(index, who, at)
        columns = (index, who.thread, who.block, who.warp_bit, who.lane_bit)
        for piece, thread, block, warp, lane in zip(*(column.tolist() for column in columns), strict=True):
            now = order.tick()
            if sees:
                self._observed[thread, piece] = now
            if stores:
                self._by_thread.setdefault(piece, {})[thread] = Accessors(block, warp, lane, now)


class Shadow:
    """What has happened to an array, piece by piece.

    Attributes:
        piece: bytes of a piece, a power of two that divides every access.
        written: pieces that hold what somebody wrote.
        stored: pieces that a launch stored or added something to.
        unread: pieces whose stored value nobody has read yet.
        loads, stores: the last accesses of each kind.
        strong_loads, strong_stores: likewise, of those that others may make at the same time: atomics, flags.
    """

    def __init__(self, array: Array, piece: int) -> None:
        self.piece = piece
        pieces = len(array.content) // piece
        self.written, self.stored, self.unread = (np.zeros(pieces, np.bool_) for _ in range(3))
        self._scratch = np.zeros(pieces, np.int64)
        self.begin_launch()

    def begin_launch(self) -> None:
        """Forget the accesses so far: they come before all that this launch does."""
        pieces = len(self.written)
        self.loads, self.stores, self.strong_loads = (LastAccesses(pieces) for _ in range(3))
        self.strong_stores = LastStrongStores(pieces)

    @property
    def changed(self) -> bool:
        """Whether the launch has stored anything to it."""
        return bool([*self.stores]) or not self.strong_stores.empty

    def at_once(self, index: Indices, who: Accesses) -> Flags:
        """Which accesses of one instruction go where another thread's goes, too."""
        self._scratch[index] = who.thread
        self._scratch[index[self._scratch[index] != who.thread]] = NOBODY
        return np.asarray(self._scratch[index] == NOBODY)


class GlobalShadows:
    """Shadows of all arrays in device memory, which outlive a launch.

    Attributes:
        piece: bytes of a piece; see :func:`mmcore_emulator.sanitizer.access_sizes.least_access_bytes`.
        output: the array in which each element should be stored once; None for none.
    """

    def __init__(self, piece: int, output: Array | None = None, inputs: Iterable[Array] = ()) -> None:
        """Shadows of arrays; ``inputs`` are those that kernels must not write to."""
        self.piece = piece
        self.output = output
        self._inputs = frozenset(array.base for array in inputs)
        self._shadows: dict[int, Shadow] = {}

    def of(self, array: Array) -> Shadow:
        """The shadow of an array."""
        if array.base not in self._shadows:
            shadow = Shadow(array, self.piece)
            shadow.written[: array.uploaded // self.piece] = True
            # What a launch rule declares to be read past a matrix, may be.
            shadow.written[array.writable // self.piece : array.readable // self.piece] = True
            self._shadows[array.base] = shadow
        return self._shadows[array.base]

    def is_input(self, array: Array) -> bool:
        """Return whether kernels must not write to an array."""
        return array.base in self._inputs

    def begin_launch(self) -> None:
        """Launches come one after the other."""
        for shadow in self._shadows.values():
            shadow.begin_launch()
