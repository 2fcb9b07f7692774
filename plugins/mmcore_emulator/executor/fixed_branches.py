"""Branches that every size takes alike: their conditions follow from a thread's index and the block's extents."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import cache
from typing import NamedTuple

from mmcore_emulator.isa.entries import Compute, Move
from mmcore_emulator.isa.table import decode, destinations, reads
from mmcore_emulator.ptx.instructions import Block, Instruction, Register, names

_OF_BLOCK = ("%tid", "%ntid", "%laneid", "WARP_SZ")


class _Use(NamedTuple):
    """A register that is read after the first ``position`` instructions of a block."""

    register: Register
    block: int
    position: int


class FixedBranches:
    """The branches of a launch's basic blocks that no size changes."""

    def __init__(self, blocks: Sequence[Block]) -> None:
        self._blocks = blocks
        self._before = defaultdict[int, list[int]](list)
        for index, block in enumerate(blocks):
            for following in block.successors:
                self._before[following].append(index)
        self._definitions = cache(self._definitions_in)

    def excludes(self, index: int, first: int | None) -> bool:
        """Return whether the branch of a block, which has gone one way, goes the same way at each size.

        ``first`` is the first block of a loop if the other way is the loop's next turn. The condition may then depend
        on registers that have one value before the loop and one step at its end.
        """
        end = self._blocks[index].end
        if end is None or end.guard is None:
            return False
        pending = [_Use(end.guard, index, len(self._blocks[index].body))]
        seen = set(pending)
        while pending:
            use = pending.pop()
            definitions = self._reaching([use])
            if len(definitions) > 1 and not self._is_counter(use, definitions, first, index):
                return False
            for block, position in definitions:
                at = self._blocks[block].instructions[position]
                if not _follows_from_block(at):
                    return False
                fresh = {_Use(register, block, position) for register in reads(at)} - seen
                seen |= fresh
                pending += fresh
        return True

    def _is_counter(self, use: _Use, definitions: set[tuple[int, int]], first: int | None, last: int) -> bool:
        """Return whether a register has one value before a loop, and another definition at the loop's end alone."""
        if first is None or not first <= use.block <= last:
            return False
        outside = [number for number in self._before[first] if not first <= number <= last]
        ends = [_Use(use.register, number, len(self._blocks[number].instructions)) for number in outside]
        initial = self._reaching(ends)
        steps = {block for block, _ in definitions - initial}
        return len(initial) == 1 and steps == {last} and not any(first <= block <= last for block, _ in initial)

    def _reaching(self, uses: Iterable[_Use]) -> set[tuple[int, int]]:
        """Return the block and the position of each definition that may give a register its value."""
        found, pending, entered = set[tuple[int, int]](), [*uses], set[int]()
        while pending:
            register, block, position = pending.pop()
            positions = self._definitions(block).get(register, [])
            if earlier := bisect_left(positions, position):
                found.add((block, positions[earlier - 1]))
                continue
            fresh = set(self._before[block]) - entered
            entered |= fresh
            pending += (_Use(register, number, len(self._blocks[number].instructions)) for number in fresh)
        return found

    def _definitions_in(self, block: int) -> dict[Register, list[int]]:
        """Return the positions of a block's instructions that write each register, in order."""
        positions = defaultdict[Register, list[int]](list)
        for position, at in enumerate(self._blocks[block].instructions):
            for register in destinations(at):
                positions[register].append(position)
        return positions


def _follows_from_block(at: Instruction) -> bool:
    """Return whether an instruction computes from registers, constants and the thread's place in its block alone."""
    return isinstance(decode(at), Compute | Move) and all(name.startswith(_OF_BLOCK) for name in names(at))
