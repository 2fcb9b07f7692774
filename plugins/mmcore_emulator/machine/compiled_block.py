"""A translated basic block, and what it needs of the machine that runs it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from mmcore_emulator.executor.control_flow import Block
from mmcore_emulator.isa.barriers import BarrierKind, Reduction
from mmcore_emulator.machine.lanes import Mask
from mmcore_emulator.numerics.floats import Values
from mmcore_emulator.ptx.instructions import Instruction

# Generic addresses of shared and local memory; device arrays lie far above.
SHARED_WINDOW = 1 << 32
LOCAL_WINDOW = 2 << 32
PARAMETER_WINDOW = 3 << 32
# Addresses in shared memory of another block of the cluster have its rank, and one more, in their upper bits.
RANK_SHIFT = 27
RANK_BEGIN = 1 << RANK_SHIFT
MOST_RANK = SHARED_WINDOW // RANK_BEGIN - 2
"""What stands in an address for every rank from there on, which no cluster has."""


Ports: TypeAlias = Any
"""The :class:`~mmcore_emulator.executor.batch_memory.Ports` of the batch that translated code runs in."""

Registers: TypeAlias = list[Values]
Translated: TypeAlias = Callable[[Registers, Mask | None, bool, Ports], Any]


@dataclass(frozen=True)
class Step:
    """A basic block, ready to run.

    Attributes:
        run: ``run(registers, mask, keep, ports)``; ``keep`` preserves what other lanes still need in registers. It
            returns the predicate that the branch at the block's end asks for, the mask that a warp's barrier names, or
            the :class:`~mmcore_emulator.isa.barriers.Arrival` at a block's.
        block: the block it was made from.
        instructions: how many instructions each lane executes in it.
        barrier: the barrier of the block of threads that ends it, if one does.
        reduction: what threads find out together there, if anything.
        polling_at: its first instruction that asks for what other threads may have written meanwhile, if one does.
        live_slots: numbers of the registers whose values on entry may still be read.
    """

    run: Translated
    block: Block
    instructions: int
    barrier: BarrierKind | None = None
    reduction: Reduction | None = None
    polling_at: Instruction | None = None
    live_slots: tuple[int, ...] = ()
