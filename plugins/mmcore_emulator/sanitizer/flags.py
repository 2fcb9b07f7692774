"""Instructions by which threads tell each other something: strong accesses, and volatile reads that are compared."""

from __future__ import annotations

from collections.abc import Sequence

from mmcore_emulator.isa.table import destinations, effect, reads
from mmcore_emulator.ptx.instructions import Instruction


def scope(at: Instruction, what: str) -> str:
    """Return how far an access releases or acquires ("cta" or "gpu"); "" if it does not."""
    does = effect(at)
    if does.order.isdisjoint((what, "acq_rel")):
        return ""
    return "cta" if does.scope == "cta" else "gpu"


def seeing(instructions: Sequence[Instruction]) -> frozenset[int]:
    """The atomics, by identity, whose result somebody reads."""
    read = {register for each in instructions for register in reads(each)}
    asking = (each for each in instructions if effect(each).polls == "if read")
    return frozenset(id(each) for each in asking if not read.isdisjoint(destinations(each)))


def compared(instructions: Sequence[Instruction]) -> frozenset[int]:
    """The volatile reads, by identity, whose values are compared, perhaps after some integer arithmetic."""
    wanted = {register for each in instructions if effect(each).kind == "compare" for register in reads(each)}
    passing = [each for each in instructions if effect(each).passes]
    while True:
        more = {source for each in passing if not wanted.isdisjoint(destinations(each)) for source in reads(each)}
        if more <= wanted:
            break
        wanted |= more
    loads = (each for each in instructions if effect(each).kind == "load" and "volatile" in effect(each).order)
    return frozenset(id(each) for each in loads if not wanted.isdisjoint(destinations(each)))
