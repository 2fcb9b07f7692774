"""Undefined sums of products of matrices in registers, and the fragments of them that are stored."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mmcore_emulator.executor.translation.shadow_code import ExecuteRule, Operands, Shadow, Shadows
from mmcore_emulator.machine.lanes import Mask
from mmcore_emulator.machine.machine import Execution, Machine
from mmcore_emulator.numerics.types import Values
from mmcore_emulator.ptx.instructions import Instruction
from mmcore_emulator.sanitizer.undefined_memory import ADDS, UndefinedMemory, all_bits, known


class UndefinedSums(UndefinedMemory):
    """The undefined bytes of memory, and the products that add to registers which were never set."""

    def fragment_store(self, space: str) -> ExecuteRule:
        """Return the rule of an instruction that stores a fragment; in shared memory, they are not followed."""

        def stored(execution: Execution, operands: Operands, shadows: Shadows, results: object) -> Sequence[Shadow]:
            machine, mask, at = execution
            for shadow, value in zip(shadows[1], operands[1], strict=True):
                if shadow is not None:
                    for name, memory, places, lanes in machine.memory.resolved(space, operands[0][0], mask):
                        if name == "global":
                            self._report(machine, lanes, at, memory, places, shadow, value)
            return ()

        return stored

    def summed(self, sums: Sequence[int]) -> ExecuteRule:
        """Return the rule of a product of matrices that adds to sums in registers, as :attr:`Execute.sums` says."""

        def added(
            execution: Execution, operands: Operands, shadows: Shadows, results: Sequence[Values]
        ) -> Sequence[Shadow]:
            machine, mask, at = execution
            held = shadows[sums[0]]
            if all(shadow is None for shadow in held):
                return [None] * len(results)
            adds = operands[sums[1]][0] if len(sums) > 1 else np.ones((1,) * 6, np.bool_)
            undefined = [None if shadow is None else known(np.where(adds, shadow, 0)) for shadow in held]
            if len(held) != len(results):
                flags = np.logical_or.reduce([shadow != 0 for shadow in undefined if shadow is not None])
                undefined = [known(all_bits(flags, result.dtype)) for result in results]
            self._note_sums(machine, at, [shadow for shadow in undefined if shadow is not None], mask)
            return undefined

        return added

    def _note_sums(self, machine: Machine, at: Instruction, undefined: Sequence[Values], mask: Mask | None) -> None:
        """Note that lanes add to undefined sums, unless an earlier product has; then that is their origin."""
        state = self._state(machine)
        for shadow in undefined:
            if state.latest is not None:
                by_product = np.array([False, *(state.reads(origin) == ADDS for origin in state.origins)])
                shadow = np.where(by_product[state.latest], 0, shadow)
            self.note(machine, at, shadow, mask, marked=False)
