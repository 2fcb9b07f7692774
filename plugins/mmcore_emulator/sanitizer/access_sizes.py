"""The sizes of a kernel's accesses, which decide how finely a shadow divides memory."""

from __future__ import annotations

from collections.abc import Iterator

from mmcore_emulator.isa.table import effect
from mmcore_emulator.ptx.instructions import Function, Instruction
from mmcore_emulator.ptx.types import TYPE_BYTES, Constant

_ACCESSES = ("load", "store", "atomic", "remote store", "fragment move", "bulk copy", "mbarrier")


def least_access_bytes(function: Function) -> int:
    """Return the bytes of the smallest element that a function loads, stores or adds to; 1 if it has no access."""
    return min((size for instruction in function.body for size in _sizes(instruction)), default=1)


def _sizes(instruction: Instruction) -> Iterator[int]:
    does = effect(instruction)
    if does.kind in _ACCESSES and does.type in TYPE_BYTES:
        yield TYPE_BYTES[does.type]
    elif does.kind == "copy" and len(instruction.operands) > 2:  # cp.async [to], [from], bytes
        size = instruction.operands[2]
        yield size.bits if isinstance(size, Constant) and size.bits else 1
