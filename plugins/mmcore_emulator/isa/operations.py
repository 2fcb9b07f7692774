"""What each PTX instruction that computes does, on numpy arrays of lanes.

An unknown modifier makes an unknown opcode, so nothing is executed with another meaning than its own.
"""

from __future__ import annotations

import functools

from mmcore_emulator.isa.arithmetic.approximations import approximations
from mmcore_emulator.isa.arithmetic.bit_fields import bit_entries, by_table_and_predicate
from mmcore_emulator.isa.arithmetic.comparisons import comparison, selections
from mmcore_emulator.isa.arithmetic.conversions import conversion
from mmcore_emulator.isa.arithmetic.float_operations import float_operation
from mmcore_emulator.isa.arithmetic.integers import carrying, integer_entries
from mmcore_emulator.isa.entries import Operation


@functools.cache
def operation(opcode: tuple[str, ...], results: int = 1) -> Operation | None:
    """The operation of an opcode such as ("fma", "rn", "f32"); None for one that is not known.

    With two results, such as ``%p1|%p2``, it is another operation, or none.
    """
    name, *modifiers = opcode
    found = _table().get(".".join(opcode))
    if found is None and name == "cvt":
        found = conversion(tuple(modifiers))
    elif found is None and name in ("set", "setp"):
        found = comparison(name, tuple(modifiers), results)
    elif found is None:
        found = float_operation(name, tuple(modifiers))
    return found if found and results == 1 + bool(found.also) else None


@functools.cache
def _table() -> dict[str, Operation]:
    entries = (*integer_entries(), *bit_entries())
    exact = {opcode: Operation(compute, sources, result) for opcode, compute, sources, result in entries}
    return {
        **exact,
        **dict(carrying()),
        **dict(selections()),
        **dict(by_table_and_predicate()),
        **dict(approximations()),
    }
