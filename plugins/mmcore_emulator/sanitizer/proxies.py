"""What threads have written to shared memory, and whether a fence puts that before asynchronous accesses.

Reference: PTX ISA, "Async proxy".
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mmcore_emulator.machine.asynchronous.events import BLOCK_WORDS
from mmcore_emulator.ptx.instructions import Instruction


class Proxies:
    """The latest write by threads to each word of the shared memory of a batch's blocks, and the fences behind it.

    Times are numbers that grow from event to event.

    Args:
        lanes, blocks: how many the batch has.
    """

    def __init__(self, lanes: int, blocks: int) -> None:
        words = blocks * BLOCK_WORDS
        # Who, when, and by which instruction.
        self._writer, self._written, self._written_by = (np.zeros(words, np.int32) for _ in range(3))
        self._instructions: list[Instruction] = []
        self._numbers: dict[int, int] = {}
        self._fenced, self._met = (np.zeros(lanes, np.int32) for _ in range(2))  # each lane's latest fence, and barrier
        self._fenced_until = np.zeros(blocks, np.int32)

    def write(self, words: NDArray[np.int64], lanes: NDArray[np.int64], at: Instruction, now: int) -> None:
        """Threads have written words, each row its own."""
        number = self._numbers.setdefault(id(at), len(self._instructions))
        if number == len(self._instructions):
            self._instructions.append(at)
        self._writer[words], self._written[words] = lanes[:, np.newaxis], now
        self._written_by[words] = number

    def forget(self, words: NDArray[np.int64]) -> None:
        """What threads have written there is of no account any more."""
        self._written[words] = 0

    def meet(self, lanes: NDArray[np.int64], now: int) -> None:
        """Lanes have learnt what others had done: what those have written they can fence for them."""
        self._met[lanes] = now

    def fence(self, lanes: NDArray[np.int64], blocks: NDArray[np.int64], now: int) -> None:
        """Lanes execute a fence between the proxies."""
        self._fenced[lanes] = now
        np.maximum.at(self._fenced_until, blocks, self._met[lanes])

    def unfenced(self, words: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which words (none where less than 0) threads have written with no fence behind."""
        written = np.where(words >= 0, self._written[words], 0)
        ordered = np.maximum(self._fenced[self._writer[words]], self._fenced_until[words // BLOCK_WORDS])
        return np.asarray((written > 0) & (ordered < written))

    def writer(self, word: int) -> Instruction:
        """By which instruction a word was written."""
        return self._instructions[int(self._written_by[word])]
