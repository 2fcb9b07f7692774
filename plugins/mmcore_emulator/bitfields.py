"""Instructions that move the bits of integers about."""

from __future__ import annotations

import numpy as np

from mmcore_emulator.floats import Values
from mmcore_emulator.kinds import NUMPY, Operation

_FUNNEL_SHIFTS = {(side, mode, "b32") for side in "lr" for mode in ("wrap", "clamp")}


def field_extract(modifiers: tuple[str, ...]) -> Operation | None:
    """bfe: some bits of a number, moved to its low end."""
    (kind,) = modifiers if len(modifiers) == 1 else ("",)
    if kind not in ("u32", "u64"):
        return None
    dtype, bits = NUMPY[kind], int(kind[1:])

    def extract(a: Values, position: Values, length: Values) -> Values:
        position, length = (position & 0xFF).astype(dtype), (length & 0xFF).astype(dtype)
        mask = np.where(length >= bits, dtype.type(2**bits - 1), (dtype.type(1) << length) - dtype.type(1))
        return np.asarray((a >> position) & mask)

    return Operation(extract, (kind, "u32", "u32"), kind)


def field_insert(modifiers: tuple[str, ...]) -> Operation | None:
    """bfi: the low bits of a number put into another."""
    (kind,) = modifiers if len(modifiers) == 1 else ("",)
    if kind not in ("b32", "b64"):
        return None
    dtype, bits = NUMPY[kind], int(kind[1:])

    def insert(field: Values, into: Values, position: Values, length: Values) -> Values:
        position, length = (position & 0xFF).astype(dtype), (length & 0xFF).astype(dtype)
        ones = np.where(length >= bits, dtype.type(2**bits - 1), (dtype.type(1) << length) - dtype.type(1))
        mask = ones << position
        return np.asarray((into & ~mask) | ((field << position) & mask))

    return Operation(insert, (kind, kind, "u32", "u32"), kind)


def count_ones(modifiers: tuple[str, ...]) -> Operation | None:
    """popc: how many bits are set."""
    (kind,) = modifiers if len(modifiers) == 1 else ("",)
    if kind not in ("b32", "b64"):
        return None
    return Operation(lambda a: np.bitwise_count(a).astype(np.uint32), (kind,), "u32")


def permute(modifiers: tuple[str, ...]) -> Operation | None:
    """prmt: a word made of any four of eight bytes."""
    return Operation(_permuted, ("b32", "b32", "b32"), "b32") if modifiers == ("b32",) else None


def _permuted(a: Values, b: Values, selectors: Values) -> Values:
    """Four bytes out of the eight of b and a; a selector's top bit asks for the byte's sign instead of the byte."""
    both = a.astype(np.uint64) | (b.astype(np.uint64) << np.uint64(32))
    result = np.uint32(0)
    for place in range(4):
        selector = (selectors >> np.uint32(4 * place)) & np.uint32(0xF)
        byte = ((both >> (np.uint64(8) * (selector & np.uint32(7)))) & np.uint64(0xFF)).astype(np.uint32)
        byte = np.where(selector & np.uint32(8), (byte >> np.uint32(7)) * np.uint32(0xFF), byte)
        result = result | (byte << np.uint32(8 * place))
    return np.asarray(result)


def funnel_shift(modifiers: tuple[str, ...]) -> Operation | None:
    """shf: one half of a double word shifted."""
    if modifiers not in _FUNNEL_SHIFTS:
        return None
    left, wraps = modifiers[0] == "l", modifiers[1] == "wrap"

    def shift(low: Values, high: Values, amount: Values) -> Values:
        both = low.astype(np.uint64) | (high.astype(np.uint64) << np.uint64(32))
        steps = ((amount & np.uint32(31)) if wraps else np.minimum(amount, np.uint32(32))).astype(np.uint64)
        return np.asarray(((both << steps) >> np.uint64(32) if left else both >> steps).astype(np.uint32))

    return Operation(shift, ("b32", "b32", "u32"), "b32")
