"""Shadow memory: the last accesses to each piece of an array, and whether later accesses are ordered after them.

Two accesses are ordered if one thread makes both, if the clock of the later thread includes the earlier access,
or if they are in different launches. All others may happen in either order or at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from mmcore_emulator.machine.limits import WARP
from mmcore_emulator.machine.memory.arrays import Array
from mmcore_emulator.numerics.types import Flags, Integers
from mmcore_emulator.sanitizer.accesses import EPOCH, Accesses, Epochs
from mmcore_emulator.sanitizer.happens_before.vector_clocks import Epoch

_NO_THREAD = 0
_SEVERAL = -2


class LastAccess:
    """The last accesses of one kind to each piece of an array, as far as later accesses need them.

    If unordered threads have accessed a piece, one thread represents all of them, with masks of their lanes and warps
    and the time of the latest access. For threads of several blocks only that time is kept. So an access may count as
    later than it was, or as made by more threads. Another thread is remembered only to name it: of another block if
    there are several blocks, or of another warp.
    """

    def __init__(self, pieces: int) -> None:
        # Zeros take no memory until something else is written: most arrays are never accessed in most ways.
        self.thread, self._another = (np.zeros(pieces, np.int64) for _ in range(2))  # a thread that accessed each piece
        self._epochs: Epochs = np.zeros(pieces, EPOCH)
        self._block, self._warps, self._lanes, self._time = (self._epochs[name] for name in Epoch._fields)
        self.at = np.zeros(pieces, np.int32)  # number of the instruction with which it did
        self.empty = True  # true if there have been no accesses

    def made(self, index: Integers) -> Flags:
        """Return which of some pieces have been accessed."""
        if self.empty:
            return np.zeros(index.shape, np.bool_)
        return np.asarray(self.thread[index] != _NO_THREAD)

    def made_since(self, time: int, index: Integers) -> Flags:
        """Return which of some pieces have been accessed at a time or later."""
        return np.asarray(self.made(index) & (self._time[index] >= time))

    def unordered_with(self, index: Integers, accesses: Accesses) -> Flags:
        """Return which accesses are not ordered after earlier ones to the same piece."""
        unordered = self.made(index)
        if self.empty:
            return unordered
        unordered &= (self._block[index] != accesses.block) | (self._time[index] >= accesses.horizon)
        left = np.flatnonzero(unordered)
        if left.size:
            unordered[left] = accesses[left].unordered_with(self._epochs[index[left]])
        return unordered

    def by_other_blocks(self, index: Integers, accesses: Accesses) -> Flags:
        """Return which of some pieces threads of other blocks have accessed."""
        return np.asarray(self._block[index] != accesses.block)

    def across_warps(self, index: Integers, accesses: Accesses, unordered: Flags) -> Flags:
        """Return which unordered accesses are not ordered after one of another warp of their block."""
        across, left = np.zeros(index.shape, np.bool_), np.flatnonzero(unordered)
        if left.size:
            epochs, later = self._epochs[index[left]], accesses[left]
            other_warps = later.unordered_warps(epochs) & ~later.warp_bit
            across[left] = (epochs["block"] == later.block) & (other_warps != 0)
        return across

    def unordered_thread(self, index: Integers, accesses: Accesses) -> int:
        """Return a thread that has accessed the only piece in ``index``, and is not ordered before the only access."""
        epochs, (block,), (own_warp,) = self._epochs[index], accesses.block.tolist(), accesses.warp_bit.tolist()
        (thread,), (another,) = self.thread[index].tolist(), self._another[index].tolist()
        if epochs["block"][0] != block:
            return int(another if accesses.in_block_of(self.thread[index])[0] else thread)
        warps = int(accesses.unordered_warps(epochs)[0]) & ~own_warp or own_warp
        lanes = int((accesses.unordered_lanes(epochs) if warps == own_warp else epochs["lanes"])[0])
        size = accesses.clocks.numbers.batch.block.size
        remembered = () if epochs["warps"][0] == own_warp else (thread, another)
        for warp, lane in (divmod((each - 1) % size, WARP) for each in remembered):
            if warps >> warp & lanes >> lane & 1:
                return int(block * size + warp * WARP + lane + 1)
        return int(block * size + _lowest(warps) * WARP + _lowest(lanes) + 1)

    def note(self, index: Integers, accesses: Accesses, at: int) -> None:
        """Remember accesses by the instruction of a number; several may be to one piece."""
        replaced = ~self.unordered_with(index, accesses)
        fresh = index[replaced]
        self.thread[fresh], self._block[fresh] = accesses.thread[replaced], accesses.block[replaced]
        self._lanes[fresh] = self._warps[fresh] = 0
        self.at[fresh] = at
        self._time[index] = accesses.clocks.order.now
        np.bitwise_or.at(self._lanes, index, accesses.lane_bit)
        np.bitwise_or.at(self._warps, index, accesses.warp_bit)
        self._block[index[self._block[index] != accesses.block]] = _SEVERAL
        thread, several = self.thread[index], self._block[index] == _SEVERAL
        others = ~np.where(several, accesses.in_block_of(thread), accesses.in_warp_of(thread))
        self._another[index[others]] = accesses.thread[others]
        self.empty = False


def _lowest(mask: int) -> int:
    """Return the number of the lowest bit of a mask."""
    return (mask & -mask).bit_length() - 1


class LastAccesses:
    """The last accesses of one kind to each piece of an array, apart for each rank of a block in its cluster.

    Only the blocks of one cluster access a piece of shared memory, and only one of these blocks has a rank.
    """

    def __init__(self, pieces: int) -> None:
        self._pieces = pieces
        self._by_rank: dict[int, LastAccess] = {}

    def __iter__(self) -> Iterator[LastAccess]:
        return iter(self._by_rank.values())

    def note(self, index: Integers, accesses: Accesses, at: int) -> None:
        """Remember accesses by the instruction of a number; several may be to one piece."""
        for rank, entries, of_rank in accesses.by_rank(index):
            if rank not in self._by_rank:
                self._by_rank[rank] = LastAccess(self._pieces)
            self._by_rank[rank].note(entries, of_rank, at)


class LastStrongStores(LastAccess):
    """The last strong stores of each thread to each piece: flags and counters, which many threads change."""

    def __init__(self, pieces: int) -> None:
        super().__init__(pieces)
        self._by_thread: dict[int, dict[int, Epoch]] = {}
        self._observed: dict[tuple[int, int], int] = {}

    def unordered_with(self, index: Integers, accesses: Accesses) -> Flags:
        unordered = super().unordered_with(index, accesses)
        left = {
            entry: self._not_acquired(int(index[entry]), int(accesses.thread[entry]), accesses)
            for entry in np.flatnonzero(unordered).tolist()
        }
        while left:  # Compare each access with one more thread's stores.
            epochs = {entry: epoch for entry, others in left.items() if (epoch := next(others, None)) is not None}
            unordered[[entry for entry in left if entry not in epochs]] = False
            entries = np.array(list(epochs), np.int64)
            ordered = ~accesses[entries].unordered_with(np.array(list(epochs.values()), EPOCH))
            left = {entry: left[entry] for entry in entries[ordered].tolist()}
        return unordered

    def _not_acquired(self, piece: int, thread: int, accesses: Accesses) -> Iterator[Epoch]:
        """Yield the stores of other threads to a piece that a thread has neither observed nor acquired from flags."""
        observed = self._observed.get((thread, piece), 0)
        for other, epoch in self._by_thread[piece].items():
            if other != thread and epoch.time >= observed and not accesses.has_acquired(thread, epoch):
                yield epoch

    def note_in_turn(self, index: Integers, accesses: Accesses, at: int, *, stores: bool, observes: bool) -> None:
        """Remember accesses that are made one after the other: stores, and accesses that observe others' stores.

        What a thread has observed is ordered before all that it does to the same piece later.
        """
        order = accesses.clocks.order
        if stores:
            self.note(index, accesses, at)
        columns = (index, accesses.thread, accesses.block, accesses.warp_bit, accesses.lane_bit)
        for piece, thread, block, warp, lane in zip(*(column.tolist() for column in columns), strict=True):
            now = order.tick()
            if observes:
                self._observed[thread, piece] = now
            if stores:
                self._by_thread.setdefault(piece, {})[thread] = Epoch(block, warp, lane, now)


class Shadow:
    """The shadow of an array.

    Attributes:
        piece: bytes of a piece, a power of two that divides every access.
        written: pieces that the host or a launch has written.
        stored: pieces that a launch stored or added something to.
        unread: pieces whose stored value has not been read yet.
        loads, stores: the last weak accesses of each kind.
        strong_loads, strong_stores: the last strong accesses of each kind, which threads may make at the same time.
    """

    def __init__(self, array: Array, piece: int) -> None:
        self.piece = piece
        pieces = len(array.content) // piece
        self.written, self.stored, self.unread = (np.zeros(pieces, np.bool_) for _ in range(3))
        self._scratch = np.zeros(pieces, np.int64)
        self.begin_launch()

    def begin_launch(self) -> None:
        """Forget the accesses of earlier launches, which are ordered before this one."""
        pieces = len(self.written)
        self.loads, self.stores, self.strong_loads = (LastAccesses(pieces) for _ in range(3))
        self.strong_stores = LastStrongStores(pieces)

    @property
    def changed(self) -> bool:
        """True if the launch has stored anything in the array."""
        return bool([*self.stores]) or not self.strong_stores.empty

    def write(self, index: Integers) -> None:
        """Note that a launch stores something in pieces."""
        self.written[index] = self.stored[index] = self.unread[index] = True

    def colliding(self, index: Integers, accesses: Accesses) -> Flags:
        """Return which accesses of one instruction are to a piece that another thread accesses in it."""
        self._scratch[index] = accesses.thread
        self._scratch[index[self._scratch[index] != accesses.thread]] = _NO_THREAD
        return np.asarray(self._scratch[index] == _NO_THREAD)


class GlobalShadows:
    """Shadows of all arrays in device memory, which outlive a launch."""

    def __init__(self, piece: int, output: Array | None = None, inputs: Iterable[Array] = ()) -> None:
        """Create no shadows yet; kernels must not write to ``inputs``."""
        self.piece = piece  # bytes of a piece; see :func:`mmcore_emulator.sanitizer.array_access.least_access_bytes`
        self.output = output  # the array in which each element should be stored once; None for none
        self._inputs = frozenset(array.base for array in inputs)
        self._shadows: dict[int, Shadow] = {}

    def of(self, array: Array) -> Shadow:
        """Return the shadow of an array."""
        if array.base not in self._shadows:
            shadow = self._shadows[array.base] = Shadow(array, self.piece)
            shadow.written[: array.uploaded // self.piece] = True
            # A launch rule may declare that a kernel reads past a matrix.
            shadow.written[array.writable // self.piece : array.readable // self.piece] = True
        return self._shadows[array.base]

    def is_input(self, array: Array) -> bool:
        """Return True if kernels must not write to an array."""
        return array.base in self._inputs

    def begin_launch(self) -> None:
        """Forget the accesses of earlier launches."""
        for shadow in self._shadows.values():
            shadow.begin_launch()
