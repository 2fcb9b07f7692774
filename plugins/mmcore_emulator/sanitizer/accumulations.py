"""The stores that add to an element of memory in place, such as those of ``C[i] += a * b`` in a loop.

The compiler may keep the sum in a register and store it in every step. It then never reads what it has stored.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from mmcore_emulator.isa.table import destinations, effect, reads
from mmcore_emulator.ptx.instructions import Block, Instruction, Register


def accumulating_stores(blocks: Sequence[Block]) -> frozenset[int]:
    """Return the stores, by identity, whose line of the source computes a value from one that it has stored.

    They include the line's first store, whose value the compiler may compute without the constant stored before.
    """
    instructions = [at for block in blocks for at in block.instructions]
    stores = [at for at in instructions if effect(at).kind == "store" and at.line]
    stored, definitions = defaultdict[object, set[Register]](set), defaultdict[Register, list[Instruction]](list)
    for at in stores:
        stored[_line(at)].update(_values(at))
    for at in instructions:
        for register in destinations(at):
            definitions[register].append(at)
    lines = {_line(at) for at in stores if not stored[_line(at)].isdisjoint(_sources(at, definitions))}
    return frozenset(id(at) for at in stores if _line(at) in lines)


def _sources(store: Instruction, definitions: Mapping[Register, list[Instruction]]) -> set[Register]:
    """Return the registers from which the line of a store, and moves elsewhere, compute its value."""
    sources, rest, seen = set[Register](), [*_values(store)], set[int]()
    while rest:
        for at in definitions.get(rest.pop(), ()):
            if id(at) not in seen and (_line(at) == _line(store) or effect(at).kind == "move"):
                seen.add(id(at))
                fresh = {*reads(at)} - sources
                rest += fresh
                sources |= fresh
    return sources


def _values(store: Instruction) -> Iterator[Register]:
    """Yield the registers that a store writes to memory."""
    for operand in store.operands[1:]:
        for part in operand if isinstance(operand, tuple) else (operand,):
            if isinstance(part, Register):
                yield part


def _line(at: Instruction) -> object:
    """Return the line of the kernel that an instruction belongs to: the line of the call for an inlined function."""
    return at.callers[-1] if at.callers else (at.source, at.line)
