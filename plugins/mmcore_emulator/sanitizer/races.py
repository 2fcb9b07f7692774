"""Races of accesses with earlier accesses to the same array, and what may help."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from mmcore_emulator.executor.kernel_launch import place
from mmcore_emulator.isa.asynchronous.mbarriers import kind_of
from mmcore_emulator.isa.table import effect
from mmcore_emulator.machine.lanes import Batch
from mmcore_emulator.machine.limits import WARP
from mmcore_emulator.numerics.types import Flags
from mmcore_emulator.ptx.instructions import Instruction
from mmcore_emulator.sanitizer.array_access import ArrayAccess, verb
from mmcore_emulator.sanitizer.common_places import barrier_between, common_lines, is_common
from mmcore_emulator.sanitizer.happens_before.numbering import InstructionNumbers
from mmcore_emulator.sanitizer.loops import Loops
from mmcore_emulator.sanitizer.recording import Record, at_line
from mmcore_emulator.sanitizer.shadow import LastAccess

_Describe: TypeAlias = Callable[[ArrayAccess, LastAccess, Instruction, int], str]
_IN_STEP = "; volatile accesses kept a warp's lanes in step before Volta, and do not since"
_COLLIDES = ", as other threads do at once: whose value stays is open"
_BENIGN = ", as other threads do with no order between them; all of them write the same value"
ONE_WRITER = "an atomic operation, or one thread that writes"
"""The hint at accesses of which one stays."""
GUARD = "a guard, so that threads outside of the array write nothing"
"""The hint at such accesses where threads outside of the array are among them."""
_BY_CLUSTER = ", where all threads of the cluster reach it"
OTHER_INDEX = "another index"
"""The beginning of the hints at accesses that no barrier orders."""


def _are_nan(pieces: NDArray[np.uint8]) -> Flags:
    """Return which pieces, of bytes, are NaN as floating-point numbers."""
    floats = {2: np.float16, 4: np.float32, 8: np.float64}.get(pieces.shape[1])
    return np.zeros(len(pieces), np.bool_) if floats is None else np.isnan(pieces.view(floats)).reshape(-1)


class Races:
    """A check for races of a batch, which reports them apart for each earlier instruction.

    Attributes:
        counted: whether threads have used a barrier that counts some of a block's threads, or an mbarrier.
    """

    def __init__(self, batch: Batch, instructions: InstructionNumbers, loops: Loops, record: Record) -> None:
        self._batch, self._instructions, self._loops, self._record = batch, instructions, loops, record
        self.counted = False

    def check(self, accesses: ArrayAccess, *earlier: LastAccess) -> Flags:
        """Return which accesses race with earlier ones."""
        racing = np.zeros(accesses.index.shape, np.bool_)
        for last in earlier:
            unordered = last.unordered_with(accesses.index, accesses.threads)
            racing |= unordered
            if accesses.access.kind == "load":
                unfenced = self._ordered_by_fence(accesses, last, unordered, "counted")
                self._report("missing-fence", accesses, last, unfenced, self._unfenced)
                unordered = unordered & ~unfenced
            self._report_races(accesses, last, unordered)
        return racing

    def check_writes(self, accesses: ArrayAccess, *earlier: LastAccess) -> Flags:
        """Return which writes race with earlier writes; those of the value that is there already are benign."""
        racing = np.zeros(accesses.index.shape, np.bool_)
        for last in earlier:
            unordered = last.unordered_with(accesses.index, accesses.threads)
            racing |= unordered
            if unordered.any() and len(stored := accesses.stored()):
                equal = unordered & (stored[0] == stored[1]).all(axis=1)
                self._report_benign(accesses, equal)
                unordered = unordered & ~equal
            self._report_races(accesses, last, unordered)
        return racing

    def check_colliding(self, accesses: ArrayAccess) -> Flags:
        """Return which accesses of one instruction are to a piece that another thread accesses in it."""
        colliding = accesses.shadow.colliding(accesses.index, accesses.threads)
        differing = colliding
        if colliding.any() and len(stored := accesses.stored()):
            _, group = np.unique(accesses.index, return_inverse=True)
            least, most = (np.full((group.max() + 1, stored.shape[2]), limit, np.uint8) for limit in (255, 0))
            np.minimum.at(least, group, stored[0])
            np.maximum.at(most, group, stored[0])
            differing = colliding & (least != most).any(axis=1)[group]
        if differing.any():
            self._record(accesses.violation(_kind(accesses), differing, _COLLIDES, hint=ONE_WRITER))
        self._report_benign(accesses, colliding & ~differing)
        return colliding

    def check_other_blocks(self, accesses: ArrayAccess, last: LastAccess) -> Flags:
        """Return which accesses race with earlier ones of other blocks."""
        unordered = last.unordered_with(accesses.index, accesses.threads)
        racing = unordered & last.by_other_blocks(accesses.index, accesses.threads)
        self._report_races(accesses, last, racing)
        return racing

    def check_stale(self, accesses: ArrayAccess, *earlier: LastAccess) -> None:
        """Check reads through the non-coherent cache, which no barrier orders after writes of the same launch."""
        for last in earlier:
            self._report(_kind(accesses), accesses, last, last.made(accesses.index), self._stale)

    def check_overtaking(self, accesses: ArrayAccess, last: LastAccess, issued: int) -> Flags:
        """Return the pieces that were accessed after a bulk copy, which writes to them now, was issued."""
        racing = last.made_since(issued, accesses.index)
        self._report(_kind(accesses), accesses, last, racing, self._overtaking)
        return racing

    def check_proxies(self, accesses: ArrayAccess, fenced: int) -> None:
        """Check asynchronous reads of what threads have written since the latest fence between the proxies."""
        for last in (*accesses.shadow.stores, accesses.shadow.strong_stores):
            for earlier, wrong in self._by_instruction(accesses, last, last.made_since(fenced, accesses.index)):
                if effect(earlier).kind not in ("copy", "bulk copy"):  # Bulk copies write as they read.
                    text = f", which threads have written{at_line(earlier)}: fence.proxy.async between is missing"
                    self._record(accesses.violation("missing-proxy-fence", wrong, text, earlier))

    def _report_benign(self, accesses: ArrayAccess, equal: Flags) -> None:
        """Report writes of equal values; NaNs, such as those of reads beyond an array, may differ on a GPU."""
        if equal.any() and len(stored := accesses.stored()):
            equal = equal & ~_are_nan(stored[0])
        if equal.any():
            self._record(accesses.violation("benign-race", equal, _BENIGN, hint=ONE_WRITER))

    def _report_races(self, accesses: ArrayAccess, last: LastAccess, racing: Flags) -> None:
        across = last.across_warps(accesses.index, accesses.threads, racing)
        for part in (across, racing & ~across):
            self._report(_kind(accesses), accesses, last, part, self._race, self._hint, of_several_warps=part is across)

    def _report(
        self,
        kind: str,
        accesses: ArrayAccess,
        last: LastAccess,
        wrong: Flags,
        describe: _Describe,
        hint: _Describe = lambda *_: "",
        *,
        of_several_warps: bool = False,
    ) -> None:
        for earlier, entries in self._by_instruction(accesses, last, wrong):
            text, tried = (partial(each, accesses, last, earlier) for each in (describe, hint))
            violation = accesses.violation(kind, entries, text, earlier, tried)
            self._record(replace(violation, of_several_warps=of_several_warps))

    def _by_instruction(
        self, accesses: ArrayAccess, last: LastAccess, chosen: Flags
    ) -> Iterator[tuple[Instruction, Flags]]:
        """Yield the earlier instructions that accessed the pieces of chosen accesses, each with these accesses."""
        numbers = last.at[accesses.index]
        for number in np.unique(numbers[chosen]).tolist():
            yield self._instructions[number], chosen & (numbers == number)

    def _ordered_by_fence(self, accesses: ArrayAccess, last: LastAccess, unordered: Flags, unfenced: str) -> Flags:
        """Return which unordered accesses would be ordered after fences that acquire ``unfenced`` clocks."""
        ordered, left = np.zeros(unordered.shape, np.bool_), np.flatnonzero(unordered)
        if left.size and accesses.threads.clocks.order.flags_read:
            threads = accesses.threads[left].with_fences(unfenced)
            ordered[left] = ~last.unordered_with(accesses.index[left], threads)
        return ordered

    def _blocks(self, accesses: ArrayAccess, last: LastAccess, entry: int) -> tuple[int, int, bool]:
        """Return the numbers of the earlier and the later thread of a race, and whether their block is the same."""
        one, thread = np.array([entry]), int(accesses.threads.thread[entry])
        earlier = last.unordered_thread(accesses.index[one], accesses.threads[one])
        same = self._batch.of_number(earlier - 1)[0] == self._batch.of_number(thread - 1)[0]
        return earlier, thread, same

    def _race(self, accesses: ArrayAccess, last: LastAccess, earlier: Instruction, entry: int) -> str:
        other, own, same_block = self._blocks(accesses, last, entry)
        line = self._loops.next_iteration(earlier, accesses.at) if same_block else None
        loop = f"the loop at line {line}" if line else "their loop"
        around = "" if line is None else f" in the next iteration of {loop}"
        volatile = any("volatile" in effect(at).order for at in (earlier, accesses.at))
        in_step = _IN_STEP if volatile and same_block and self._in_one_warp(other, own) else ""
        wait = ""
        if same_block and (waits := self._waits(accesses, earlier)):
            wait = f", and waits for{at_line(waits[0])}" if len(waits) == 1 else ", a copy that it waits for"
        return (
            f"{around}, which {place(*self._batch.of_number(other - 1))} {verb(earlier)}{at_line(earlier)}{wait}, "
            f"with no {'barrier' if same_block else 'order'} between them: which comes first is open{in_step}"
        )

    def _hint(self, accesses: ArrayAccess, last: LastAccess, earlier: Instruction, entry: int) -> str:
        """Return the barrier or fence that may order a race, or another index where no order mends it."""
        if _kind(accesses) == "global-race" and effect(earlier).kind == accesses.access.kind == "store":
            return f"{OTHER_INDEX}, or one thread that writes: of two stores without a read between, one is lost"
        other, own, same_block = self._blocks(accesses, last, entry)
        begin, line = common_lines(earlier, accesses.at)
        again = self._loops.next_iteration(earlier, accesses.at) is not None
        if _kind(accesses) == "global-race" and same_block and begin == line != 0 and not again:
            return f"{OTHER_INDEX}: no barrier fits between a read and a store in one line"
        before = f" before line {line}" if line else " between them"
        behind = f" behind line {begin}" if begin else ""
        if same_block:
            if (kind := kind_of(earlier)) is not None and kind.action == "init":
                return f"__syncthreads(){before}, where all threads of the block reach it"
            if arrival := self._loops.early_arrival(earlier, accesses.at):
                access = f"line {begin}" if begin not in (0, arrival) else "the access"
                return f"the arrival at the mbarrier of line {arrival} behind {access}, not before it"
            if (waits := self._waits(accesses, earlier)) and not (line and len(waits) == 1):
                before = " behind the wait for the copy"
            return self._barrier(accesses, earlier, self._in_one_warp(other, own), own, behind, before)
        if self._ordered_by_fence(accesses, last, np.arange(len(accesses.index)) == entry, "read").any():
            return f"__threadfence(){before}"
        if accesses.access.space == "shared":
            return self._cluster_barrier(accesses, earlier, own, behind, before)
        if accesses.threads.clocks.order.flags_read:
            return (
                f"__threadfence() and __syncthreads(){behind}, before a flag or counter reports it, and both again "
                f"after that is read,{before}"
            )
        others = "an atomic operation, or a second launch: no barrier orders the blocks of one"
        return f"{OTHER_INDEX}, {others}" if begin == line != 0 else others

    def _cluster_barrier(
        self, accesses: ArrayAccess, earlier: Instruction, thread: int, behind: str, before: str
    ) -> str:
        """Return the barrier of a cluster that may order a race of its blocks, at a place that its threads reach."""
        barrier = barrier_between(self._loops, earlier, accesses.at)
        if barrier is not None and barrier.kernel_line:
            return f"cluster.sync() instead of the block's barrier in line {barrier.kernel_line}"
        if not is_common(self._loops, earlier, accesses.at):
            return f"cluster.sync(){behind or before}{_BY_CLUSTER}"
        return f"cluster.sync(){before}{_BY_CLUSTER if self._in_part(accesses, thread, self._batch.block.size) else ''}"

    def _barrier(
        self, accesses: ArrayAccess, earlier: Instruction, one_warp: bool, thread: int, behind: str, before: str
    ) -> str:
        """Return the barrier of a warp or block that may order a race within it, at a place that its threads reach."""
        size, volatile = self._batch.block.size, any("volatile" in effect(at).order for at in (earlier, accesses.at))
        in_part = self._in_part(accesses, thread, size)
        part_of_warp = self._in_part(accesses, thread, WARP)
        of_warp = size <= WARP or (one_warp and (volatile or in_part) and not part_of_warp)
        if self.counted and in_part and (part_of_warp or not of_warp):
            return f"an arrival{behind} at a barrier or mbarrier that is waited for{before}"
        if of_warp:
            return f"a barrier{before} that all threads of the warp reach" if part_of_warp else f"__syncwarp(){before}"
        return f"__syncthreads(){before}{', where all threads of the block reach it' if in_part else ''}"

    def _waits(self, accesses: ArrayAccess, earlier: Instruction) -> list[Instruction]:
        """Return the waits that complete an earlier ``cp.async``, if no barrier follows them before an access."""
        if accesses.access.space != "shared" or effect(earlier).kind != "copy":
            return []
        return self._loops.waits_for_copies(accesses.at)

    def _in_one_warp(self, one: int, other: int) -> bool:
        size = self._batch.block.size
        return (one - 1) % size // WARP == (other - 1) % size // WARP

    def _in_part(self, accesses: ArrayAccess, thread: int, threads: int) -> bool:
        """Return True if not all of a thread's group execute an access: a barrier of more threads there would hang.

        A block is divided into groups of so many ``threads``.
        """
        size = self._batch.block.size
        begin = (thread - 1) // size * size + (thread - 1) % size // threads * threads
        end = min(begin + threads, (thread - 1) // size * size + size)
        lanes = np.unique(accesses.threads.thread) - 1
        return int(((begin <= lanes) & (lanes < end)).sum()) < end - begin

    def _unfenced(self, accesses: ArrayAccess, last: LastAccess, earlier: Instruction, entry: int) -> str:
        return (
            f", which {self._earlier(accesses, last, earlier, entry)}: behind the atomic operation between them, "
            "__threadfence() before this read is missing"
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


def _kind(accesses: ArrayAccess) -> str:
    return f"{accesses.access.space}-race"
