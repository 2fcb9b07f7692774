"""The instructions of barriers of a block."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mmcore_emulator.machine.barriers import BarrierKind, Reduction
from mmcore_emulator.machine.lanes import THREAD_AXES
from mmcore_emulator.numerics.floats import Values
from mmcore_emulator.ptx.instructions import Instruction

# By what the instruction says it finds out, and of which type that is.
_FINDINGS: dict[tuple[str, str], Callable[[Values, Values], Any]] = {
    ("popc", "u32"): lambda votes, present: (votes & present).sum(THREAD_AXES, np.uint32, keepdims=True),
    ("or", "pred"): lambda votes, present: (votes & present).any(THREAD_AXES, keepdims=True),
    ("and", "pred"): lambda votes, present: (votes | ~present).all(THREAD_AXES, keepdims=True),
}


def _kinds() -> dict[tuple[str, ...], BarrierKind]:
    kinds: dict[tuple[str, ...], BarrierKind] = {}
    names: list[tuple[str, ...]] = [("bar",), ("barrier",), ("bar", "cta"), ("barrier", "cta")]
    for name in names:
        modifiers: list[tuple[str, ...]] = [(), ("aligned",)] if name[0] == "barrier" else [()]
        for aligned in modifiers:
            together = name[0] == "bar" or bool(aligned)
            kinds |= {(*name, action, *aligned): BarrierKind(action, together) for action in ("sync", "arrive")}
            for finding, kind in _FINDINGS:
                kinds[*name, "red", finding, *aligned, kind] = BarrierKind("red", together, finding, kind)
    return kinds


_KINDS = _kinds()


def barrier_kind(instruction: Instruction) -> BarrierKind | None:
    """What it does if it is a barrier of a block."""
    return _KINDS.get(instruction.opcode)


def reduction(kind: BarrierKind, slot: int) -> Reduction:
    """What a barrier tells to the register of that number."""
    return Reduction(_FINDINGS[kind.finding, kind.kind], slot)
