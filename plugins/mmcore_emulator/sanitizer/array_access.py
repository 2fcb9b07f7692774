"""Accesses of one instruction to one array, and their races with earlier accesses."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import numpy as np

from mmcore_emulator.executor.kernel_launch import place
from mmcore_emulator.isa.table import effect
from mmcore_emulator.machine.lanes import Batch
from mmcore_emulator.machine.memory.arrays import Array
from mmcore_emulator.machine.observer import Access, LaneViolation
from mmcore_emulator.numerics.types import Flags, Integers, Values
from mmcore_emulator.ptx.instructions import Function, Instruction
from mmcore_emulator.ptx.types import TYPE_BYTES, Constant
from mmcore_emulator.sanitizer.happens_before.numbering import InstructionNumbers
from mmcore_emulator.sanitizer.recording import Record, at_line
from mmcore_emulator.sanitizer.shadow import Accesses, LastAccess, Shadow

Text: TypeAlias = str | Callable[[int], str]
"""A text on an entry, perhaps made from its number."""
_ACCESSES = ("load", "store", "atomic", "remote store", "fragment move", "bulk copy", "mbarrier")


@dataclass(frozen=True)
class ArrayAccess:
    """An instruction's accesses to one array, one entry for each piece of each lane."""

    access: Access  # the instruction's access, perhaps to several arrays
    array: Array  # the array
    name: str  # the array as the source calls it
    shadow: Shadow  # the array's shadow
    address: Values  # address of each lane of the batch
    index: Integers  # number of each entry's piece
    threads: Accesses  # lane of each entry

    @property
    def at(self) -> Instruction:
        """The instruction."""
        return self.access.at

    def violation(self, kind: str, wrong: Flags, text: Text, other: Instruction | None = None) -> LaneViolation:
        """Return the violation of wrong entries; ``text`` follows the description of the first."""
        lanes = np.zeros(self.address.size, np.bool_)
        lanes[self.threads.lane[wrong]] = True

        def of_lane(index: tuple[int, ...]) -> str:
            lane = np.ravel_multi_index(index, self.address.shape)
            entry = int(np.flatnonzero(wrong & (self.threads.lane == lane))[0])
            return self._describe(entry) + (text if isinstance(text, str) else text(entry))

        return LaneViolation(kind, self.array.label, self.at, lanes.reshape(self.address.shape), of_lane, other)

    def _describe(self, entry: int) -> str:
        """Return a clause on the access of an entry's thread and the accessed elements."""
        does = "reads" if self.access.kind in ("load", "fetch") else verb(self.at)
        offset = int(self.address.reshape(-1)[self.threads.lane[entry]]) - self.array.base
        size = TYPE_BYTES.get(effect(self.at).type)
        if size is None:
            return f"{does} {self.access.nbytes} bytes of {self.name} (from byte {offset})"
        first, last = offset // size, (offset + self.access.nbytes) // size - 1
        elements = f"element {first}" if first == last else f"elements {first} to {last}"
        return f"{does} {elements} of {self.name}"


def verb(at: Instruction) -> str:
    """Return the verb for an instruction's effect on memory."""
    return effect(at).verb or "writes"


def least_access_bytes(function: Function) -> int:
    """Return the bytes of the smallest element that a function loads, stores or adds to; 1 if it has no access."""
    return min((size for instruction in function.body for size in _sizes(instruction)), default=1)


def _sizes(instruction: Instruction) -> Iterator[int]:
    does = effect(instruction)
    if does.kind in _ACCESSES and does.type in TYPE_BYTES:
        yield TYPE_BYTES[does.type]
    elif does.kind == "copy" and len(instruction.operands) > 2:  # cp.async [to], [from], bytes
        size = instruction.operands[2]
        yield size.bits if isinstance(size, Constant) and size.bits else 1


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
