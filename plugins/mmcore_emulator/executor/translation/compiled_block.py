"""Translated basic blocks and their registers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias

from mmcore_emulator.machine.barriers import BarrierKind, Reduction
from mmcore_emulator.machine.lanes import Mask
from mmcore_emulator.machine.machine import Machine
from mmcore_emulator.numerics.types import Values
from mmcore_emulator.ptx.instructions import Block, Instruction


class Registers(list[Values]):
    """The values of a function's registers, by number."""

    def __init__(self, values: Iterable[Values], shadows: Iterable[Values | None] = ()) -> None:
        super().__init__(values)
        self.shadows = [*shadows]  # their shadow values, if there is a shadow domain

    def copy(self) -> Registers:
        """Return registers with the same values."""
        return Registers(self, self.shadows)


Translated: TypeAlias = Callable[[Registers, Mask | None, bool, Machine], Any]


@dataclass(frozen=True)
class CompiledBlock:
    """A basic block, ready to run."""

    # ``run(registers, mask, keep, machine)``; ``keep`` preserves register values that other lanes still need. It
    # returns the predicate of the branch at the block's end, the mask that a warp's barrier names, or the
    # :class:`~mmcore_emulator.machine.barriers.Arrival` at a block's barrier.
    run: Translated
    block: Block  # the original block
    instructions: int  # number of instructions that each lane executes in it
    weight: int  # the same number, with an instruction of tensor cores counted as many
    barrier: BarrierKind | None = None  # the barrier of a block of threads at its end, or None
    reduction: Reduction | None = None  # the reduction at that barrier, or None
    # Its first instruction that polls a value which other threads may write, or None.
    polling_at: Instruction | None = None
    live_slots: tuple[int, ...] = ()  # numbers of the registers whose values on entry may still be read
