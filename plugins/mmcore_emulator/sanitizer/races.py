"""Accesses that are not ordered after earlier accesses by other instructions: races, and messages on them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TypeAlias

import numpy as np

from mmcore_emulator.executor.kernel_launch import place
from mmcore_emulator.isa.table import effect
from mmcore_emulator.machine.lanes import Batch
from mmcore_emulator.numerics.types import Flags
from mmcore_emulator.ptx.instructions import Instruction
from mmcore_emulator.sanitizer.array_access import ArrayAccess, verb
from mmcore_emulator.sanitizer.happens_before.numbering import InstructionNumbers
from mmcore_emulator.sanitizer.recording import Record, at_line
from mmcore_emulator.sanitizer.shadow import LastAccess

_Describe: TypeAlias = Callable[[ArrayAccess, LastAccess, Instruction, int], str]


class Races:
    """A check for races of a batch, which reports them apart for each earlier instruction."""

    def __init__(self, batch: Batch, instructions: InstructionNumbers, record: Record) -> None:
        self._batch, self._instructions, self._record = batch, instructions, record

    def check(self, accesses: ArrayAccess, *earlier: LastAccess) -> Flags:
        """Return which accesses race with earlier ones."""
        racing = np.zeros(accesses.index.shape, np.bool_)
        for last in earlier:
            racing |= self._report(accesses, last, last.unordered_with(accesses.index, accesses.threads), self._race)
        return racing

    def check_other_blocks(self, accesses: ArrayAccess, last: LastAccess) -> Flags:
        """Return which accesses race with earlier ones of other blocks."""
        unordered = last.unordered_with(accesses.index, accesses.threads)
        racing = unordered & last.by_other_blocks(accesses.index, accesses.threads)
        return self._report(accesses, last, racing, self._race)

    def check_stale(self, accesses: ArrayAccess, *earlier: LastAccess) -> None:
        """Check reads through the non-coherent cache, which no barrier orders after writes of the same launch."""
        for last in earlier:
            self._report(accesses, last, last.made(accesses.index), self._stale)

    def check_overtaking(self, accesses: ArrayAccess, last: LastAccess, issued: int) -> Flags:
        """Return the pieces that were accessed after a bulk copy, which writes to them now, was issued."""
        return self._report(accesses, last, last.made_since(issued, accesses.index), self._overtaking)

    def check_proxies(self, accesses: ArrayAccess, fenced: int) -> None:
        """Check asynchronous reads of what threads have written since the latest fence between the proxies."""
        for last in (*accesses.shadow.stores, accesses.shadow.strong_stores):
            for earlier, wrong in self._by_instruction(accesses, last, last.made_since(fenced, accesses.index)):
                if effect(earlier).kind not in ("copy", "bulk copy"):  # Bulk copies write as they read.
                    text = f", which threads have written{at_line(earlier)}: fence.proxy.async between is missing"
                    self._record(accesses.violation("missing-proxy-fence", wrong, text, earlier))

    def _report(self, accesses: ArrayAccess, last: LastAccess, racing: Flags, describe: _Describe) -> Flags:
        for earlier, wrong in self._by_instruction(accesses, last, racing):
            text = partial(describe, accesses, last, earlier)
            self._record(accesses.violation(f"{accesses.access.space}-race", wrong, text, earlier))
        return racing

    def _by_instruction(
        self, accesses: ArrayAccess, last: LastAccess, chosen: Flags
    ) -> Iterator[tuple[Instruction, Flags]]:
        """Yield the earlier instructions that accessed the pieces of chosen accesses, each with these accesses."""
        numbers = last.at[accesses.index]
        for number in np.unique(numbers[chosen]).tolist():
            yield self._instructions[number], chosen & (numbers == number)

    def _race(self, accesses: ArrayAccess, last: LastAccess, earlier: Instruction, entry: int) -> str:
        own_thread, one = int(accesses.threads.thread[entry]), np.array([entry])
        block, thread = self._batch.of_number(last.unordered_thread(accesses.index[one], accesses.threads[one]) - 1)
        between = "barrier" if block == self._batch.of_number(own_thread - 1)[0] else "order"
        return (
            f", which {place(block, thread)} {verb(earlier)}{at_line(earlier)}, "
            f"with no {between} between them: which comes first is open"
        )

    def _stale(self, accesses: ArrayAccess, last: LastAccess, earlier: Instruction, entry: int) -> str:
        return (
            f" through the non-coherent cache ({accesses.at.mnemonic}), which "
            f"{self._earlier(accesses, last, earlier, entry)}, in the same launch: it may read what was there before"
        )

    def _overtaking(self, accesses: ArrayAccess, last: LastAccess, earlier: Instruction, entry: int) -> str:
        return (
            f", which {self._earlier(accesses, last, earlier, entry)} while that is under way: "
            "cp.async.bulk.wait_group (without .read) is missing before, or waits for too few groups"
        )

    def _earlier(self, accesses: ArrayAccess, last: LastAccess, earlier: Instruction, entry: int) -> str:
        """Return a clause on an earlier access: its thread, what it does, and its line."""
        thread = place(*self._batch.of_number(int(last.thread[accesses.index[entry]]) - 1))
        return f"{thread} {verb(earlier)}{at_line(earlier)}"
