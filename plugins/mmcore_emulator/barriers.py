"""Barriers of a block, and what its threads find out together at one: of how many a predicate is true."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mmcore_emulator.floats import Values
from mmcore_emulator.ptx import Instruction

_THREADS = (1, 3, 5)
# By what the instruction says it finds out, and of which type that is.
_FINDINGS: dict[tuple[str, str], Callable[[Values, Values], Any]] = {
    ("popc", "u32"): lambda votes, present: (votes & present).sum(_THREADS, np.uint32, keepdims=True),
    ("or", "pred"): lambda votes, present: (votes & present).any(_THREADS, keepdims=True),
    ("and", "pred"): lambda votes, present: (votes | ~present).all(_THREADS, keepdims=True),
}
_NAMES = [(name, *scope) for name in ("bar", "barrier") for scope in ((), ("cta",))]
BLOCK_BARRIERS = {(*name, "sync", *aligned) for name in _NAMES for aligned in ((), ("aligned",))}
_REDUCTIONS = {
    (*name, "red", finding, *aligned, kind): (finding, kind)
    for name in _NAMES
    for aligned in (((), ("aligned",)) if name[0] == "barrier" else ((),))
    for finding, kind in _FINDINGS
}


def is_reduction(instruction: Instruction) -> bool:
    """Whether it is a barrier of a block that tells its threads something about all of them."""
    return instruction.opcode in _REDUCTIONS


def kind_of(instruction: Instruction) -> str:
    """PTX type of what such a barrier tells."""
    return _REDUCTIONS[instruction.opcode][1]


@dataclass(frozen=True)
class Reduction:
    """A barrier's result.

    Attributes:
        of: from all lanes' predicates, and which of the lanes are at the barrier, to what each block is told.
        slot: the register that it goes to.
    """

    of: Callable[[Values, Values], Values]
    slot: int


def reduction(instruction: Instruction, slot: int) -> Reduction:
    """What a barrier tells to the register of that number."""
    return Reduction(_FINDINGS[_REDUCTIONS[instruction.opcode]], slot)
