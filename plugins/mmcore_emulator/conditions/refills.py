"""An observer that counts how often a block's shared memory is written, to see how far a ring of stages turns."""

from __future__ import annotations

import numpy as np

from mmcore_emulator.machine.asynchronous.events import BLOCK_WORDS, Event, Issued
from mmcore_emulator.machine.lanes import Batch
from mmcore_emulator.machine.observer import Access, Observer
from mmcore_emulator.numerics.types import Integers


class Refills(Observer):
    """Counts the writes to each word of the first block's shared memory."""

    ignores = frozenset(("global", "const", "local", "param"))

    def __init__(self) -> None:
        self._writes = np.zeros(BLOCK_WORDS, np.int64)
        self._batch: Batch | None = None

    @property
    def most(self) -> int:
        """The largest number of writes to a word."""
        return int(self._writes.max())

    def begin(self, batch: Batch) -> Observer | None:
        if any(batch.first):
            return None
        self._batch = batch
        return self

    def access(self, access: Access) -> None:
        if access.space == "shared" and access.kind in ("store", "copy"):
            assert self._batch is not None
            lanes = np.broadcast_to(access.address, self._batch.shape)[0, :, 0, :, 0, :]
            if access.mask is not None:
                lanes = lanes[self._batch.spread(access.mask)[0, :, 0, :, 0, :]]
            self._count(lanes.astype(np.int64) // 4)

    def event(self, event: Event) -> None:
        if isinstance(event, Issued) and event.transfer.writes:
            self._count(event.transfer.words)

    def _count(self, words: Integers) -> None:
        words = np.unique(words)
        self._writes[words[(words >= 0) & (words < BLOCK_WORDS)]] += 1
