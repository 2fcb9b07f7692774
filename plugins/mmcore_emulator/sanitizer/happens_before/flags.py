"""Flags in memory, by which threads synchronise: strong accesses, and volatile reads whose values are compared."""

from __future__ import annotations

from collections.abc import Sequence

from mmcore_emulator.isa.table import destinations, effect, reads
from mmcore_emulator.ptx.instructions import Instruction


def scope(at: Instruction, order: str) -> str:
    """Return the scope of an instruction's "acquire" or "release": "cta" or "gpu"; "" if it has none."""
    does = effect(at)
    if does.order.isdisjoint((order, "acq_rel")):
        return ""
    return "cta" if does.scope == "cta" else "gpu"


class FlagReads:
    """The instructions of a kernel that observe what other threads write to flags; whether there are ``any``."""

    def __init__(self, instructions: Sequence[Instruction]) -> None:
        self._compared = _compared(instructions)
        read = {register for at in instructions for register in reads(at)}
        polling = (at for at in instructions if effect(at).polls == "if read")
        self._observing = {id(at) for at in polling if not read.isdisjoint(destinations(at))}
        self.any = bool(self._observing) or any(effect(at).kind == "load" and self.strong(at) for at in instructions)

    def strong(self, at: Instruction) -> bool:
        """Return whether a read is strong; a volatile one is if its value is compared."""
        does = effect(at)
        return id(at) in self._compared if "volatile" in does.order else does.strong

    def observes(self, at: Instruction) -> bool:
        """Return whether the kernel reads the result of an atomic."""
        return id(at) in self._observing


def _compared(instructions: Sequence[Instruction]) -> set[int]:
    """Return the volatile reads, by identity, whose values are compared, perhaps after integer arithmetic."""
    compared = {register for at in instructions if effect(at).kind == "compare" for register in reads(at)}
    passing = [at for at in instructions if effect(at).passes]
    while True:
        sources = {source for at in passing if not compared.isdisjoint(destinations(at)) for source in reads(at)}
        if sources <= compared:
            break
        compared |= sources
    loads = (at for at in instructions if effect(at).kind == "load" and "volatile" in effect(at).order)
    return {id(at) for at in loads if not compared.isdisjoint(destinations(at))}
