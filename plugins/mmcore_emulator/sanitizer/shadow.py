"""Shadow memory: what has happened to each array, piece by piece."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from mmcore_emulator.machine.memory.arrays import Array
from mmcore_emulator.sanitizer.happens_before.numbering import Flags, Indices
from mmcore_emulator.sanitizer.last_access import NO_THREAD, Accesses, LastAccesses, LastStrongStores


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
        """Whether the launch has stored anything in the array."""
        return bool([*self.stores]) or not self.strong_stores.empty

    def write(self, index: Indices) -> None:
        """Note that a launch stores something in pieces."""
        self.written[index] = self.stored[index] = self.unread[index] = True

    def colliding(self, index: Indices, who: Accesses) -> Flags:
        """Return which accesses of one instruction are to a piece that another thread accesses in it."""
        self._scratch[index] = who.thread
        self._scratch[index[self._scratch[index] != who.thread]] = NO_THREAD
        return np.asarray(self._scratch[index] == NO_THREAD)


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
        """Return the shadow of an array."""
        if array.base not in self._shadows:
            shadow = self._shadows[array.base] = Shadow(array, self.piece)
            shadow.written[: array.uploaded // self.piece] = True
            # A launch rule may declare that a kernel reads past a matrix.
            shadow.written[array.writable // self.piece : array.readable // self.piece] = True
        return self._shadows[array.base]

    def is_input(self, array: Array) -> bool:
        """Return whether kernels must not write to an array."""
        return array.base in self._inputs

    def begin_launch(self) -> None:
        """Forget the accesses of earlier launches."""
        for shadow in self._shadows.values():
            shadow.begin_launch()
