"""Accesses before the launch in front is over, of a launch that may begin before (``Launch(dependent=True)``)."""

from __future__ import annotations

from collections.abc import Callable, Collection

import numpy as np

from mmcore_emulator.machine.accesses import BulkTransfer, LaneViolation, always
from mmcore_emulator.machine.lanes import THREAD_AXES, Batch, Mask
from mmcore_emulator.machine.memory.arrays import Array
from mmcore_emulator.sanitizer.array_access import Hit

_TOO_EARLY = "before griddepcontrol.wait: the launch in front may not be over"


class EarlyAccesses:
    """The accesses to global memory of a batch of blocks, until a thread of the block has waited.

    Args:
        batch: the blocks.
        readable: the arrays that may be read before.
        record: is told what is found.
    """

    def __init__(self, batch: Batch, readable: Collection[Array], record: Callable[[LaneViolation], None]) -> None:
        self._batch, self._readable, self._record = batch, readable, record
        self._awaited = np.zeros(batch.shape, np.bool_)

    def waited(self, mask: Mask | None) -> None:
        """Threads have waited for the launch in front."""
        self._awaited |= self._batch.spread(mask).any(axis=THREAD_AXES, keepdims=True)

    def access(self, hit: Hit) -> None:
        """Threads access an array in global memory."""
        if hit.access.kind == "load" and any(hit.array is each for each in self._readable):
            return
        early = ~self._awaited.reshape(-1)[hit.lane]
        if early.any():
            self._record(hit.violation("early-access", early, lambda entry: f"{hit.what(entry)} {_TOO_EARLY}"))

    def copied(self, transfer: BulkTransfer) -> None:
        """Bulk copies of global memory begin."""
        allowed = transfer.nbytes == 0
        for array in self._readable:
            allowed |= (transfer.begin >= array.base) & (transfer.begin < array.base + array.readable)
        early = np.zeros(self._batch.shape, np.bool_)
        early[tuple(transfer.lanes[~allowed.all(axis=1)].T)] = True
        early &= ~self._awaited
        if early.any():
            text = always(f"copies global memory in bulk {_TOO_EARLY}")
            self._record(LaneViolation("early-access", None, transfer.at, early, text))
