"""Watching a launch: who wants to know is told of every basic block, access, barrier and violation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from mmcore_emulator.floats import Values
from mmcore_emulator.lanes import Batch, Mask
from mmcore_emulator.memory import Space
from mmcore_emulator.ptx import Instruction
from mmcore_emulator.step import Step


@dataclass(slots=True)
class Access:
    """One instruction's access to one memory by the lanes of a batch.

    Attributes:
        kind: "load", "store" or "atomic".
        space: "global", "const", "shared", "local" or "param".
        memory: that memory.
        address: byte address of each lane (uint64), as lanes; it means nothing in lanes that do not take part.
        nbytes: bytes that each lane moves, a vector's elements together.
        mask: the lanes that take part; None for all.
        at: the instruction.
    """

    kind: str
    space: str
    memory: Space
    address: Values
    nbytes: int
    mask: Mask | None
    at: Instruction


class Observer:
    """Is told what happens, before it happens; overrides what it wants to know.

    Attributes:
        ignores: memories of whose accesses it need not be told.
    """

    ignores: frozenset[str] = frozenset()

    def wants(self, batch: Batch) -> bool:
        """Whether it is to be told of a batch of blocks at all."""
        return True

    def begin(self, batch: Batch) -> None:
        """A batch of blocks begins."""

    def enter(self, step: Step, mask: Mask | None) -> None:
        """These lanes (None for all) execute a basic block."""

    def guarded(self, at: Instruction, mask: Mask | None) -> None:
        """Of the lanes that execute its block, only these execute a guarded instruction."""

    def access(self, access: Access) -> None:
        """Lanes access memory; the access may be a violation, of which :meth:`violation` is told."""

    def synchronise(self, step: Step, mask: Mask | None) -> None:
        """These lanes leave the barrier of the block that ends a basic block."""

    def meet(self, lanes: Values, named: Values) -> None:
        """These lanes leave barriers of their warps, at which each has named a mask of lanes."""

    def violation(
        self,
        kind: str,
        array: str | None,
        at: Instruction | None,
        lanes: Values,
        text: Callable[[tuple[int, ...]], str],
    ) -> None:
        """Lanes did what they must not do; ``text`` says what one of them did, by its index along the six axes."""

    def end(self) -> None:
        """The batch has ended."""

    def ran(self, batch: Batch, thread_instructions: int) -> None:
        """A batch, wanted or not, has executed so many instructions, counted once per thread."""
