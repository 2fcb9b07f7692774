"""Writes by threads to shared memory, and the fences that order them before asynchronous accesses.

Reference: PTX ISA, "Async proxy".
"""

from __future__ import annotations

import numpy as np

from mmcore_emulator.machine.asynchronous.events import BLOCK_WORDS, Transfer
from mmcore_emulator.ptx.instructions import Instruction
from mmcore_emulator.sanitizer.happens_before.numbering import Flags, Indices, InstructionNumbers, LaneNumbers
from mmcore_emulator.sanitizer.recording import SharedReport

_UNFENCED = "reads {} asynchronously, which threads have written before: fence.proxy.async between is missing"
_UNFENCED_MBARRIER = (
    "begins a bulk copy that completes the mbarrier {}, which was initialised with neither fence.mbarrier_init nor "
    "fence.proxy.async behind"
)


class Proxies:
    """The latest write by threads to each word of the shared memory of a batch's blocks, and the fences after it."""

    def __init__(self, numbers: LaneNumbers, report: SharedReport) -> None:
        self._block_in_batch, self._report = numbers.block_in_batch, report
        lanes, blocks = numbers.batch.lanes, numbers.batch.extent.size
        # The lane, time and instruction of each word's latest write.
        self._writer, self._written, self._written_by = (np.zeros(blocks * BLOCK_WORDS, np.int32) for _ in range(3))
        self._instructions = InstructionNumbers()
        self._fenced, self._synchronised = (np.zeros(lanes, np.int32) for _ in range(2))
        self._fenced_until = np.zeros(blocks, np.int32)

    def write(self, words: Indices, lanes: Indices, at: Instruction, now: int) -> None:
        """Note that lanes write words, a row for each lane."""
        self._writer[words], self._written[words] = lanes[:, np.newaxis], now
        self._written_by[words] = self._instructions.number(at)

    def forget(self, words: Indices) -> None:
        """Forget the writes to words."""
        self._written[words] = 0

    def synchronise(self, lanes: Indices, now: int) -> None:
        """Note that lanes leave a barrier: their next fences order what other threads wrote before it."""
        self._synchronised[lanes] = now

    def fence(self, lanes: Indices, now: int) -> None:
        """Note that lanes execute a fence between the proxies."""
        self._fenced[lanes] = now
        np.maximum.at(self._fenced_until, self._block_in_batch[lanes], self._synchronised[lanes])

    def check_reads(self, transfer: Transfer) -> None:
        """Check that fences order writes by threads before asynchronous reads of the words."""
        self._check("missing-proxy-fence", _UNFENCED, transfer, transfer.words)

    def check_mbarriers(self, transfer: Transfer, mbarriers: Indices) -> None:
        """Check that fences order the initialisation of mbarriers before copies that complete them."""
        words = mbarriers[:, np.newaxis] // 4
        self._check("unfenced-mbarrier", _UNFENCED_MBARRIER, transfer, words)
        self.forget(words)

    def _check(self, kind: str, text: str, transfer: Transfer, words: Indices) -> None:
        unfenced = self._unfenced(words)
        if unfenced.any():
            word = int(words[unfenced][0])
            lanes, writer = transfer.lanes[unfenced.any(axis=1), 0], self._instructions[int(self._written_by[word])]
            self._report.add(kind, transfer.at, lanes, text.format(self._report.name(word)), writer)

    def _unfenced(self, words: Indices) -> Flags:
        """Return which words (none where less than 0) threads have written with no fence after."""
        written = np.where(words >= 0, self._written[words], 0)
        ordered = np.maximum(self._fenced[self._writer[words]], self._fenced_until[words // BLOCK_WORDS])
        return np.asarray((written > 0) & (ordered < written))
