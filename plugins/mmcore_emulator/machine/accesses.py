"""Accesses to memory, bulk copies and violations, as observers see them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mmcore_emulator.machine.asynchronous.tensor_maps import TensorLayout
from mmcore_emulator.machine.lanes import Mask
from mmcore_emulator.machine.memory.arrays import Space
from mmcore_emulator.numerics.types import Integers, Values
from mmcore_emulator.ptx.instructions import Instruction


@dataclass(slots=True)
class Access:
    """One instruction's access to one memory by the lanes of a batch."""

    kind: str  # "load", "store", "atomic"; "copy" and "fetch" for writes and reads of asynchronous instructions
    space: str  # "global", "const", "shared", "local" or "param"
    memory: Space  # the accessed memory
    address: Values  # byte address of each lane (uint64), as lanes; without meaning in lanes outside ``mask``
    nbytes: int  # bytes that each lane moves, all elements of a vector together
    mask: Mask | None  # the lanes that execute the access; None for all
    at: Instruction  # the instruction
    sent: BulkTransfer | None = None  # for a bulk copy that arrives in global memory: the transfer as issued


@dataclass(slots=True, eq=False)
class BulkTransfer:
    """The bulk copies of one instruction as issued, one for each issuing lane."""

    action: str  # "load" into shared memory, or "store" from it
    at: Instruction  # the instruction
    memory: Space  # global memory
    lanes: Integers  # [copies, 6] index along the six axes of the issuing lanes
    shared: NDArray[np.uint64]  # [copies] address in shared memory
    begin: Integers  # [copies, runs] address in global memory of each run of neighbouring bytes
    nbytes: Integers  # [copies, runs] bytes of each run; 0 for parts outside a tensor
    delivered: int  # bytes that arrive, with zeros for parts outside the tensor, at all blocks of a multicast
    layout: TensorLayout | None  # layout of the tensor that boxes are copied from or to; None for plain bytes


@dataclass(frozen=True)
class LaneViolation:
    """A violation by some lanes of a batch in one instruction."""

    kind: str  # kind of the :class:`~mmcore_emulator.machine.violations.Violation`
    array: str | None  # its array
    at: Instruction | None
    lanes: Values
    text: Callable[[tuple[int, ...]], str]  # describes what one lane does, by its index along the six axes
    other: Instruction | None = None  # another instruction involved; each of its lines is a separate violation


def always(text: str) -> Callable[[tuple[int, ...]], str]:
    """Return a function that returns ``text`` for every lane."""
    return lambda _: text
