"""Who accessed each piece of an array last, and whether others may have done so at the same time.

Two accesses are in order when one thread makes both, when a barrier of their block lies between them, or, of threads of
one warp, a barrier of the warp at which they meet, directly or through others; and in different launches. All others
may happen in either order or at once. What order threads make among themselves with fences and flags in memory is not
understood, and passes for none.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mmcore_emulator.lanes import WARP
from mmcore_emulator.memory import Array
from mmcore_emulator.warps import BIT, PerWarp, groups

Indices = NDArray[np.int64]
Flags = NDArray[np.bool_]

NOBODY = 0
_SEVERAL = -2


@dataclass(frozen=True)
class Accessors:
    """Threads that access something: one entry each, a thread as often as it accesses pieces.

    Attributes:
        clocks: what they know of the other threads of their warps.
        thread: their numbers in the grid, from 1.
        warp, block: those of their warps and blocks, from 0.
        epoch: barriers of its block that each has passed.
        place: of each among the lanes of the batch's warps.
    """

    clocks: WarpClocks
    thread: Indices
    warp: Indices
    block: Indices
    epoch: Indices
    place: Indices

    def __getitem__(self, chosen: Flags | Indices) -> Accessors:
        numbers = (self.thread, self.warp, self.block, self.epoch, self.place)
        return Accessors(self.clocks, *(each[chosen] for each in numbers))

    @property
    def bit(self) -> NDArray[np.uint32]:
        """What stands for each in a mask of its warp's lanes."""
        return BIT[self.place % WARP]


class LastAccess:
    """The last accesses of one kind to each piece of an array: as much of them as tells whether another is in order.

    Where threads that are not in order with each other have accessed a piece, one of them stands for all, and its
    warp or block is that of "several", which no other's equals. Which lanes they are is remembered of one warp, and
    when the latest of them was there: where threads of a warp wait for each other in changing groups that overlap, an
    access may be taken to be later than it was.
    """

    def __init__(self, pieces: int) -> None:
        # Zeros take no memory until something else is written: most arrays are never accessed in most ways.
        self._thread, self._another = (np.zeros(pieces, np.int64) for _ in range(2))
        self._warp, self._block, self._epoch, self._time = (np.zeros(pieces, np.int32) for _ in range(4))
        self._lanes = np.zeros(pieces, np.uint32)
        self.at = np.zeros(pieces, np.int32)
        self._empty = True

    def forget(self) -> None:
        """All that was, lies before all that comes."""
        if not self._empty:
            self._thread.fill(NOBODY)
        self._empty = True

    def made(self, index: Indices) -> Flags:
        """Which of these pieces anybody has accessed."""
        if self._empty:
            return np.zeros(index.shape, np.bool_)
        return np.asarray(self._thread[index] != NOBODY)

    def unordered_with(self, index: Indices, who: Accessors) -> Flags:
        """Which of these accesses is not in order with an earlier one to the same piece."""
        if self._empty:
            return np.zeros(index.shape, np.bool_)
        before = (self._block[index] == who.block) & (self._epoch[index] < who.epoch)
        unordered: Flags = np.asarray((self._thread[index] != NOBODY) & ~before)
        in_warp = np.flatnonzero(unordered & (self._warp[index] == who.warp))
        if in_warp.size:
            unordered[in_warp] = self._strangers(index[in_warp], who[in_warp]) != 0
        return unordered

    def _strangers(self, index: Indices, who: Accessors) -> NDArray[np.uint32]:
        """The lanes of each one's own warp that were at the piece, and of which it does not know that they were."""
        return who.clocks.unknown(who.place, self._lanes[index] & ~who.bit, self._time[index])

    def someone(self, piece: int) -> int:
        """A thread that has accessed a piece."""
        return int(self._thread[piece])

    def someone_else(self, index: Indices, who: Accessors) -> int:
        """A thread that is not in order with the only one of ``who``, and has accessed the only piece of ``index``."""
        (piece,), (thread,), (place,) = index.tolist(), who.thread.tolist(), who.place.tolist()
        if self._warp[piece] == who.warp[0]:
            (strangers,) = self._strangers(index, who).tolist()
            first = (strangers & -strangers).bit_length() - 1
            return int(thread - place % WARP + first)
        return int(self._another[piece] if self._thread[piece] == thread else self._thread[piece])

    def note(self, index: Indices, who: Accessors, at: int) -> None:
        """Remember accesses by an instruction of that number; several may be to one piece."""
        replaced = ~self.unordered_with(index, who)
        fresh, by = index[replaced], who[replaced]
        self._thread[fresh], self._warp[fresh], self._block[fresh] = by.thread, by.warp, by.block
        self._epoch[fresh], self._lanes[fresh] = by.epoch, 0
        self.at[fresh] = at
        self._time[index] = who.clocks.now
        np.bitwise_or.at(self._lanes, index, who.bit)
        self._block[index[self._block[index] != who.block]] = _SEVERAL
        self._warp[index[self._warp[index] != who.warp]] = _SEVERAL
        others = self._thread[index] != who.thread
        self._another[index[others]] = who.thread[others]
        self._empty = False


