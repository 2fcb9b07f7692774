"""Arithmetic of integers and operations on bits, against the pseudocode of the PTX manual."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from tests.emulation import computed, words
from tests.emulator.numbers import RNG, WORD, clamp, drawn, signed, types_of, width
from tests.emulator.templates import expanded


def kind_of(opcode: str) -> str:
    return opcode.rpartition(".")[2]


def fns(_: str, mask: int, base: int, offset: int) -> int:
    if offset == 0:
        return base if mask >> base & 1 else WORD
    position, count, step = base, abs(offset) - 1, 1 if offset > 0 else -1
    while 0 <= position < 32:
        if mask >> position & 1:
            if count == 0:
                return position
            count -= 1
        position += step
    return WORD


def szext(opcode: str, a: int, b: int) -> int:
    amount, too_large = b & 31, b >= 32 and ".clamp" in opcode
    mask = 0 if too_large else WORD << amount & WORD
    sign = not (amount == 0 or too_large or kind_of(opcode) != "s32") and a >> ((amount - 1) & 31) & 1
    return a & ~mask & WORD | (mask if sign else 0)


def bmsk(opcode: str, a: int, b: int) -> int:
    begin, amount, beyond = a & 31, b & 31, ".clamp" in opcode and (a >= 32 or b >= 32)
    first = 0 if ".clamp" in opcode and a >= 32 else WORD << begin & WORD
    second = 0 if beyond or begin + amount >= 32 else WORD if amount == 0 else WORD << (begin + amount) & WORD
    return first & ~second


def bfind(opcode: str, a: int) -> int:
    bits = width(kind_of(opcode))
    position = (~a if a < 0 else a).bit_length() - 1
    return WORD if position < 0 else bits - 1 - position if "shiftamt" in opcode else position


PERMUTED = {
    "f4e": ("3210", "4321", "5432", "6543"),
    "b4e": ("5670", "6701", "7012", "0123"),
    "rc8": ("0000", "1111", "2222", "3333"),
    "ecl": ("3210", "3211", "3222", "3333"),
    "ecr": ("0000", "1110", "2210", "3210"),
    "rc16": ("1010", "3232", "1010", "3232"),
}


def prmt(opcode: str, a: int, b: int, c: int) -> int:
    octets = [*a.to_bytes(4, "little"), *b.to_bytes(4, "little")]
    if (mode := kind_of(opcode)) in PERMUTED:
        return int.from_bytes(bytes(octets[int(place)] for place in PERMUTED[mode][c & 3]), "big")
    picks = [c >> 4 * place & 15 for place in range(4)]
    return int.from_bytes(
        bytes(octets[pick & 7] // 128 * 255 if pick & 8 else octets[pick] for pick in picks), "little"
    )


def shf(opcode: str, a: int, b: int, c: int) -> int:
    both, amount = a | b << 32, c & 31 if ".wrap" in opcode else min(c, 32)
    return both << amount >> 32 if ".l." in opcode else both >> amount


def mad24(opcode: str, a: int, b: int, c: int = 0) -> int:
    one, other = (signed(each & 0xFFFFFF, 24) if "s32" in opcode else each & 0xFFFFFF for each in (a, b))
    product = one * other >> (16 if ".hi" in opcode else 0)
    return clamped(opcode, signed(product & WORD, 32) + c) if ".sat" in opcode else product + c


def part(of: int, number: int, bits: int, kind: str) -> int:
    field = of >> bits * number & (2**bits - 1)
    return signed(field, bits) if kind == "s32" else field


def dp2a(opcode: str, a: int, b: int, c: int) -> int:
    _, half, one, other = opcode.split(".")
    return c + sum(part(a, n, 16, one) * part(b, n + 2 * (half == "hi"), 8, other) for n in range(2))


def dp4a(opcode: str, a: int, b: int, c: int) -> int:
    _, one, other = opcode.split(".")
    return c + sum(part(a, n, 8, one) * part(b, n, 8, other) for n in range(4))


def pairwise(of: Callable[[int, int], int]) -> Callable[..., int]:
    def pair(opcode: str, a: int, b: int) -> int:
        kind = "s32" if "s16" in opcode else "u32"
        low, high = (of(part(a, n, 16, kind), part(b, n, 16, kind)) & 0xFFFF for n in range(2))
        return low | high << 16

    return pair


def clamped(opcode: str, number: int, kind: str = "s32") -> int:
    bits = int(kind[1:])
    low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if kind[0] == "s" else (0, 2**bits - 1)
    return clamp(number, low, high)


def packed(opcode: str, a: int, b: int, c: int = 0) -> int:
    kind = opcode.split(".")[3]
    bits = int(kind[1:])
    one, other = (clamped(opcode, each, kind) & (1 << bits) - 1 for each in (a, b))
    return c << 2 * bits | one << bits | other


def bfi(_: str, a: int, b: int, position: int, length: int) -> int:
    mask = (1 << length) - 1 << position & WORD
    return b & ~mask | a << position & mask


def quotient(_: str, a: int, b: int) -> int:
    return int(Fraction(a, b)) if b else -1


def remainder(_: str, a: int, b: int) -> int:
    return a - b * int(Fraction(a, b)) if b else -1


# Opcodes, their oracle (of the opcode and its operands, signed by their types; the result may be too wide), and how
# many bits operands have, where not those of their types.
ORACLES: list[tuple[str, Callable[..., int], dict[int, int]]] = [
    ("add.<INT>", lambda _, a, b: a + b, {}),
    ("sub.<INT>", lambda _, a, b: a - b, {}),
    ("mul.lo.<INT>", lambda _, a, b: a * b, {}),
    ("mul.hi.<INT>", lambda opcode, a, b: a * b >> width(kind_of(opcode)), {}),
    ("mul.wide.<u16|s16|u32|s32>", lambda _, a, b: a * b, {}),
    ("mad.<lo|wide>.<u16|s16|u32|s32>", lambda _, a, b, c: a * b + c, {}),
    ("mad.hi.<INT>", lambda opcode, a, b, c: (a * b >> width(kind_of(opcode))) + c, {}),
    ("min.<INT>", lambda _, a, b: min(a, b), {}),
    ("max.<INT>", lambda _, a, b: max(a, b), {}),
    ("div.<INT>", quotient, {}),
    ("rem.<INT>", remainder, {}),
    ("sad.<INT>", lambda _, a, b, c: c + abs(a - b), {}),
    ("shr.<INT>", lambda _, a, b: a >> b, {1: 7}),
    ("shl.<BITS>", lambda _, a, b: a << b, {1: 7}),
    ("bfe.u32", lambda _, a, position, length: a >> position & 2**length - 1, {1: 6, 2: 6}),
    ("bfi.b32", bfi, {2: 6, 3: 6}),
    ("fns.b32", fns, {1: 5, 2: 3}),
    ("szext.<wrap|clamp>.<u32|s32>", lambda opcode, a, b: szext(opcode, a & WORD, b), {1: 6}),
    ("bmsk.<wrap|clamp>.b32", bmsk, {0: 6, 1: 6}),
    ("bfind<|.shiftamt>.<u32|s32|u64|s64>", bfind, {}),
    ("clz.<b32|b64>", lambda opcode, a: width(kind_of(opcode)) - a.bit_length(), {}),
    ("popc.<b32|b64>", lambda _, a: a.bit_count(), {}),
    ("cnot.<BITS>", lambda _, a: int(a == 0), {}),
    ("prmt.b32", prmt, {}),
    ("prmt.b32.<f4e|b4e|rc8|ecl|ecr|rc16>", prmt, {2: 3}),
    ("shf.<l|r>.<wrap|clamp>.b32", shf, {}),
    ("mul24.<lo|hi>.<u32|s32>", mad24, {}),
    ("mad24.<lo|hi>.<u32|s32>", mad24, {}),
    ("mad24.hi.sat.s32", mad24, {}),
    ("mad.hi.sat.s32", lambda opcode, a, b, c: clamped(opcode, (a * b >> 32) + c), {}),
    ("add.sat.s32", lambda opcode, a, b: clamped(opcode, a + b), {}),
    ("sub.sat.s32", lambda opcode, a, b: clamped(opcode, a - b), {}),
    ("dp2a.<lo|hi>.<u32|s32>.<u32|s32>", dp2a, {}),
    ("dp4a.<u32|s32>.<u32|s32>", dp4a, {}),
    ("min.relu.s32", lambda _, a, b: max(0, min(a, b)), {}),
    ("max.relu.s16x2", pairwise(lambda a, b: max(0, a, b)), {}),
    ("min.s16x2", pairwise(min), {}),
    ("max.u16x2", pairwise(max), {}),
    ("add.u16x2", pairwise(lambda a, b: a + b), {}),
    ("cvt.sat.<u8.s32|s8.u16|s16.s64|u32.s64|s64.u64|u64.s8>", lambda k, a: clamped(k, a, k.split(".")[2]), {}),
    ("cvt.pack.sat.<u16|s16>.s32", packed, {}),
    ("cvt.pack.sat.<u8|s8|u4|s4|u2|s2>.s32.b32", packed, {}),
]


@pytest.mark.parametrize(
    ("opcode", "oracle", "bits"),
    [pytest.param(opcode, *row, id=opcode) for template, *row in ORACLES for opcode in expanded(template)],
)
def test_an_opcode_computes_what_its_pseudocode_says(
    opcode: str, oracle: Callable[..., int], bits: dict[int, int]
) -> None:
    types, result = types_of(opcode)
    columns = [drawn(bits.get(place, width(kind))) for place, kind in enumerate(types)]
    if opcode == "fns.b32":
        columns[2] = columns[2] - np.uint64(4) & np.uint64(WORD)
    signs = [
        width(kind) if kind[0] == "s" or (opcode == "fns.b32" and place == 2) else 0 for place, kind in enumerate(types)
    ]
    rows = [
        [signed(int(x), sign) if sign else int(x) for x, sign in zip(row, signs, strict=True)]
        for row in zip(*columns, strict=True)
    ]
    expected = [oracle(opcode, *row) & (2 ** width(result) - 1) for row in rows]
    assert computed(opcode, *columns)[0].tolist() == expected


def test_lop3_computes_any_function_of_three_bits() -> None:
    a, b, c = (drawn(32, 20) for _ in range(3))
    for table in range(256):
        expected = [
            sum((table >> (4 * (x >> i & 1) + 2 * (y >> i & 1) + (z >> i & 1)) & 1) << i for i in range(32))
            for x, y, z in zip(a.tolist(), b.tolist(), c.tolist(), strict=True)
        ]
        assert computed("lop3.b32", a, b, c, table)[0].tolist() == expected


def test_carries_join_sums_and_products_of_words_to_those_of_128_bits() -> None:
    """Threads below 16 add and subtract by words of 32 bits; the others multiply by words of 64 bits."""
    body = """
    ld.global.v4.u32 {%r2, %r3, %r4, %r5}, [%d1]; ld.global.v4.u32 {%r6, %r7, %r8, %r9}, [%d1+16];
    setp.lt.u32 %p1, %r1, 16; @!%p1 bra ELSE;
    add.cc.u32 %r10, %r2, %r6; addc.cc.u32 %r11, %r3, %r7; addc.cc.u32 %r12, %r4, %r8; addc.u32 %r13, %r5, %r9;
    st.global.v4.u32 [%d1+32], {%r10, %r11, %r12, %r13};
    sub.cc.u32 %r10, %r2, %r6; subc.cc.u32 %r11, %r3, %r7; subc.cc.u32 %r12, %r4, %r8; subc.u32 %r13, %r5, %r9;
    st.global.v4.u32 [%d1+48], {%r10, %r11, %r12, %r13};
    bra END;
    ELSE:
    ld.global.v2.u64 {%d3, %d4}, [%d1]; ld.global.v2.u64 {%d5, %d6}, [%d1+16];
    mul.lo.u64 %d7, %d3, %d5; mul.hi.u64 %d8, %d3, %d5;
    mad.lo.cc.u64 %d8, %d3, %d6, %d8; madc.hi.u64 %d9, %d3, %d6, 0;
    mad.lo.cc.u64 %d8, %d4, %d5, %d8; madc.hi.cc.u64 %d9, %d4, %d5, %d9; addc.u64 %d10, 0, 0;
    mad.lo.cc.u64 %d9, %d4, %d6, %d9; madc.hi.u64 %d10, %d4, %d6, %d10;
    st.global.v2.u64 [%d1+64], {%d7, %d8}; st.global.v2.u64 [%d1+80], {%d9, %d10};
    END:"""
    for _ in range(40):
        a, b = (int.from_bytes(RNG.bytes(16), "little") >> int(RNG.integers(0, 100)) for _ in range(2))
        a, b = (2**128 - 1 - each if RNG.random() < 0.4 else each for each in (a, b))
        data = np.frombuffer(a.to_bytes(16, "little") + b.to_bytes(16, "little") + bytes(64), np.uint32)
        out = words(body, data.tolist()).arrays[0].tobytes()
        found = [int.from_bytes(out[begin:end], "little") for begin, end in ((32, 48), (48, 64), (64, 96))]
        assert found == [(a + b) % 2**128, (a - b) % 2**128, a * b]
