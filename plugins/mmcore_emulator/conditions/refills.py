"""An observer that counts how often a block's shared memory is written, to see how far a ring of stages turns."""

from __future__ import annotations

import numpy as np

from mmcore_emulator.isa.table import effect
from mmcore_emulator.machine.asynchronous.events import Event, Issued
from mmcore_emulator.machine.lanes import Batch
from mmcore_emulator.machine.observer import Access, Observer
from mmcore_emulator.numerics.types import Integers


class Refills(Observer):
    """Counts the writes to each word of the first block's shared memory."""

    ignores = frozenset(("global", "const", "local", "param"))

    def __init__(self) -> None:
        self._stored: list[Integers] = []  # the words of each store
        self._copied: list[Integers] = []  # the words of each asynchronous copy, in another numbering
        self._batch: Batch | None = None

    @property
    def most(self) -> int:
        """The largest number of writes to a word."""
        counts = [
            np.unique(np.concatenate(words), return_counts=True)[1] for words in (self._stored, self._copied) if words
        ]
        return max((int(each.max(initial=0)) for each in counts), default=0)

    def begin(self, batch: Batch) -> Observer | None:
        if any(batch.first):
            return None
        self._batch = batch
        return self

    def access(self, access: Access) -> None:
        if access.space == "shared" and effect(access.at).kind == "store":
            assert self._batch is not None
            lanes = np.broadcast_to(access.address, self._batch.shape)[0, :, 0, :, 0, :]
            if access.mask is not None:
                lanes = lanes[self._batch.spread(access.mask)[0, :, 0, :, 0, :]]
            self._stored.append(np.unique(lanes.astype(np.int64) // 4))

    def event(self, event: Event) -> None:
        if isinstance(event, Issued) and event.transfer.writes:
            words = np.unique(event.transfer.words)
            self._copied.append(words[words >= 0])