class Shadow:
    """What has happened to an array, piece by piece.

    Attributes:
        piece: bytes of a piece, a power of two that divides every access.
        written: pieces that hold what somebody wrote.
        stored: pieces that a launch stored or added something to.
        unread: pieces whose stored value nobody has read yet.
        loads, stores, atomics: the last accesses of each kind.
    """

    def __init__(self, array: Array, piece: int) -> None:
        self.piece = piece
        pieces = len(array.content) // piece
        self.written, self.stored, self.unread = (np.zeros(pieces, np.bool_) for _ in range(3))
        self.loads, self.stores, self.atomics = (LastAccess(pieces) for _ in range(3))
        self._scratch = np.zeros(pieces, np.int64)

    def begin_launch(self) -> None:
        """Everything so far lies before what this launch does."""
        for last in (self.loads, self.stores, self.atomics):
            last.forget()

    def at_once(self, index: Indices, who: Accessors) -> Flags:
        """Which accesses of one instruction go where another thread's goes, too."""
        self._scratch[index] = who.thread
        self._scratch[index[self._scratch[index] != who.thread]] = NOBODY
        return np.asarray(self._scratch[index] == NOBODY)


class WarpClocks:
    """The knowledge of the threads of a batch's warps.

    Attributes:
        now: the time.
    """

    def __init__(self, warps: int) -> None:
        self.now = 0
        # Until when each lane (second axis) of each warp knows what each other (third axis) did.
        self._known = np.zeros((warps, WARP, WARP), np.int32)

    def meet(self, lanes: PerWarp, named: PerWarp) -> None:
        """Lanes that name the same mask meet; those that do not name themselves meet nobody."""
        self.now += 1
        for group in groups(np.asarray(lanes & ((named & BIT) != 0)), named):
            whole = np.asarray(group.all(axis=1))
            self._known[whole] = self.now
            self._meet_in_part(group, np.asarray(group.any(axis=1) & ~whole))

    def _meet_in_part(self, group: PerWarp, warps: NDArray[np.bool_]) -> None:
        together, known = group[warps], self._known[warps]
        shared = np.where(together[:, :, np.newaxis], known, 0).max(axis=1, initial=0)
        shared = np.where(together, self.now, shared)
        self._known[warps] = np.where(together[:, :, np.newaxis], shared[:, np.newaxis, :], known)

    def unknown(self, place: NDArray[np.int64], others: NDArray[np.uint32], time: NDArray[np.int32]) -> PerWarp:
        """Of ``others``, a mask of lanes, those of whom the thread at each place does not know what they did at a time.

        Args:
            place: threads, as :class:`~mmcore_emulator.warps.Warps` numbers them.
            others: a mask for each.
            time: a time for each.
        """
        if not self.now:
            return others
        known = self._known.reshape(-1, WARP)[place] > time[:, np.newaxis]
        return np.asarray(others & ~np.packbits(known, axis=1, bitorder="little").view("<u4")[:, 0])
