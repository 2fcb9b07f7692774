"""Places between two instructions that all threads of a block reach, for the barrier that orders the two."""

from __future__ import annotations

from mmcore_emulator.ptx.instructions import EXIT, Instruction
from mmcore_emulator.sanitizer.loops import Loops


def barrier_between(loops: Loops, earlier: Instruction, later: Instruction) -> Instruction | None:
    """Return the barrier of the whole block between two instructions that every thread passes as often as both."""
    begin, end = (loops.places.get(id(at), (-1, 0))[0] for at in (earlier, later))
    for number in range(begin, end) if begin >= 0 else ():
        block = loops.blocks[number]
        barrier = block.end if block.barrier == "block" and loops.dominates(number, end) else None
        if barrier is not None and _all_reach(loops, number) and _as_often(loops, barrier, begin, end):
            return barrier
    return None


def is_common(loops: Loops, earlier: Instruction, later: Instruction) -> bool:
    """Return True if every thread reaches the place before ``later``, in no loop that ``earlier`` is not in."""
    begin, end = (loops.places.get(id(at), (-1, 0))[0] for at in (earlier, later))
    return begin < 0 or end < 0 or (_all_reach(loops, end) and _as_often(loops, later, begin))


def common_lines(earlier: Instruction, later: Instruction) -> tuple[int, int]:
    """Return the lines of two instructions in the innermost function of the kernel's file that both are in."""
    one, two = ([(at.source, at.line), *at.callers] for at in (earlier, later))
    while min(len(one), len(two)) > 1 and one[-1] == two[-1] and one[-2][0] == two[-2][0] == one[-1][0]:
        one.pop()
        two.pop()
    return one[-1][1], two[-1][1]


def _all_reach(loops: Loops, number: int) -> bool:
    """Return True if every way through the innermost loop around a block of instructions leads through that block.

    Without a loop, every way to an end of the kernel does.
    """
    loop = next(loops.around(loops.blocks[number].instructions[-1]), None)
    if loop is None:
        leads = (EXIT in (block.taken, block.following, *block.targets) for block in loops.blocks)
    else:
        leads = (at in loop.body and loop.header in block.successors for at, block in enumerate(loops.blocks))
    return all(loops.dominates(number, end) for end, ends in enumerate(leads) if ends)


def _as_often(loops: Loops, at: Instruction, *others: int) -> bool:
    """Return True if blocks of instructions are in all loops around an instruction."""
    return all(other in loop.body for loop in loops.around(at) for other in others)
