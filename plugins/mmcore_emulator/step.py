"""A translated basic block, and what it needs of the machine that runs it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from mmcore_emulator.barriers import Reduction
from mmcore_emulator.control_flow import Block
from mmcore_emulator.floats import Values
from mmcore_emulator.lanes import Mask

# Generic addresses of shared and local memory; device arrays lie far above.
SHARED_WINDOW = 1 << 32
LOCAL_WINDOW = 2 << 32


Ports: TypeAlias = Any
"""The :class:`~mmcore_emulator.batch_memory.Ports` of the batch that translated code runs in."""

Registers: TypeAlias = list[Values]
Translated: TypeAlias = Callable[[Registers, Mask | None, bool, Ports], "Values | None"]


@dataclass(frozen=True)
class Step:
    """A basic block, ready to run.

    Attributes:
        run: ``run(registers, mask, keep, ports)``; ``keep`` preserves what other lanes still need in registers. It
            returns the predicate that the branch or barrier at the block's end asks for, or the mask that a warp's
            barrier names.
        block: the block it was made from.
        instructions: how many instructions each lane executes in it.
        reduction: what threads find out together at the barrier that ends it, if anything.
    """

    run: Translated
    block: Block
    instructions: int
    reduction: Reduction | None = None
