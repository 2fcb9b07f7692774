"""Conflicts between the source registers of an instruction.

Since compute capability 7.0 the registers are in two banks, those of even and of odd numbers. Published measurements
find that each bank of an Ampere GPU delivers 1024 bits a cycle, one register of a warp (arXiv:2503.20481). On Volta a
bank has 64 bits (arXiv:1804.06826), and 16 lanes take two cycles for a multiply-add. So three sources in one bank take
another cycle on all cards. Two may do so with 32 lanes, but no published rule holds for all cases: they are not found.
A register that is kept from the instruction before, which marks it with ``.reuse``, is not read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from mmcore_cuda.machine_code.instructions import Instruction
from mmcore_cuda.machine_code.kinds import kind_of

_REGISTER = re.compile(r"[-~|!]*R(\d+)(\.reuse)?\b")
_PREDICATE = re.compile(r"!?U?P(\d|T)")
_BANKS = 2
_SERVED = 2  # registers of a bank that an instruction reads without a conflict on every card
_WIDE = ("WIDE", "64", "HI")


def bank_conflicts(instructions: Sequence[Instruction]) -> tuple[Instruction, ...]:
    """Return the 32-bit arithmetic instructions that wait a cycle for a register; the given ones are neighbours."""
    return tuple(_conflicting(instructions))


def _conflicting(instructions: Sequence[Instruction]) -> Iterator[Instruction]:
    kept: dict[int, int] = {}
    for instruction in instructions:
        sources = _sources(instruction)
        read = {register for slot, (register, _) in sources.items() if kept.get(slot) != register}
        if any(sum(register % _BANKS == bank for register in read) > _SERVED for bank in range(_BANKS)):
            yield instruction
        kept = {slot: register for slot, (register, reused) in sources.items() if reused}


def _sources(instruction: Instruction) -> dict[int, tuple[int, bool]]:
    """Return the source registers by their positions, each with whether it is kept for the next instruction."""
    if kind_of(instruction) not in ("fma", "integer") or set(_WIDE) & set(instruction.opcode.split(".")):
        return {}
    values = [operand for operand in instruction.operands if not _PREDICATE.fullmatch(operand)]
    if not _PREDICATE.fullmatch(instruction.operands[0] if instruction.operands else "P0"):
        values = values[1:]  # the first one is written
    matches = enumerate(map(_REGISTER.match, values))
    return {slot: (int(match[1]), match[2] is not None) for slot, match in matches if match}
