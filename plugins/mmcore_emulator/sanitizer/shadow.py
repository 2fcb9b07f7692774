"""Who accessed each piece of an array last, and whether others may have done so at the same time.

Two accesses are in order when one thread makes both, when the later thread knows of the earlier access by barriers or
flags (:mod:`mmcore_emulator.sanitizer.ordering`), directly or through others; and in different launches. All others may
happen in either order or at once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mmcore_emulator.lanes import WARP
from mmcore_emulator.memory import Array
from mmcore_emulator.sanitizer.ordering import Accessors, Clocks
from mmcore_emulator.warps import BIT

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

    def __getitem__(self, chosen: Flags | Indices) -> Accesses:
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

    def forget(self) -> None:
        """All that was, lies before all that comes."""
        if not self.empty:
            self._thread.fill(NOBODY)
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
        if self.empty:
            return np.zeros(index.shape, np.bool_)
        same_block = self._block[index] == who.block
        unordered: Flags = np.asarray(
            (self._thread[index] != NOBODY) & ~(same_block & (self._time[index] < who.horizon))
        )
        in_warp = np.flatnonzero(unordered & same_block & (self._warps[index] == who.warp_bit))
        if in_warp.size:
            unordered[in_warp] = self._strangers(index[in_warp], who[in_warp]) != 0
        in_block, warps = np.flatnonzero(unordered & same_block), self._warps[index]
        if in_block.size:
            chosen, own = index[in_block], who[in_block]
            unknown = who.clocks.unknown_warps(own.place, self._warps[chosen], self._time[chosen])
            unknown &= ~np.where(self._strangers(chosen, own), np.uint32(0), own.warp_bit)
            unordered[in_block], warps[in_block] = unknown != 0, unknown
        if who.clocks.by_mbarriers is not None:
            left = np.flatnonzero(unordered)
            at = index[left]
            unordered[left] = ~who.clocks.by_mbarriers.knows(
                who.place[left], self._block[at], warps[left], self._lanes[at], self._time[at]
            )
        if who.clocks.order.told_anything:
            for entry in np.flatnonzero(unordered).tolist():
                thread, block = int(who.thread[entry]), int(who.block[entry])
                others = self._accessors(int(index[entry]), int(warps[entry]))
                unordered[entry] = not who.clocks.order.knows(thread, block, others)
        return unordered

    def elsewhere(self, index: Indices, who: Accesses) -> Flags:
        """Which of these pieces threads of other blocks have accessed."""
        return np.asarray(self._block[index] != who.block)

    def _accessors(self, piece: int, warps: int) -> Accessors:
        lanes = int(self._lanes[piece]) if warps & (warps - 1) == 0 else 0xFFFFFFFF
        return Accessors(int(self._block[piece]), warps, lanes, int(self._time[piece]))

    def _strangers(self, index: Indices, who: Accesses) -> NDArray[np.uint32]:
        """The lanes of each one's own warp that were at the piece, and of which it does not know that they were."""
        return who.clocks.unknown_lanes(who.place, self._lanes[index] & ~who.lane_bit, self._time[index])

    def someone(self, piece: int) -> int:
        """A thread that has accessed a piece."""
        return int(self._thread[piece])

    def someone_else(self, index: Indices, who: Accesses) -> int:
        """A thread that is not in order with the only one of ``who``, and has accessed the only piece of ``index``."""
        (piece,), (thread,), (place,) = index.tolist(), who.thread.tolist(), who.place.tolist()
        if self._block[piece] == who.block[0] and self._warps[piece] == who.warp_bit[0]:
            (strangers,) = self._strangers(index, who).tolist()
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


class LastStrongStores(LastAccess):
    """The last strong stores of each thread to each piece: flags and counters, which many threads change."""

    def __init__(self, pieces: int) -> None:
        super().__init__(pieces)
        self._by_thread: dict[int, dict[int, Accessors]] = {}
        self._observed: dict[tuple[int, int], int] = {}

    def forget(self) -> None:
        super().forget()
        self._by_thread.clear()
        self._observed.clear()

    def unordered_with(self, index: Indices, who: Accesses) -> Flags:
        unordered = super().unordered_with(index, who)
        for entry in np.flatnonzero(unordered).tolist():
            piece, thread, block = int(index[entry]), int(who.thread[entry]), int(who.block[entry])
            observed, knows = self._observed.get((thread, piece), 0), who.clocks.order.knows
            unordered[entry] = not all(
                other == thread or each.time < observed or knows(thread, block, each)
                for other, each in self._by_thread[piece].items()
            )
        return unordered

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
        self.loads, self.stores, self.strong_loads = (LastAccess(pieces) for _ in range(3))
        self.strong_stores = LastStrongStores(pieces)
        self._scratch = np.zeros(pieces, np.int64)

    def begin_launch(self) -> None:
        """Everything so far lies before what this launch does."""
        for last in (self.loads, self.stores, self.strong_loads, self.strong_stores):
            last.forget()

    @property
    def changed(self) -> bool:
        """Whether the launch has stored anything to it."""
        return not (self.stores.empty and self.strong_stores.empty)

    def at_once(self, index: Indices, who: Accesses) -> Flags:
        """Which accesses of one instruction go where another thread's goes, too."""
        self._scratch[index] = who.thread
        self._scratch[index[self._scratch[index] != who.thread]] = NOBODY
        return np.asarray(self._scratch[index] == NOBODY)


class GlobalShadows:
    """Shadows of all arrays in device memory, which outlive a launch."""

    def __init__(self, piece: int, output: Array) -> None:
        self.piece = piece
        self.output = output
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

    def begin_launch(self) -> None:
        """Launches come one after the other."""
        for shadow in self._shadows.values():
            shadow.begin_launch()
