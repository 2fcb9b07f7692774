"""The sizes of a kernel's accesses, which decide how finely a shadow divides memory."""

from __future__ import annotations

from mmcore_emulator.ptx.instructions import Function
from mmcore_emulator.ptx.types import TYPE_BYTES

_ACCESSES = ("ld", "st", "red", "atom", "wmma", "cp")


def least_access_bytes(function: Function) -> int:
    """Return the bytes of the smallest element that a function loads, stores or adds to; 1 if it has no access."""
    kinds = [at.opcode[-1] for at in function.body if at.opcode[0] in _ACCESSES]
    return min((TYPE_BYTES[kind] for kind in kinds if kind in TYPE_BYTES), default=1)
