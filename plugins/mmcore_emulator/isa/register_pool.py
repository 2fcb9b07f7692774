"""Registers that threads of a block give back and ask for (``setmaxnreg``), of those that it was launched with."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from mmcore_emulator.isa.entries import Action, Part
from mmcore_emulator.machine.compiled_block import Ports
from mmcore_emulator.machine.lanes import THREAD_AXES, Mask
from mmcore_emulator.machine.observer import LaneViolation, always
from mmcore_emulator.numerics.floats import Values
from mmcore_emulator.ptx.instructions import Instruction

_UNIT = 8  # registers of a thread are allocated in


def register_action(opcode: tuple[str, ...]) -> Action | None:
    """What runs ``setmaxnreg``; None for another instruction."""
    if opcode not in [("setmaxnreg", what, "sync", "aligned", "u32") for what in ("inc", "dec")]:
        return None
    return Action(_set, (Part("source", "u32"),))


def _set(ports: Ports, mask: Mask | None, at: Instruction, count: list[Values]) -> Sequence[Any]:
    ports.register_pool.set(int(count[0].item()), mask, at)
    return ()


class RegisterPool:
    """The registers of a batch's blocks.

    Args:
        ports: the batch's.
        registers: of a thread at the launch; 0 where ``setmaxnreg`` has no effect, as the assembler does not know them.
    """

    def __init__(self, ports: Ports, registers: int) -> None:
        self._ports = ports
        self._at_launch = -(-registers // _UNIT) * _UNIT
        self._held = np.full(ports.shape, self._at_launch, np.int64)
        self._asked: dict[int, Instruction] = {}

    def set(self, count: int, mask: Mask | None, at: Instruction) -> None:
        """Lanes have so many registers from now on, or wait until there are as many."""
        if self._at_launch:
            self._held[self._ports.spread(mask)] = count
            self._asked[count] = at

    def overdrawn(self) -> Iterator[LaneViolation]:
        """Those who wait for ever, now that all lanes have done what they do."""
        total = self._held.sum(THREAD_AXES, keepdims=True)
        present = self._at_launch * self._held[(0, slice(None)) * 3].size
        short = (self._held > self._at_launch) & (total > present)
        for count in np.unique(self._held[short]).tolist():
            text = (
                f"waits for {count} registers: its block has {present}, {self._at_launch} a thread at the launch, "
                f"and its threads together ask for {int(total[total > present].max())}"
            )
            lanes = short & (self._held == count)
            yield LaneViolation("deadlock", None, self._asked[count], lanes, always(text))
