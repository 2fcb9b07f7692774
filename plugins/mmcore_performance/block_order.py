"""The order in which blocks take tiles, as far as a kernel's instructions show it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from mmcore_emulator.isa.table import destinations, reads
from mmcore_emulator.ptx.instructions import Block, Instruction, Register, names

_DIVIDES = frozenset(("div", "rem", "shr", "and", "bfe", "lop3"))


def plain_order(blocks: Sequence[Block]) -> Instruction | None:
    """Return where a kernel first reads a block's index, if it divides no index: tiles are taken by their numbers."""
    readers = defaultdict[Register, list[Instruction]](list)
    origins: list[Instruction] = []
    for at in (at for block in blocks for at in block.instructions):
        for register in reads(at):
            readers[register].append(at)
        if any(name.startswith("%ctaid") for name in names(at)):
            origins.append(at)
    numbers = dict.fromkeys(register for at in origins for register in destinations(at))
    ahead = [*numbers]
    for number in ahead:
        for at in readers[number]:
            if at.opcode[0] in _DIVIDES or "hi" in at.opcode:
                return None
            if at.opcode[0] != "ld":
                fresh = [register for register in destinations(at) if register not in numbers]
                numbers |= dict.fromkeys(fresh)
                ahead += fresh
    return origins[0] if origins else None
