"""A translated basic block, and what it needs of the machine that runs it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np

from mmcore_emulator.floats import Values
from mmcore_emulator.flow import Block
from mmcore_emulator.lanes import Mask
from mmcore_emulator.ptx import Instruction
from mmcore_emulator.reductions import Reduction

# Generic addresses of shared and local memory; device arrays lie far above.
SHARED_WINDOW = 1 << 32
LOCAL_WINDOW = 2 << 32


class Ports(Protocol):
    """What a translated block needs of the machine that runs it."""

    def load(self, space: str, address: Values, dtype: np.dtype[Any], mask: Mask | None, at: Instruction) -> Values:
        """What lies at the lanes' addresses."""
        ...

    def store(
        self, space: str, address: Values, value: Values, dtype: np.dtype[Any], mask: Mask | None, at: Instruction
    ) -> None:
        """Write to the lanes' addresses."""
        ...

    def accumulate(
        self, space: str, address: Values, value: Values, dtype: np.dtype[Any], mask: Mask | None, at: Instruction
    ) -> None:
        """Add to the lanes' addresses, one lane after the other."""
        ...

    def load_vector(
        self, space: str, address: Values, dtype: np.dtype[Any], count: int, mask: Mask | None, at: Instruction
    ) -> list[Values]:
        """The ``count`` elements from each address on, in one access that must be aligned to all of them."""
        ...

    def store_vector(
        self,
        space: str,
        address: Values,
        values: Sequence[Values],
        dtype: np.dtype[Any],
        mask: Mask | None,
        at: Instruction,
    ) -> None:
        """Write elements from each address on, in one access that must be aligned to all of them."""
        ...

    def guarded(self, mask: Mask | None, at: Instruction) -> None:
        """Only ``mask`` executes an instruction that the other lanes of its block step over."""
        ...

    def special(self, name: str) -> Values:
        """One of the SPECIAL_REGISTERS."""
        ...

    def narrow(self, mask: Mask | None, predicate: Values) -> Mask | None:
        """The lanes of ``mask`` whose predicate is true."""
        ...

    def merge(self, mask: Mask, new: Values, old: Values) -> Values:
        """``new`` in the lanes of ``mask``, ``old`` elsewhere."""
        ...


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
