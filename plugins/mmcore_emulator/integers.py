"""What PTX computes on integers beyond numpy's own operations."""

from __future__ import annotations

import numpy as np

from mmcore_emulator.floats import Values
from mmcore_emulator.ptx_types import NUMPY, Function


def quotient(a: Values, b: Values) -> Values:
    """a / b. PTX truncates towards zero, as np.fmod does; division by zero gives all ones in ptxas's code for it."""
    return np.where(b == 0, ~np.zeros_like(b), (a - np.fmod(a, b)) // b)


def remainder(a: Values, b: Values) -> Values:
    """What :func:`quotient` leaves."""
    return np.where(b == 0, ~np.zeros_like(b), np.fmod(a, b))


def whole_product(kind: str) -> Function:
    """a·b in twice the bits."""
    wide = np.dtype(f"{'int' if kind[0] == 's' else 'uint'}{2 * int(kind[1:])}")
    return lambda a, b: np.multiply(a, b, dtype=wide)


def dot_product(a: Values, b: Values, c: Values) -> Values:
    """The bytes of a times those of b, as signed as these are, all added to c."""

    def byte(number: int, of: Values) -> Values:
        last = of.dtype.type(24)
        return np.asarray((of << of.dtype.type(24 - 8 * number)) >> last, c.dtype)

    return np.asarray(sum((byte(number, a) * byte(number, b) for number in range(4)), c))


def high_half(kind: str) -> Function:
    """The high half of :func:`whole_product`."""
    if kind[1:] == "64":
        return _high_signed64 if kind[0] == "s" else _high_unsigned64
    product, narrow = whole_product(kind), NUMPY[kind]
    return lambda a, b: (product(a, b) >> int(kind[1:])).astype(narrow)


def _high_unsigned64(a: Values, b: Values) -> Values:
    half, mask = np.uint64(32), np.uint64(0xFFFFFFFF)
    a_high, a_low, b_high, b_low = a >> half, a & mask, b >> half, b & mask
    middle = a_high * b_low + (a_low * b_low >> half)
    return np.asarray(a_high * b_high + (middle >> half) + ((a_low * b_high + (middle & mask)) >> half))


def _high_signed64(a: Values, b: Values) -> Values:
    unsigned = _high_unsigned64(a.view(np.uint64), b.view(np.uint64)).view(np.int64)
    return np.asarray(unsigned - np.where(a < 0, b, 0) - np.where(b < 0, a, 0))


def shifted(function: Function, kind: str) -> Function:
    """A shift; numpy, like PTX, lets amounts beyond the width shift everything out."""
    dtype = NUMPY[kind]
    return lambda a, amount: function(a, np.minimum(amount, 64).astype(dtype))


def field_extract(kind: str) -> Function:
    """bfe: some bits of a number, moved to its low end."""

    def extract(a: Values, position: Values, length: Values) -> Values:
        position, ones = _field(kind, position, length)
        return np.asarray((a >> position) & ones)

    return extract


def field_insert(kind: str) -> Function:
    """bfi: the low bits of a number put into another."""

    def insert(field: Values, into: Values, position: Values, length: Values) -> Values:
        position, ones = _field(kind, position, length)
        mask = ones << position
        return np.asarray((into & ~mask) | ((field << position) & mask))

    return insert


def _field(kind: str, position: Values, length: Values) -> tuple[Values, Values]:
    """Where a field begins, and as many ones as it has bits."""
    dtype, bits = NUMPY[kind], int(kind[1:])
    position, length = (position & 0xFF).astype(dtype), (length & 0xFF).astype(dtype)
    ones = np.where(length >= bits, dtype.type(2**bits - 1), (dtype.type(1) << length) - dtype.type(1))
    return position, ones


def count_ones(a: Values) -> Values:
    """popc: how many bits are set."""
    return np.bitwise_count(a).astype(np.uint32)


def permuted(a: Values, b: Values, selectors: Values) -> Values:
    """prmt: four bytes out of the eight of b and a; a selector's top bit asks for the byte's sign instead."""
    both = a.astype(np.uint64) | (b.astype(np.uint64) << np.uint64(32))
    result = np.uint32(0)
    for place in range(4):
        selector = (selectors >> np.uint32(4 * place)) & np.uint32(0xF)
        byte = ((both >> (np.uint64(8) * (selector & np.uint32(7)))) & np.uint64(0xFF)).astype(np.uint32)
        byte = np.where(selector & np.uint32(8), (byte >> np.uint32(7)) * np.uint32(0xFF), byte)
        result = result | (byte << np.uint32(8 * place))
    return np.asarray(result)


def funnel_shift(left: bool, wraps: bool) -> Function:
    """shf: one half of a double word shifted."""

    def shift(low: Values, high: Values, amount: Values) -> Values:
        both = low.astype(np.uint64) | (high.astype(np.uint64) << np.uint64(32))
        steps = ((amount & np.uint32(31)) if wraps else np.minimum(amount, np.uint32(32))).astype(np.uint64)
        return np.asarray(((both << steps) >> np.uint64(32) if left else both >> steps).astype(np.uint32))

    return shift


def reversed_bits(a: Values) -> Values:
    """The bits in the opposite order."""
    octets = np.ascontiguousarray(a)[..., np.newaxis].view(np.uint8)
    flipped = np.packbits(np.unpackbits(octets, axis=-1, bitorder="little"), axis=-1)[..., ::-1]
    return np.ascontiguousarray(flipped).view(a.dtype)[..., 0] if flipped.ndim else flipped


def signed_field(kind: str) -> Function:
    """``bfe`` of a signed type: bits from a position on, the last of them the sign; those beyond the number are its."""
    dtype = NUMPY[kind]
    bits = 8 * dtype.itemsize

    def extract(a: Values, position: Values, length: Values) -> Values:
        begin, count = ((each & np.uint32(0xFF)).astype(np.int64) for each in (position, length))
        shifted = a >> np.minimum(begin, bits - 1).astype(dtype)
        room = np.clip(bits - count, 0, bits - 1).astype(dtype)
        return np.asarray(np.where(count == 0, dtype.type(0), (shifted << room) >> room))

    return extract
