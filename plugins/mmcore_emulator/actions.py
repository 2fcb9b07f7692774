"""Instructions that are a function of the machine: what operands they have, and what runs them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from mmcore_emulator.floats import Values


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
        run: ``run(ports, mask, at, *operands)`` with a list of lanes for each operand but the results; it returns the
            registers of these.
        operands: in the order in which they are written; those that an instruction lacks are the last.
        least: how many operands there must be; all by default.
    """

    run: Callable[..., Sequence[Values]]
    operands: tuple[Part, ...] = ()
    least: int = -1
