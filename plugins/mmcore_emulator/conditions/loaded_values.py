"""The dependence of a function's predicates and addresses on values in memory, from its code alone."""

from __future__ import annotations

from mmcore_emulator.isa.entries import Execute
from mmcore_emulator.isa.table import decode, destinations, effect, reads
from mmcore_emulator.ptx.instructions import Address, Function, Instruction, Register

_LOADS = ("load", "matrix move", "fragment move", "atomic", "warpgroup")


def depends_on_loaded_values(function: Function) -> bool:
    """Return whether a predicate or an address of a function may depend on a value that it loads from memory.

    The order of instructions is ignored, so that the answer may be True for a function that depends on none.
    """
    loaded = {register for each in function.body if _loads(each) for register in destinations(each)}
    before = -1
    while before < (before := len(loaded)):
        for each in function.body:
            if not loaded.isdisjoint(reads(each)):
                loaded.update(destinations(each))
    return any(register.type == "pred" for register in loaded) or any(
        isinstance(operand, Address) and isinstance(operand.base, Register) and operand.base in loaded
        for each in function.body
        for operand in each.operands
    )


def _loads(instruction: Instruction) -> bool:
    semantics = decode(instruction)
    is_parameter = isinstance(semantics, Execute) and semantics.memory is not None and semantics.memory.space == "param"
    return effect(instruction).kind in _LOADS and not is_parameter
