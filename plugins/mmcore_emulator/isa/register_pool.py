"""``setmaxnreg``, with which warpgroups give registers back and ask for more."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mmcore_emulator.isa.entries import Action, Part
from mmcore_emulator.machine.lanes import Mask
from mmcore_emulator.machine.machine import Machine
from mmcore_emulator.numerics.floats import Values
from mmcore_emulator.ptx.instructions import Instruction


def register_action(opcode: tuple[str, ...]) -> Action | None:
    """What runs ``setmaxnreg``; None for another instruction."""
    if opcode not in [("setmaxnreg", what, "sync", "aligned", "u32") for what in ("inc", "dec")]:
        return None
    return Action(_set, (Part("source", "u32"),))


def _set(machine: Machine, mask: Mask | None, at: Instruction, count: list[Values]) -> Sequence[Any]:
    machine.register_pool.set(int(count[0].item()), mask, at)
    return ()
