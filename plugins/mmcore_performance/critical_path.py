"""The longest chain of waits in a basic block: results that an instruction needs from those before it."""

from __future__ import annotations

from collections import Counter

from mmcore_emulator.isa.matrix.products import product_of
from mmcore_emulator.isa.table import destinations, effect, reads
from mmcore_emulator.ptx.instructions import Block, Instruction, Register

WAITS = {"load": 300, "shared_load": 30, "product": 20, "arithmetic": 4}
"""Cycles from an instruction to its result, by kind, about those of NVIDIA's GPUs; they choose the longest chain."""
_FLOATING = frozenset(("f16", "f16x2", "bf16", "bf16x2", "f32", "f64"))


def critical_path(block: Block) -> Counter[str]:
    """Return the number of waits of each kind of :data:`WAITS` along the longest chain of a block.

    A result that is not used in the block makes nothing wait, such as a value that later blocks use.
    """
    nothing: tuple[int, Counter[str]] = (0, Counter())
    ready: dict[Register, tuple[int, Counter[str]]] = {}
    longest = nothing
    for at in block.instructions:
        begin = max((ready[register] for register in reads(at) if register in ready), key=_cycles, default=nothing)
        longest = max(longest, begin, key=_cycles)
        kind = _wait(at)
        end = (begin[0] + WAITS[kind], begin[1] + Counter((kind,))) if kind else begin
        ready |= dict.fromkeys(destinations(at), end)
        if kind in ("product", "arithmetic"):
            longest = max(longest, end, key=_cycles)
    return longest[1]


def _cycles(path: tuple[int, Counter[str]]) -> int:
    return path[0]


def _wait(at: Instruction) -> str:
    """Return the kind of wait for an instruction's result; empty if it is short."""
    name, space = at.opcode[0], at.opcode[1:2]
    if product_of(at):
        return "" if effect(at).kind == "warpgroup" else "product"
    if effect(at).kind in ("matrix move", "fragment move"):
        return "load" if "global" in at.opcode else "shared_load"
    if name in ("ld", "ldu", "atom"):
        if space in (("param",), ("const",)):
            return ""
        return "shared_load" if space in (("shared",), ("local",)) else "load"
    return "arithmetic" if _FLOATING.intersection(at.opcode) and name not in ("mov", "st", "ld") else ""
