"""The order in which blocks take tiles, as far as a kernel's instructions show it."""

from __future__ import annotations

from collections.abc import Sequence

from mmcore_emulator.isa.table import destinations, reads
from mmcore_emulator.ptx.instructions import Block, Instruction, names

_DIVIDES = frozenset(("div", "rem", "shr", "and", "bfe", "lop3"))


def plain_order(blocks: Sequence[Block]) -> Instruction | None:
    """Return where a kernel first reads a block's index, if it divides no index: tiles are taken by their numbers."""
    instructions = [at for block in blocks for at in block.instructions]
    first = next((at for at in instructions if _reads_index(at)), None)
    numbers = {register for at in instructions if _reads_index(at) for register in destinations(at)}
    while True:
        using = [at for at in instructions if numbers & {*reads(at)}]
        if any(at.opcode[0] in _DIVIDES or "hi" in at.opcode for at in using):
            return None
        grown = {to for at in using if at.opcode[0] != "ld" for to in destinations(at)}
        if grown <= numbers:
            return first
        numbers |= grown


def _reads_index(at: Instruction) -> bool:
    return any(name.startswith("%ctaid") for name in names(at))
