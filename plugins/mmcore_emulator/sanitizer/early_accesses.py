"""Accesses to global memory before the previous launch is over."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from mmcore_emulator.machine.asynchronous.events import GridAwaited
from mmcore_emulator.machine.lanes import THREAD_AXES, Batch
from mmcore_emulator.machine.memory.arrays import Array
from mmcore_emulator.machine.observer import BulkTransfer, LaneViolation, always
from mmcore_emulator.sanitizer.array_access import ArrayAccess
from mmcore_emulator.sanitizer.recording import Record

_TOO_EARLY = "before griddepcontrol.wait: the launch in front may not be over"


class EarlyAccesses:
    """The accesses to global memory before a thread of the block has waited; ``readable`` arrays may be read."""

    def __init__(self, batch: Batch, readable: Collection[Array], record: Record) -> None:
        self._batch, self._readable, self._record = batch, readable, record
        self._waited = np.zeros(batch.shape, np.bool_)

    def wait(self, event: GridAwaited) -> None:
        """Note that threads have waited for the previous launch."""
        self._waited |= self._batch.spread(event.mask).any(axis=THREAD_AXES, keepdims=True)

    def access(self, accesses: ArrayAccess) -> None:
        """Check accesses to an array in global memory."""
        if accesses.access.kind == "load" and any(accesses.array is array for array in self._readable):
            return
        early = ~self._waited.reshape(-1)[accesses.threads.lane]
        if early.any():
            self._record(accesses.violation("early-access", early, f" {_TOO_EARLY}"))

    def bulk_load(self, transfer: BulkTransfer) -> None:
        """Check bulk copies from global memory."""
        allowed = transfer.nbytes == 0
        for array in self._readable:
            allowed |= (transfer.begin >= array.base) & (transfer.begin < array.base + array.readable)
        early = np.zeros(self._batch.shape, np.bool_)
        early[tuple(transfer.lanes[~allowed.all(axis=1)].T)] = True
        early &= ~self._waited
        if early.any():
            text = always(f"copies global memory in bulk {_TOO_EARLY}")
            self._record(LaneViolation("early-access", None, transfer.at, early, text))
