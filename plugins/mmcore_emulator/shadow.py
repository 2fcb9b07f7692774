"""Who accessed each piece of an array last, and whether others may have done so at the same time.

Two accesses are in order when one thread makes both, when a barrier of their block lies between them, or, of threads of
one warp, a barrier of the warp; and in different launches. All others may happen in either order or at once. What
order threads make among themselves with fences and flags in memory is not understood, and passes for none.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from mmcore_emulator.memory import Array

Indices = NDArray[np.int64]
Flags = NDArray[np.bool_]

NOBODY = 0
_SEVERAL = -2


@dataclass(frozen=True)
class Accessors:
    """Threads that access something: one entry each, a thread as often as it accesses pieces.

    Attributes:
        thread: their numbers in the grid, from 1.
        warp, block: those of their warps and blocks, from 0.
        epoch: barriers of its block that each has passed.
        warp_epoch: barriers of its warp that each has passed.
    """

    thread: Indices
    warp: Indices
    block: Indices
    epoch: Indices
    warp_epoch: Indices

    def __getitem__(self, chosen: Flags | Indices) -> Accessors:
        return Accessors(*(getattr(self, field.name)[chosen] for field in fields(self)))


class LastAccess:
    """The last accesses of one kind to each piece of an array: as much of them as tells whether another is in order.

    Where threads that are not in order with each other have accessed a piece, one of them stands for all, and its
    warp or block is that of "several", which no other's equals.
    """

    def __init__(self, pieces: int) -> None:
        # Zeros take no memory until something else is written: most arrays are never accessed in most ways.
        self._thread, self._another = (np.zeros(pieces, np.int64) for _ in range(2))
        self._warp, self._block, self._epoch, self._warp_epoch = (np.zeros(pieces, np.int32) for _ in range(4))
        self.at = np.zeros(pieces, np.int32)
        self._several_threads = np.zeros(pieces, np.bool_)
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
        others = self._several_threads[index] | (self._thread[index] != who.thread)
        in_warp = (self._warp[index] == who.warp) & ((self._warp_epoch[index] < who.warp_epoch) | ~others)
        in_block = (self._block[index] == who.block) & ((self._epoch[index] < who.epoch) | in_warp)
        return np.asarray((self._thread[index] != NOBODY) & ~in_block)

    def someone(self, piece: int) -> int:
        """A thread that has accessed a piece."""
        return int(self._thread[piece])

    def someone_else(self, piece: int, thread: int) -> int:
        """A thread other than this one that has accessed a piece, of which it is not in order with all."""
        return int(self._another[piece] if self._thread[piece] == thread else self._thread[piece])

    def note(self, index: Indices, who: Accessors, at: int) -> None:
        """Remember accesses by an instruction of that number; several may be to one piece."""
        later_in_warp = (self._warp[index] == who.warp) & (self._warp_epoch[index] < who.warp_epoch)
        older = self._epoch[index]
        later = (older < who.epoch) | ((older == who.epoch) & later_in_warp)
        replaced = (self._thread[index] == NOBODY) | ((self._block[index] == who.block) & later)
        fresh, by = index[replaced], who[replaced]
        self._thread[fresh], self._warp[fresh], self._block[fresh] = by.thread, by.warp, by.block
        self._epoch[fresh], self._warp_epoch[fresh] = by.epoch, by.warp_epoch
        self._several_threads[fresh] = False
        self.at[fresh] = at
        self._block[index[self._block[index] != who.block]] = _SEVERAL
        self._warp[index[self._warp[index] != who.warp]] = _SEVERAL
        others = self._thread[index] != who.thread
        self._several_threads[index[others]] = True
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
