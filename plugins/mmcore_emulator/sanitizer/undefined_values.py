"""Values that were never set: bits of registers and memory with arbitrary contents.

Each register and each byte of memory has a mask of its undefined bits beside it. An undefined value may be read and
copied; it is a hazard where the output, or control flow, depends on it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from mmcore_emulator.executor.translation.shadow_code import ComputeRule, ExecuteRule, Operands, Shadow, Shadows
from mmcore_emulator.isa.entries import Compute, Execute
from mmcore_emulator.machine.lanes import Mask
from mmcore_emulator.machine.limits import WARP
from mmcore_emulator.machine.machine import Execution, Machine
from mmcore_emulator.machine.memory.arrays import Array
from mmcore_emulator.numerics.types import NUMPY, DType, Values
from mmcore_emulator.ptx.instructions import Instruction
from mmcore_emulator.sanitizer.undefined_memory import all_bits, bits_of, known, resized
from mmcore_emulator.sanitizer.undefined_sums import UndefinedSums


class UndefinedValues:
    """The shadow domain of values that were never set.

    ``outputs`` returns True for an output array: storing an undefined value there is a hazard. ``marked`` is true if
    the host has filled memory without data with the pattern of memory that was never written.
    """

    def __init__(self, outputs: Callable[[Array], bool] = lambda array: True, *, marked: bool = False) -> None:
        self._memory = UndefinedSums(outputs, marked=marked)

    def unset(self, dtype: DType) -> Shadow:
        return None if dtype.itemsize > 8 else all_bits(np.ones((1,) * 6, np.bool_), dtype)

    def merge(self, lanes: Values, new: Shadow, old: Shadow) -> Shadow:
        if new is None and old is None:
            return None
        dtype = (old if new is None else new).dtype
        return known(np.where(lanes, resized(new, dtype), resized(old, dtype)))

    def resize(self, shadow: Shadow, dtype: DType) -> Shadow:
        if shadow is None or shadow.dtype == bits_of(dtype):
            return shadow
        if dtype.kind == "b" or dtype.itemsize > 8:
            return None
        if dtype.kind == "i" and shadow.dtype.kind == "u":
            shadow = shadow.view(np.dtype(f"i{shadow.dtype.itemsize}")).astype(dtype)
        return known(resized(shadow, dtype))

    def pack(self, shadows: Sequence[Shadow], dtype: DType) -> Shadow:
        if dtype.itemsize > 8:
            return None
        width, whole = 8 * dtype.itemsize // len(shadows), resized(None, dtype)
        for number, shadow in enumerate(shadows):
            if shadow is not None:
                whole = whole | resized(shadow, dtype) << whole.dtype.type(number * width)
        return known(whole)

    def unpack(self, shadow: Shadow, count: int) -> Sequence[Shadow]:
        if shadow is None:
            return [None] * count
        size = shadow.dtype.itemsize // count
        parts = (shadow >> shadow.dtype.type(8 * size * number) for number in range(count))
        return [known(part.astype(f"u{size}")) for part in parts]

    def compute(self, semantics: Compute, at: Instruction) -> ComputeRule:
        result = NUMPY[semantics.result]
        if result.itemsize > 8:
            return lambda values, shadows: None

        def whole(values: Sequence[Values], shadows: Sequence[Shadow]) -> Shadow:
            flags = np.False_
            for shadow in shadows:
                flags = flags | (shadow != 0) if shadow is not None else flags
            return known(all_bits(np.asarray(flags), result))

        def of_bits(values: Sequence[Values], shadows: Sequence[Shadow]) -> Shadow:
            undefined = resized(None, result)
            for shadow in shadows:
                undefined = undefined | resized(shadow, result)
            for value in values if semantics.rule in ("and", "or") else ():
                # A defined 0 decides "and", a defined 1 "or".
                bits: Values = value if result.kind == "b" else value.view(bits_of(result))
                shadow = resized(shadows[[id(each) for each in values].index(id(value))], result)
                undefined = undefined & ((bits if semantics.rule == "and" else ~bits) | shadow)
            return known(undefined)

        def shifted(values: Sequence[Values], shadows: Sequence[Shadow]) -> Shadow:
            if shadows[0] is None or shadows[1] is not None:
                return whole(values, shadows)
            moved = semantics.compute(resized(shadows[0], result).view(NUMPY[semantics.sources[0]]), values[1])
            return known(np.asarray(moved).view(bits_of(result)))

        def selected(values: Sequence[Values], shadows: Sequence[Shadow]) -> Shadow:
            chosen = np.where(values[2], resized(shadows[0], result), resized(shadows[1], result))
            if shadows[2] is not None:
                differs = shadows[2] & (values[0] != values[1])
                chosen = chosen | all_bits(differs, result)
            return known(chosen)

        rules = {"select": selected, "shift": shifted, **dict.fromkeys(("and", "or", "xor", "not"), of_bits)}
        return rules.get(semantics.rule, whole)

    def execute(self, semantics: Execute) -> ExecuteRule | None:
        memory = semantics.memory
        if memory is not None:
            return self._memory.load(memory) if memory.kind == "load" else self._memory.store(memory)
        if semantics.sums:
            return self._memory.summed(semantics.sums)
        if semantics.stores:
            return self._memory.fragment_store(semantics.stores)
        if semantics.shuffle is None:
            return None
        shuffle = semantics.shuffle

        def shuffled(execution: Execution, operands: Operands, shadows: Shadows, results: object) -> Sequence[Shadow]:
            machine, mask, at = execution
            by = [each[0] for each in operands[1:]]
            given = None if shadows[0][0] is None else machine.warps.together(shuffle, [shadows[0][0], *by], mask)[0]
            if mask is None and not machine.batch.block.size % WARP:
                return [given if given is None else known(given), None]
            # An undefined value comes from a lane that takes no part.
            zeros = np.zeros((1,) * 6, np.uint32)
            absent = machine.warps.together(shuffle, [zeros, *by], mask)[0] != 0
            if absent.any():
                missing = all_bits(absent, zeros.dtype)
                # The machine marks it as it marks the host's memory without data.
                self._memory.note(machine, at, missing, mask, marked=True)
                given = missing if given is None else np.where(absent, missing, given)
            return [given if given is None else known(given), None]

        return shuffled

    def branch(self, machine: Machine, mask: Mask | None, at: Instruction, shadow: Shadow) -> None:
        self._memory.branch(machine, mask, at, shadow)
