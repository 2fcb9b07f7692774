"""Watching a launch: who wants to know is told of every basic block, access, barrier and violation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mmcore_emulator.machine.asynchronous.events import Event
from mmcore_emulator.machine.compiled_block import Step
from mmcore_emulator.machine.lanes import Batch, Mask
from mmcore_emulator.machine.memory import Space
from mmcore_emulator.numerics.floats import Values
from mmcore_emulator.ptx.instructions import Instruction

if TYPE_CHECKING:
    from mmcore_emulator.machine.asynchronous.tensor_maps import TensorLayout

_NONE: Values = np.zeros((1,) * 6, np.uint32)


@dataclass(slots=True)
class Access:
    """One instruction's access to one memory by the lanes of a batch."""

    kind: str  # "load", "store", "atomic"; "copy" and "fetch" of what asynchronous instructions write and read
    space: str  # "global", "const", "shared", "local" or "param"
    memory: Space  # that memory
    address: Values  # byte address of each lane (uint64), as lanes; it means nothing in lanes that do not take part
    nbytes: int  # bytes that each lane moves, a vector's elements together
    mask: Mask | None  # the lanes that take part; None for all
    at: Instruction  # the instruction
    sent: BulkTransfer | None = None  # of a bulk copy that lands in global memory, what was told when it was sent


@dataclass(slots=True, eq=False)
class BulkTransfer:
    """One instruction's bulk copies, one for each lane that sends one, as they are sent."""

    action: str  # "load" into shared memory, or "store" from it
    at: Instruction  # the instruction
    memory: Space  # global memory
    lanes: NDArray[np.int64]  # [copies, 6] index along the six axes of the lanes that send
    shared: NDArray[np.uint64]  # [copies] address in shared memory
    begin: NDArray[np.int64]  # [copies, runs] address in global memory of each run of neighbouring bytes
    nbytes: NDArray[np.int64]  # [copies, runs] bytes of each run; none of what lies outside a tensor
    delivered: int  # bytes that arrive, with the zeros for what lies outside, at every block that a multicast goes to
    layout: TensorLayout | None  # of the tensor that boxes are copied of; None of plain bytes


@dataclass(frozen=True)
class LaneViolation:
    """What some lanes of a batch do wrong in one instruction."""

    kind: str  # as of a mmcore.devices.violations.Violation
    array: str | None  # likewise
    at: Instruction | None
    lanes: Values
    text: Callable[[tuple[int, ...]], str]  # what one of them does, by its index along the six axes
    other: Instruction | None = None  # an instruction that has part in it; each line of these is a violation of its own


def always(text: str) -> Callable[[tuple[int, ...]], str]:
    """That text, whichever lane it is about."""
    return lambda _: text


class Observer:
    """Is told what happens, before it happens; overrides what it wants to know.

    Attributes:
        ignores: memories of whose accesses it need not be told.
    """

    ignores: frozenset[str] = frozenset()

    def begin(self, batch: Batch) -> Observer | None:
        """Who is to be told of a batch of blocks, which may run by turns with others; None for nobody."""
        return self

    def enter(self, step: Step, mask: Mask | None) -> None:
        """These lanes (None for all) execute a basic block."""

    def guarded(self, at: Instruction, mask: Mask | None) -> None:
        """Of the lanes that execute its block, only these execute a guarded instruction."""

    def access(self, access: Access) -> None:
        """Lanes access memory; the access may be a violation, of which :meth:`violation` is told."""

    def copy(self, read: Access, written: Access) -> None:
        """Lanes send asynchronous copies (``cp.async``) on their way.

        Of what these do, :meth:`access` is told as well: of loads now, of stores when they land.

        Args:
            read: global memory, by the lanes that do not only write zeros.
            written: shared memory.
        """

    def bulk_copy(self, transfer: BulkTransfer) -> None:
        """Lanes send bulk copies on their way; :meth:`access` is told of what they write when they land."""

    def synchronise(self, left: Sequence[tuple[Step, Mask | None]], number: Values, count: Values) -> None:
        """Lanes leave a barrier of their blocks.

        Args:
            left: the basic blocks that end at it, and the lanes that leave it there; they have met.
            number: the barrier's, as lanes.
            count: how many threads it waited for, as lanes; 0 for all of the block.
        """

    def arrive(self, number: Values, mask: Mask | None) -> None:
        """These lanes have arrived at a barrier of that number, and do not wait there."""

    def fence(self, scope: str, mask: Mask | None) -> None:
        """These lanes order what they have accessed before what they will, as seen from a "cta" or the "gpu"."""

    def meet(self, lanes: Values, named: Values) -> None:
        """These lanes leave barriers of their warps, at which each has named a mask of lanes."""

    def meet_cluster(self, left: Sequence[tuple[Step, Mask | None]], relaxed: Values) -> None:
        """Lanes leave barriers of their clusters, and with them one of their blocks.

        Args:
            left: the barriers, each with the lanes that leave it.
            relaxed: the lanes that have come without a release of what they had done.
        """
        self.synchronise(left, _NONE, _NONE)

    def happened(self, event: Event) -> None:
        """An asynchronous instruction has done something."""

    def violation(self, found: LaneViolation) -> None:
        """Lanes did what they must not do."""

    def ran(self, batch: Batch, thread_instructions: int, own: Observer | None) -> None:
        """A batch has ended.

        Args:
            batch: the batch, wanted or not.
            thread_instructions: what it has executed, counted once per thread.
            own: what :meth:`begin` returned.
        """
