"""Instructions that are a function of the machine: what operands they have, and what runs them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from mmcore_emulator.numerics.floats import Values


@dataclass(frozen=True)
class Part:
    """An operand.

    Attributes:
        role: "result", "source", "both", "address", "tensor" (a map's address and coordinates), or "ignored".
        type: PTX type that each of its registers is read or written as; "" for bits, as many as the register has.
        count: of registers; 0 for any number.
    """

    role: str
    type: str = "b32"
    count: int = 1


@dataclass(frozen=True)
class Action:
    """What runs an instruction.

    Attributes:
        run: ``run(machine, mask, at, *operands)`` with a list of lanes for each operand but the results; it returns the
            registers of these.
        operands: in the order in which they are written; those that an instruction lacks are the last.
        least: how many operands there must be; all by default.
    """

    run: Callable[..., Sequence[Values]]
    operands: tuple[Part, ...] = ()
    least: int = -1


Function: TypeAlias = Callable[..., Any]
"""From arrays to an array, or to two."""


@dataclass(frozen=True)
class Operation:
    """What an opcode computes."""

    compute: Function  # from source arrays to the result array, or to two
    sources: tuple[str, ...]  # PTX type that each source operand is read as
    result: str  # PTX type of the result
    also: str = ""  # PTX type of the second result, where ``compute`` returns two
    approximate: bool = False  # whether the result's bits are not specified


Entry: TypeAlias = tuple[str, Function, tuple[str, ...], str]
"""An opcode, and the fields of its :class:`Operation`."""
