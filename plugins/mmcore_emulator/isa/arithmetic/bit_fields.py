"""Instructions on the bits of integers: fields, permutations, counts and logic of three operands.

Reference: PTX ISA, "Integer Arithmetic Instructions" and "Logic and Shift Instructions".
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from mmcore_emulator.isa.entries import Compute, Family, Function
from mmcore_emulator.numerics.types import NUMPY, Values


def _fields() -> Iterator[tuple[str, Function, tuple[str, ...], str]]:
    """Yield the instructions of this module: opcode, function, source types and result type."""
    for bits in ("32", "64"):
        signless, signed, unsigned = f"b{bits}", f"s{bits}", f"u{bits}"
        yield f"bfe.{unsigned}", partial(field_extract, unsigned), (unsigned, "u32", "u32"), unsigned
        yield f"bfe.{signed}", partial(signed_field, signed), (signed, "u32", "u32"), signed
        yield f"bfi.{signless}", partial(field_insert, signless), (signless, signless, "u32", "u32"), signless
        yield f"popc.{signless}", count_ones, (signless,), "u32"
        yield f"clz.{signless}", leading_zeros, (signless,), "u32"
        yield f"brev.{signless}", reversed_bits, (signless,), signless
        for kind in (signed, unsigned):
            yield f"bfind.{kind}", highest_bit, (kind,), "u32"
            yield f"bfind.shiftamt.{kind}", shift_to_highest, (kind,), "u32"
    yield "prmt.b32", permuted, ("b32",) * 3, "b32"
    for mode, selectors in _PERMUTATIONS.items():
        yield f"prmt.b32.{mode}", permuted_by_mode(selectors), ("b32",) * 3, "b32"
    for side in "lr":
        for mode in ("wrap", "clamp"):
            shift = partial(funnel_shift, side == "l", mode == "wrap")
            yield f"shf.{side}.{mode}.b32", shift, ("b32", "b32", "u32"), "b32"
    for mode in ("wrap", "clamp"):
        for kind in ("s32", "u32"):
            yield f"szext.{mode}.{kind}", partial(extended, kind == "s32", mode == "clamp"), ("u32", "u32"), "u32"
        yield f"bmsk.{mode}.b32", partial(bit_mask, mode == "clamp"), ("u32", "u32"), "b32"
    yield "fns.b32", nth_set_bit, ("b32", "u32", "s32"), "b32"
    yield "lop3.b32", by_table, ("b32",) * 4, "b32"


def field_extract(kind: str, a: Values, position: Values, length: Values) -> Values:
    """Compute ``bfe`` for an unsigned type: it extracts a bit field to the low end."""
    position, ones = _field(kind, position, length)
    return np.asarray((a >> position) & ones)


def field_insert(kind: str, field: Values, into: Values, position: Values, length: Values) -> Values:
    """Compute ``bfi``: it inserts the low bits of a number into another."""
    position, ones = _field(kind, position, length)
    mask = ones << position
    return np.asarray((into & ~mask) | ((field << position) & mask))


def _field(kind: str, position: Values, length: Values) -> tuple[Values, Values]:
    """Return the position of a field, and as many ones as it has bits."""
    dtype, bits = NUMPY[kind], int(kind[1:])
    position, length = (position & 0xFF).astype(dtype), (length & 0xFF).astype(dtype)
    ones = np.where(length >= bits, dtype.type(2**bits - 1), (dtype.type(1) << length) - dtype.type(1))
    return position, ones


def count_ones(a: Values) -> Values:
    """Return the number of set bits (``popc``)."""
    return np.bitwise_count(a).astype(np.uint32)


def permuted(a: Values, b: Values, selectors: Values) -> Values:
    """Return four bytes out of the eight of b and a (``prmt``); a selector's top bit replicates the byte's sign."""
    both = a.astype(np.uint64) | (b.astype(np.uint64) << np.uint64(32))
    result = np.uint32(0)
    for place in range(4):
        selector = (selectors >> np.uint32(4 * place)) & np.uint32(0xF)
        byte = ((both >> (np.uint64(8) * (selector & np.uint32(7)))) & np.uint64(0xFF)).astype(np.uint32)
        byte = np.where(selector & np.uint32(8), (byte >> np.uint32(7)) * np.uint32(0xFF), byte)
        result = result | (byte << np.uint32(8 * place))
    return np.asarray(result)


def funnel_shift(left: bool, wraps: bool, low: Values, high: Values, amount: Values) -> Values:
    """Compute ``shf``: one half of a shifted double word."""
    both = low.astype(np.uint64) | (high.astype(np.uint64) << np.uint64(32))
    steps = ((amount & np.uint32(31)) if wraps else np.minimum(amount, np.uint32(32))).astype(np.uint64)
    return np.asarray(((both << steps) >> np.uint64(32) if left else both >> steps).astype(np.uint32))


def reversed_bits(a: Values) -> Values:
    """Return the bits in reverse order."""
    octets = np.ascontiguousarray(a)[..., np.newaxis].view(np.uint8)
    flipped = np.packbits(np.unpackbits(octets, axis=-1, bitorder="little"), axis=-1)[..., ::-1]
    return np.ascontiguousarray(flipped).view(a.dtype)[..., 0] if flipped.ndim else flipped


def signed_field(kind: str, a: Values, position: Values, length: Values) -> Values:
    """Compute ``bfe`` for a signed type: the field's, or the number's, last bit is the sign."""
    dtype = NUMPY[kind]
    bits = 8 * dtype.itemsize
    begin, count = ((operand & np.uint32(0xFF)).astype(np.int64) for operand in (position, length))
    shifted = a >> np.minimum(begin, bits - 1).astype(dtype)
    room = np.clip(bits - count, 0, bits - 1).astype(dtype)
    return np.asarray(np.where(count == 0, dtype.type(0), (shifted << room) >> room))


def leading_zeros(a: Values) -> Values:
    """Return the number of clear bits above the highest set bit (``clz``)."""
    return np.asarray(np.uint32(8 * a.itemsize) - count_ones(_smeared(a)))


def _smeared(a: Values) -> Values:
    """Return the number with all bits below its highest set bit also set."""
    for shift in (1, 2, 4, 8, 16, 32)[: int(8 * a.itemsize).bit_length() - 1]:
        a = a | (a >> a.dtype.type(shift))
    return a


def _significant(a: Values) -> Values:
    """Return the significant bits of a number: the inverted bits of a negative one."""
    unsigned = np.dtype(f"u{a.itemsize}")
    return (np.where(a < 0, ~a, a) if a.dtype.kind == "i" else a).view(unsigned)


def highest_bit(a: Values) -> Values:
    """Return the position of the highest significant bit (``bfind``); all ones if there is none."""
    return np.asarray(count_ones(_smeared(_significant(a))) - np.uint32(1))


def shift_to_highest(a: Values) -> Values:
    """Return the distance of that bit from the top (``bfind.shiftamt``); all ones if there is none."""
    significant = _significant(a)
    return np.where(significant == 0, np.uint32(2**32 - 1), leading_zeros(significant))


def nth_set_bit(mask: Values, base: Values, offset: Values) -> Values:
    """Return the position of the ``offset``-th set bit from ``base``, upward or downward (``fns``); else all ones."""
    place = np.arange(32)
    bits = ((mask[..., np.newaxis] >> place.astype(np.uint32)) & np.uint32(1)).astype(np.bool_)
    begin, wanted = base[..., np.newaxis].astype(np.int64), offset[..., np.newaxis].astype(np.int64)
    upward = bits & (place >= begin)
    downward = (bits & (place <= begin))[..., ::-1]
    rank = np.where(wanted < 0, np.cumsum(downward, axis=-1)[..., ::-1], np.cumsum(upward, axis=-1))
    reached = np.where(wanted < 0, downward[..., ::-1], upward)
    hits = np.where(wanted == 0, bits & (place == begin), reached & (rank == np.abs(wanted)))
    return np.where(hits.any(axis=-1), hits.argmax(axis=-1), 2**32 - 1).astype(np.uint32)


def extended(signed: bool, clamps: bool, a: Values, width: Values) -> Values:
    """Compute ``szext``: it extends the low bits of a number by zeros or by their sign."""
    kept = width & np.uint32(31)
    full = width >= 32 if clamps else np.zeros(width.shape, np.bool_)
    mask = np.where(full, np.uint32(0), np.uint32(2**32 - 1) << kept)
    sign = (a >> ((kept - np.uint32(1)) & np.uint32(31))) & np.uint32(1)
    negative = (sign != 0) & (kept != 0) & ~full & signed
    return np.asarray((a & ~mask) | np.where(negative, mask, np.uint32(0)))


def bit_mask(clamps: bool, position: Values, width: Values) -> Values:
    """Compute ``bmsk``: ``width`` ones from a position on."""
    begin, count = (operand & np.uint32(31) for operand in (position, width))
    ones, zero = np.uint32(2**32 - 1), np.uint32(0)
    from_begin, end = ones << begin, begin + count
    beyond = end >= 32
    if clamps:
        from_begin = np.where(position >= 32, zero, from_begin)
        beyond = beyond | (position >= 32) | (width >= 32)
    above = np.where(count == 0, ones, ones << (end & np.uint32(31)))
    return np.asarray(from_begin & ~np.where(beyond, zero, above))


def by_table(a: Values, b: Values, c: Values, table: Values) -> Values:
    """Apply any function of three bits (``lop3``); bit 4·a + 2·b + c of the table is its value."""
    chosen, result = int(table.reshape(-1)[0]), a & a.dtype.type(0)
    for row in range(8):
        if chosen >> row & 1:
            result = result | (a if row & 4 else ~a) & (b if row & 2 else ~b) & (c if row & 1 else ~c)
    return np.asarray(result)


def _by_table_and_predicate() -> Iterator[tuple[str, Compute]]:
    """Yield ``lop3`` with a second result: true if the first is not zero, combined with another predicate."""

    def with_predicate(logical: Function, *operands: Values) -> tuple[Values, Values]:
        *abc_and_table, predicate = operands
        result = by_table(*abc_and_table)
        return result, logical(result != 0, predicate)

    for name, logical in (("or", np.logical_or), ("and", np.logical_and)):
        yield (
            f"lop3.{name}.b32",
            Compute(partial(with_predicate, logical), ("b32",) * 4 + ("pred",), "b32", also="pred"),
        )


# The selectors of each mode of prmt, by the lower two bits of the last operand.
_PERMUTATIONS = {
    "f4e": (0x3210, 0x4321, 0x5432, 0x6543),
    "b4e": (0x5670, 0x6701, 0x7012, 0x0123),
    "rc8": (0x0000, 0x1111, 0x2222, 0x3333),
    "ecl": (0x3210, 0x3211, 0x3222, 0x3333),
    "ecr": (0x0000, 0x1110, 0x2210, 0x3210),
    "rc16": (0x1010, 0x3232, 0x1010, 0x3232),
}


def permuted_by_mode(selectors: tuple[int, ...]) -> Function:
    """Return the function of ``prmt`` with a mode: one of four permutations."""
    table = np.array(selectors, np.uint32)
    return lambda a, b, number: permuted(a, b, table[number & np.uint32(3)])


def _exact() -> Iterator[tuple[str, Compute]]:
    for opcode, compute, sources, result in _fields():
        data = {"bfe": 1, "bfi": 2, "prmt": 2, "shf": 2, "lop3": 3}.get(opcode.partition(".")[0], 0)
        yield opcode, Compute(compute, sources, result, algebra="bits" if data else "", data=data)
    yield from _by_table_and_predicate()


FAMILY = Family(
    "Bits and fields", exact=_exact, proof="moves: `bfe`, `bfi`, `prmt`, `shf`, `lop3` of whole bytes; others opaque"
)
