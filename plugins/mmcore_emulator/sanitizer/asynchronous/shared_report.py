"""Reports of hazards in shared memory."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mmcore_emulator.executor.layout import Layout
from mmcore_emulator.machine.accesses import LaneViolation
from mmcore_emulator.machine.asynchronous.events import BLOCK_BYTES
from mmcore_emulator.machine.lanes import WARP
from mmcore_emulator.ptx.instructions import Instruction
from mmcore_emulator.sanitizer.numbering import Indices, LaneNumbers


class SharedReport:
    """A report of hazards in the shared memory of a batch's blocks.

    Args:
        numbers: the numbers of the batch's lanes.
        layout: the layout of shared memory.
        record: records a hazard.
    """

    def __init__(self, numbers: LaneNumbers, layout: Layout, record: Callable[[LaneViolation], None]) -> None:
        self._numbers, self._layout, self._record = numbers, layout, record

    def add(
        self, kind: str, at: Instruction, lanes: Indices | list[int], text: str, other: Instruction | None = None
    ) -> None:
        """Report what lanes do in an instruction, and the other instruction that is involved."""
        batch = self._numbers.batch
        marked = np.zeros(batch.lanes, np.bool_)
        marked[lanes] = True
        where = f" (at {other.source}:{other.line})" if other is not None and other.line else ""

        def of_lane(lane: tuple[int, ...]) -> str:
            warp = int(self._numbers.thread_in_block[np.ravel_multi_index(lane, batch.shape)]) // WARP
            return f"(warp {warp}) {text}{where}"

        self._record(LaneViolation(kind, "shared", at, marked.reshape(batch.shape), of_lane, other))

    def name(self, word: int) -> str:
        """Return the array that a word is in, as the source calls it, and the byte in it."""
        inside = word * 4 % BLOCK_BYTES
        bases = [*(base for base, _ in self._layout.shared), self._layout.dynamic_shared]
        before = [(base & (BLOCK_BYTES - 1), base) for base in bases if base & (BLOCK_BYTES - 1) <= inside]
        begin, base = max(before, default=(0, 0))
        return f"{self._layout.shared_name(base) or 'shared memory'} (byte {inside - begin})"

    def block_name(self, number: int) -> str:
        """Return the index of a block of the batch."""
        lane = int(np.flatnonzero(self._numbers.block_in_batch == number)[0])
        block, _ = self._numbers.batch.of_number(int(self._numbers.thread[lane]) - 1)
        return f"({', '.join(map(str, block if block.z else block[:2]))})"
