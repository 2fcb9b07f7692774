"""What threads of a block find out together at a barrier, such as how many of them have a predicate that is true."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mmcore_emulator.floats import Values
from mmcore_emulator.ptx import Instruction

_THREAD_AXES = (1, 3, 5)


def _count(votes: Values, present: Values) -> Values:
    return np.asarray((votes & present).sum(axis=_THREAD_AXES, keepdims=True, dtype=np.uint32))


def _some(votes: Values, present: Values) -> Values:
    return np.asarray((votes & present).any(axis=_THREAD_AXES, keepdims=True))


def _all(votes: Values, present: Values) -> Values:
    return np.asarray((votes | ~present).all(axis=_THREAD_AXES, keepdims=True))


# By what the instruction says it finds out, and of which type that is.
_FINDINGS: dict[tuple[str, str], Callable[[Values, Values], Values]] = {
    ("popc", "u32"): _count,
    ("or", "pred"): _some,
    ("and", "pred"): _all,
}
_BARRIERS = {
    (*name, "red", finding, *aligned, kind): (finding, kind)
    for name, alignments in (
        (("bar",), ((),)),
        (("bar", "cta"), ((),)),
        (("barrier",), ((), ("aligned",))),
        (("barrier", "cta"), ((), ("aligned",))),
    )
    for aligned in alignments
    for finding, kind in _FINDINGS
}


def is_reduction(instruction: Instruction) -> bool:
    """Whether it is a barrier of a block that tells its threads something about all of them."""
    return instruction.opcode in _BARRIERS


def kind_of(instruction: Instruction) -> str:
    """PTX type of what such a barrier tells."""
    return _BARRIERS[instruction.opcode][1]


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
    return Reduction(_FINDINGS[_BARRIERS[instruction.opcode]], slot)
