"""Shadow domains: a second value that translated code computes beside each register and memory element."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias

import numpy as np

from mmcore_emulator.isa.entries import Compute, Execute
from mmcore_emulator.machine.lanes import Mask
from mmcore_emulator.machine.machine import Machine
from mmcore_emulator.numerics.floats import Values
from mmcore_emulator.ptx.instructions import Instruction

Shadow: TypeAlias = Values | None
"""The second value of a register, as lanes; None for the default of most registers."""
Operands: TypeAlias = Sequence[Sequence[Values]]
Shadows: TypeAlias = Sequence[Sequence[Shadow]]
ComputeRule: TypeAlias = Callable[[Sequence[Values], Sequence[Shadow]], Shadow]
"""A map from source values and their shadows, not all None, to the shadow of every result."""
ExecuteRule: TypeAlias = Callable[
    [Machine, Mask | None, Instruction, Operands, Shadows, Sequence[Values]], Sequence[Shadow]
]
"""A map from an instruction's operands on the machine, their shadows and its results, to the results' shadows."""


class ShadowDomain(Protocol):
    """The meaning of the second values, chosen when a function is translated; without a domain there are none."""

    def unset(self, dtype: np.dtype[np.generic]) -> Shadow:
        """Return the shadow of a register of that type that was never written to."""

    def compute(self, semantics: Compute) -> ComputeRule:
        """Return the rule of an instruction that computes from registers alone."""

    def execute(self, semantics: Execute) -> ExecuteRule | None:
        """Return the rule of an instruction on the machine; None if its results have no shadow."""

    def resize(self, shadow: Shadow, dtype: np.dtype[np.generic]) -> Shadow:
        """Return the shadow of a value that is cut or extended to a type."""

    def pack(self, shadows: Sequence[Shadow], dtype: np.dtype[np.generic]) -> Shadow:
        """Return the shadow of a register that is made of parts, the first in its lowest bits."""

    def unpack(self, shadow: Shadow, count: int) -> Sequence[Shadow]:
        """Return the shadows of the parts of a register."""

    def merge(self, lanes: Values, new: Shadow, old: Shadow) -> Shadow:
        """Return ``new`` in some lanes, ``old`` elsewhere."""

    def branch(self, machine: Machine, mask: Mask | None, at: Instruction, shadow: Shadow) -> None:
        """Note that control flow, or the execution of an instruction, depends on a predicate."""
