"""Instructions by which threads tell each other something: strong accesses, and volatile reads that are compared."""

from __future__ import annotations

from collections.abc import Sequence

from mmcore_emulator.executor.control_flow import destinations, reads
from mmcore_emulator.ptx.instructions import Instruction
from mmcore_emulator.ptx.types import FLOATS

# What data flows through from a read to the comparison that a thread waits with.
_PASSING = ("mov", "cvt", "abs", "and", "or", "xor", "shl", "shr", "add", "sub")


def scope(at: Instruction, what: str) -> str:
    """How far an access releases or acquires ("cta" or "gpu"); empty where it does not."""
    if what not in at.opcode and "acq_rel" not in at.opcode:
        return ""
    return "cta" if "cta" in at.opcode else "gpu"


def seeing(instructions: Sequence[Instruction]) -> frozenset[int]:
    """The atomics, by identity, whose result somebody reads."""
    read = {register for each in instructions for register in reads(each)}
    asking = (each for each in instructions if each.opcode[0] == "atom")
    return frozenset(id(each) for each in asking if not read.isdisjoint(destinations(each)))


def compared(instructions: Sequence[Instruction]) -> frozenset[int]:
    """The volatile reads, by identity, whose values are compared, perhaps after some integer arithmetic."""
    wanted = {register for each in instructions if each.opcode[0] == "setp" for register in reads(each)}
    passing = [each for each in instructions if each.opcode[0] in _PASSING and not _computes(each)]
    while True:
        more = {source for each in passing if not wanted.isdisjoint(destinations(each)) for source in reads(each)}
        if more <= wanted:
            break
        wanted |= more
    loads = (each for each in instructions if each.opcode[0] == "ld" and "volatile" in each.opcode)
    return frozenset(id(each) for each in loads if not wanted.isdisjoint(destinations(each)))


def _computes(at: Instruction) -> bool:
    """Whether it makes another number of floating-point numbers."""
    return at.opcode[-1] in FLOATS and at.opcode[0] in ("add", "sub")
