"""Waits for mbarriers that ended before any phase had ended, which explain what their threads read or refill then."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from mmcore_emulator.isa.asynchronous.mbarrier_actions import REFILL, REFILL_AFTER_WAIT
from mmcore_emulator.isa.table import effect
from mmcore_emulator.machine.lanes import Batch
from mmcore_emulator.machine.observer import LaneViolation, always
from mmcore_emulator.numerics.types import Flags, Integers
from mmcore_emulator.ptx.instructions import Instruction

_EXPLAINED = ("uninitialized-read", "unfinished-copy", "shared-race")
_EARLY = "waits for the phase of the mbarrier {} before its first: that wait ends at once, and orders nothing"
_OTHER_PARITY = "the other parity: a buffer that is filled is waited for with parity 0 first"
_NEXT_PARITY = (
    "a parity that changes with each round of the buffers: a producer waits for an empty buffer with parity 1 in the "
    "first round, and with 0 in the second"
)


class EarlyWaits:
    """The last wait of each lane of a batch, if no phase of its mbarrier had ended and it has written nothing since.

    A thread that fills a new buffer waits so. A thread that reads what others write, or fills a buffer again, must not.
    """

    def __init__(self, batch: Batch) -> None:
        self._shape = batch.shape
        self._last = np.zeros(batch.lanes, np.int32)  # number of the wait; 0 for none
        self._waits: list[tuple[Instruction | None, str]] = [(None, "")]

    def note(self, at: Instruction, mbarrier: str, lanes: Integers, early: bool) -> None:
        """Note that lanes have waited for an mbarrier."""
        wait = at, mbarrier
        if early and wait not in self._waits:
            self._waits.append(wait)
        self._last[lanes] = self._waits.index(wait) if early else 0

    def forget(self, lanes: Integers) -> None:
        """Note that lanes write to shared memory."""
        self._last[lanes] = 0

    def explaining(self, violation: LaneViolation) -> Iterator[LaneViolation]:
        """Yield the early waits of lanes that read shared memory before it is written, or refill it too early."""
        at = violation.at
        refills = _refills(violation)
        if at is None or not (refills or (violation.kind in _EXPLAINED and effect(at).verb == "reads")):
            return
        hint = always(_NEXT_PARITY if refills else _OTHER_PARITY)
        last: Flags = np.where(violation.lanes, self._last.reshape(self._shape), 0)
        for number in np.unique(last[last > 0]).tolist():
            wait, mbarrier = self._waits[number]
            text = always(_EARLY.format(mbarrier))
            yield LaneViolation("early-wait", "shared", wait, last == number, text, hint=hint)


def _refills(violation: LaneViolation) -> bool:
    """Return whether all lanes of a violation fill buffers again too early."""
    return violation.kind == "mbarrier-misuse" and violation.hint(()) in (REFILL, REFILL_AFTER_WAIT)
