"""Basic blocks of a function."""

from __future__ import annotations

from dataclasses import dataclass

from mmcore_emulator.ptx.instructions import Instruction, Register

EXIT = -1
"""The number of the function's end, used in place of a block."""


@dataclass
class Block:
    """A basic block: straight-line code.

    Attributes:
        body: its instructions, without the one that ends it.
        end: the branch, return or barrier that ends it; None where control falls through.
        taken: number of the block that the ending branch leads to; EXIT for a return, None for none.
        following: number of the block entered when the branch is not taken, or after the barrier; EXIT at the end.
        targets: numbers of the blocks that ``brx.idx`` leads to, by index.
        barrier: threads that wait at its end: those of a "warp", a "block" or a "cluster"; "" for no barrier.
        gathers: true if a warp's threads meet at its end for the next instruction, without a barrier instruction.
        orders: true if its barrier orders accesses to memory.
        is_whole: true if it ends before an instruction that all threads of a warp execute together.
        writes: true if it writes to memory, or publishes something to other threads.
        live_in: registers whose value on entry may still be read.
        live_out: registers whose value on leaving may still be read.
        defines: registers that the body writes.
    """

    body: list[Instruction]
    end: Instruction | None
    taken: int | None
    following: int
    targets: tuple[int, ...] = ()
    barrier: str = ""
    gathers: bool = False
    orders: bool = False
    is_whole: bool = False
    writes: bool = False
    live_in: frozenset[Register] = frozenset()
    live_out: frozenset[Register] = frozenset()
    defines: frozenset[Register] = frozenset()

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
