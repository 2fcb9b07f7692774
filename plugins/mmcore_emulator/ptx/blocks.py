"""Basic blocks of a function."""

from __future__ import annotations

from dataclasses import dataclass

from mmcore_emulator.ptx.instructions import Instruction, Register

EXIT = -1
"""The number of the function's end, used in place of a block."""


@dataclass
class Block:
    """A basic block: straight-line code."""

    body: list[Instruction]  # its instructions, without the one that ends it
    end: Instruction | None  # the branch, return or barrier that ends it; None where control falls through
    taken: int | None  # number of the block that the ending branch leads to; EXIT for a return, None for none
    following: int  # number of the block entered when the branch is not taken, or after the barrier; EXIT at the end
    targets: tuple[int, ...] = ()  # numbers of the blocks that ``brx.idx`` leads to, by index
    barrier: str = ""  # threads that wait at its end: those of a "warp", a "block" or a "cluster"; "" for no barrier
    # True if a warp's threads meet at its end for the next instruction, without a barrier instruction.
    gathers: bool = False
    orders: bool = False  # true if its barrier orders accesses to memory
    is_whole: bool = False  # true if it ends before an instruction that all threads of a warp execute together
    writes: bool = False  # true if it writes to memory, or publishes something to other threads
    live_in: frozenset[Register] = frozenset()  # registers whose value on entry may still be read
    live_out: frozenset[Register] = frozenset()  # registers whose value on leaving may still be read
    defines: frozenset[Register] = frozenset()  # registers that the body writes

    @property
    def instructions(self) -> list[Instruction]:
        """The body, followed by the instruction that ends it."""
        return [*self.body, *([self.end] if self.end and not self.gathers else [])]

    @property
    def successors(self) -> tuple[int, ...]:
        """Numbers of the possible next blocks, without EXIT."""
        conditional = self.taken is None or (self.end is not None and self.end.guard is not None)
        targets = ((self.taken,) if self.taken is not None else ()) + ((self.following,) if conditional else ())
        targets = self.targets or targets
        return tuple(target for target in targets if target != EXIT)
