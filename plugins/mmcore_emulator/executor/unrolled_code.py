"""Copies of one piece of source code in a kernel: the turns of an unrolled loop, and its remainder.

Copies are recognised by their accesses to memory, barriers, traps and matrix instructions. Compilers leave out
arithmetic whose result another copy has computed, so that a line of arithmetic may be missing in the executed copies.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence, Set
from typing import TypeAlias

from mmcore_emulator.isa.control import is_control, reads_parameter
from mmcore_emulator.isa.table import effect
from mmcore_emulator.ptx.instructions import Block, Instruction

Statement: TypeAlias = tuple[str, str, int, int, tuple[tuple[str, int], ...]]
"""An instruction's opcode, file, line and column, and the calls that it was inlined at."""

_MERGED = ("compute", "compare", "move", "cluster address")  # kinds of instructions whose results compilers share


class UnrolledCode:
    """The copies of statements in a launch's basic blocks, of which some were entered."""

    def __init__(self, blocks: Sequence[Block], entered: Set[int]) -> None:
        self._blocks = blocks
        self._entered = entered
        self._statements = [_statements(block) for block in blocks]

    def copies(self) -> set[int]:
        """Return the blocks that were not entered, but whose statements were executed in other blocks."""
        executed = {each for index in self._entered for each in self._statements[index]}
        found, run = set[int](), list[int]()
        for index in range(len(self._blocks) + 1):
            if index < len(self._blocks) and index not in self._entered:
                run.append(index)
                continue
            statements = {each for number in run for each in self._statements[number]}
            if statements and statements <= executed:
                found.update(run)
            run = []
        return found

    def has_several_turns(self, first: int, last: int) -> bool:
        """Return whether several turns of a loop of these blocks were executed, if it has copies outside of them.

        One copy at least is a single turn. Then more of the loop's statements were executed than this copy has.
        """
        inner = {
            number
            for index in range(first, last)
            for target in self._blocks[index].successors
            if first < target <= index
            for number in range(target, index + 1)
        }
        body = {each for index in range(first, last + 1) if index not in inner for each in self._statements[index]}
        copies = [*self._statements[:first], *self._statements[last + 1 :]]
        executed = [self._statements[index] for index in self._entered - inner]
        return any(
            0 < copy[each] < sum(one[each] for one in executed) for copy in copies for each in body & copy.keys()
        )


def _statements(block: Block) -> Counter[Statement]:
    """Return a block's instructions that every copy of a statement has."""
    return Counter(
        (at.mnemonic, at.source, at.line, at.column, at.callers) for at in block.instructions if not _is_merged(at)
    )


def _is_merged(at: Instruction) -> bool:
    what = effect(at)
    return reads_parameter(at) or (what.kind in _MERGED and not what.members and not is_control(at))
