"""Copies that each thread issues (``cp.async``), until they arrive in shared memory."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from mmcore_emulator.machine.lanes import Batch, Mask
from mmcore_emulator.machine.memory.address_spaces import AddressSpaces
from mmcore_emulator.numerics.floats import Values
from mmcore_emulator.ptx.instructions import Instruction

_WORD = np.dtype(np.uint32)


@dataclass(frozen=True)
class _Copy:
    """The copies of one instruction, under way."""

    group: Values  # number of the group of each lane's copy
    address: Values
    words: list[Values]
    mask: Mask | None
    at: Instruction


class ThreadCopies:
    """The copies under way of a batch of blocks."""

    def __init__(self, batch: Batch, memory: AddressSpaces) -> None:
        self._batch = batch
        self._memory = memory
        self._copies: list[_Copy] = []
        #: Groups that each lane has committed.
        self.committed: Values = np.zeros((1,) * 6, np.int64)

    def send(self, address: Values, words: list[Values], mask: Mask | None, at: Instruction) -> None:
        """Add copies under way."""
        self._copies.append(_Copy(self.committed, address, words, mask, at))

    def commit(self, mask: Mask | None) -> None:
        """Commit the copies of these lanes as a group."""
        more = self.committed + 1
        self.committed = more if mask is None else mask.merge(more, self.committed)

    def land(self, before: Values, mask: Mask | None) -> None:
        """Complete the copies of these lanes in groups below ``before``."""
        left = []
        for copy in self._copies:
            going = np.asarray(copy.group < before)
            if not going.any():
                left.append(copy)
                continue
            lanes = _both(self._batch, copy.mask, mask, going)
            if lanes is None or lanes.count:
                self._memory.store("shared", copy.address, copy.words, _WORD, lanes, copy.at)
            if lanes is not None:
                rest = self._batch.spread(copy.mask) & ~self._batch.spread(lanes)
                if rest.any():
                    left.append(replace(copy, mask=self._batch.narrow(None, rest)))
        self._copies = left


def _both(batch: Batch, one: Mask | None, other: Mask | None, going: Values) -> Mask | None:
    """Return the common lanes of two masks that are ``going``."""
    mask = one if other is None else other if one is None else batch.narrow(one, other.lanes)
    return mask if going.all() else batch.narrow(mask, going)
