"""Registers that threads release and request (``setmaxnreg``), out of the registers of their block at the launch."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from mmcore_emulator.machine.accesses import LaneViolation, always
from mmcore_emulator.machine.lanes import THREAD_AXES, Batch, Mask
from mmcore_emulator.ptx.instructions import Instruction

_UNIT = 8  # the allocation unit of a thread's registers


class RegisterPool:
    """The registers of a batch's blocks.

    Args:
        batch: the batch.
        registers: registers of a thread at the launch; 0 if unknown, so that ``setmaxnreg`` has no effect.
    """

    def __init__(self, batch: Batch, registers: int) -> None:
        self._batch = batch
        self._at_launch = -(-registers // _UNIT) * _UNIT
        self._held = np.full(batch.shape, self._at_launch, np.int64)
        self._asked: dict[int, Instruction] = {}

    def set(self, count: int, mask: Mask | None, at: Instruction) -> None:
        """Set the register count of lanes from now on; lanes may have to wait for it."""
        if self._at_launch:
            self._held[self._batch.spread(mask)] = count
            self._asked[count] = at

    def overdrawn(self) -> Iterator[LaneViolation]:
        """Yield the lanes that wait forever, after all lanes have ended."""
        if not self._asked:
            return
        total = self._held.sum(THREAD_AXES, keepdims=True)
        present = self._at_launch * self._held[(0, slice(None)) * 3].size
        short = (self._held > self._at_launch) & (total > present)
        for count in np.unique(self._held[short]).tolist():
            text = (
                f"waits for {count} registers: its block has {present}, {self._at_launch} a thread at the launch, "
                f"and its threads together ask for {int(total[total > present].max())}"
            )
            lanes = short & (self._held == count)
            yield LaneViolation("deadlock", None, self._asked[count], lanes, always(text))
