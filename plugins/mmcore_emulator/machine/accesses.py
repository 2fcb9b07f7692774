"""Accesses to memory, bulk copies and violations, as observers see them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mmcore_emulator.machine.asynchronous.tensor_maps import TensorLayout
from mmcore_emulator.machine.lanes import Mask
from mmcore_emulator.machine.memory.arrays import Space
from mmcore_emulator.numerics.floats import Values
from mmcore_emulator.ptx.instructions import Instruction


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

    kind: str  # as of a Violation
    array: str | None  # likewise
    at: Instruction | None
    lanes: Values
    text: Callable[[tuple[int, ...]], str]  # what one of them does, by its index along the six axes
    other: Instruction | None = None  # an instruction that has part in it; each line of these is a violation of its own


def always(text: str) -> Callable[[tuple[int, ...]], str]:
    """That text, whichever lane it is about."""
    return lambda _: text
