"""All arithmetic and accesses that ptxas takes, and what it makes of integers and of comparisons."""

from __future__ import annotations

import math
import re
from collections.abc import Callable

import numpy as np
import pytest

from mmcore_emulator.errors import UnsupportedInstruction
from mmcore_emulator.executor.translate import translate
from mmcore_emulator.isa.table import operation
from mmcore_emulator.ptx.carry_flag import with_carries
from mmcore_emulator.ptx.reader import parse
from tests.computing import RNG, bits_of, clamp, computed, drawn, signed
from tests.emulation import ptx_kernel, words
from tests.ptx_opcodes import REGISTERS, accesses, ptxas_refuses, statements

WORD = 2**32 - 1
# ptxas takes these, of which the manual does not speak.
_UNDOCUMENTED = re.compile(r"(addc|madc\.hi)\.[us]16 |fma\.rm\.(relu\.)?bf16(x2)? |rcp\.r[nzmp]\.ftz\.f64 ")


def test_the_emulator_knows_what_ptxas_takes_and_no_more() -> None:
    every = [each for each in dict.fromkeys(statements()) if not _UNDOCUMENTED.match(each)]
    (function,) = parse(ptx_kernel("\n".join(every))).values()
    *_, body = with_carries(function).body, with_carries(function).body[-1 - len(every) : -1]
    known = set()
    for statement, instruction in zip(every, body, strict=True):
        first = instruction.operands[0]
        found = operation(instruction.opcode, len(first) if isinstance(first, tuple) else 1)
        if found and len(found.sources) == len(instruction.operands) - 1:
            known.add(statement)
    refused = ptxas_refuses(every, "90a")
    assert sorted(known & refused) == []
    assert sorted({*every} - known - refused) == []
    assert len(known) > 2000


def test_the_emulator_knows_the_accesses_that_ptxas_takes() -> None:
    every = [*dict.fromkeys(accesses())]
    unknown = set()
    for statement in every:
        (function,) = parse(ptx_kernel(f"{{ {REGISTERS} {statement} }}")).values()
        try:
            translate(function)
        except UnsupportedInstruction:
            unknown.add(statement)
    taken = {*every} - ptxas_refuses(every, "90a")
    assert sorted(unknown & taken) == []
    assert len(taken) > 600


# Integers: the manual's pseudocode.


def fns(mask: int, base: int, offset: int) -> int:
    offset = signed(offset, 32)
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


def szext(mode: str, kind: str, a: int, b: int) -> int:
    width = b & 31
    too_large = b >= 32 and mode == "clamp"
    mask = 0 if too_large else WORD << width & WORD
    sign = not (width == 0 or too_large or kind != "s32") and a >> ((width - 1) & 31) & 1
    return a & ~mask & WORD | (mask if sign else 0)


def bmsk(mode: str, a: int, b: int) -> int:
    begin, width = a & 31, b & 31
    first, second = WORD << begin & WORD, WORD << (begin + width) & WORD
    overflow = begin + width >= 32
    if mode == "clamp":
        first = 0 if a >= 32 else first
        overflow = overflow or a >= 32 or b >= 32
    second = 0 if overflow else WORD if width == 0 else second
    return first & ~second


def bfind(a: int, bits: int, is_signed: bool, shift: bool) -> int:
    if is_signed and a >> (bits - 1):
        a = ~a & (2**bits - 1)
    position = a.bit_length() - 1
    return WORD if position < 0 else bits - 1 - position if shift else position


def octets(a: int, b: int) -> list[int]:
    return [*a.to_bytes(4, "little"), *b.to_bytes(4, "little")]


PERMUTED = {
    "f4e": ("3210", "4321", "5432", "6543"),
    "b4e": ("5670", "6701", "7012", "0123"),
    "rc8": ("0000", "1111", "2222", "3333"),
    "ecl": ("3210", "3211", "3222", "3333"),
    "ecr": ("0000", "1110", "2210", "3210"),
    "rc16": ("1010", "3232", "1010", "3232"),
}


def prmt(mode: str, a: int, b: int, c: int) -> int:
    picked = [octets(a, b)[int(place)] for place in reversed(PERMUTED[mode][c & 3])]
    return int.from_bytes(bytes(picked), "little")


def lop3(a: int, b: int, c: int, table: int) -> int:
    return sum((table >> (4 * (a >> i & 1) + 2 * (b >> i & 1) + (c >> i & 1)) & 1) << i for i in range(32))


def mul24(part: str, kind: str, a: int, b: int) -> int:
    one, other = (signed(each & 0xFFFFFF, 24) if kind == "s32" else each & 0xFFFFFF for each in (a, b))
    return (one * other >> (16 if part == "hi" else 0)) & WORD


def dp2a(half: str, one: str, other: str, a: int, b: int, c: int) -> int:
    def part(of: int, number: int, bits: int, kind: str) -> int:
        value = of >> bits * number & (2**bits - 1)
        return signed(value, bits) if kind == "s32" else value

    return (c + sum(part(a, n, 16, one) * part(b, n + 2 * (half == "hi"), 8, other) for n in range(2))) & WORD


def pairwise(of: Callable[[int, int], int], a: int, b: int) -> int:
    low, high = ((of(*(signed(each >> shift & 0xFFFF, 16) for each in (a, b)))) & 0xFFFF for shift in (0, 16))
    return low | high << 16


def s32(value: int) -> int:
    return signed(value, 32)


def clamped(value: int) -> int:
    return clamp(value, -(2**31), 2**31 - 1) & WORD


ORACLES: list[tuple[str, tuple[int, ...], Callable[..., int]]] = [
    ("fns.b32", (32, 5, 3), fns),
    *(
        (f"szext.{mode}.{kind}", (32, 6), lambda a, b, m=mode, k=kind: szext(m, k, a, b))
        for mode in ("wrap", "clamp")
        for kind in ("u32", "s32")
    ),
    *((f"bmsk.{mode}.b32", (6, 6), lambda a, b, m=mode: bmsk(m, a, b)) for mode in ("wrap", "clamp")),
    *(
        (f"bfind.{kind}{bits}", (bits,), lambda a, n=bits, k=kind: bfind(a, n, k == "s", False))
        for kind in "us"
        for bits in (32, 64)
    ),
    *(
        (f"bfind.shiftamt.{kind}{bits}", (bits,), lambda a, n=bits, k=kind: bfind(a, n, k == "s", True))
        for kind in "us"
        for bits in (32, 64)
    ),
    *((f"clz.b{bits}", (bits,), lambda a, n=bits: n - a.bit_length()) for bits in (32, 64)),
    *((f"cnot.b{bits}", (bits,), lambda a: int(a == 0)) for bits in (16, 32, 64)),
    *((f"prmt.b32.{mode}", (32, 32, 3), lambda a, b, c, m=mode: prmt(m, a, b, c)) for mode in PERMUTED),
    *(
        (f"mul24.{part}.{kind}", (32, 32), lambda a, b, p=part, k=kind: mul24(p, k, a, b))
        for part in ("lo", "hi")
        for kind in ("u32", "s32")
    ),
    *(
        (f"mad24.{part}.{kind}", (32, 32, 32), lambda a, b, c, p=part, k=kind: mul24(p, k, a, b) + c & WORD)
        for part in ("lo", "hi")
        for kind in ("u32", "s32")
    ),
    ("mad24.hi.sat.s32", (32, 32, 32), lambda a, b, c: clamped(s32(mul24("hi", "s32", a, b)) + s32(c))),
    ("mad.hi.sat.s32", (32, 32, 32), lambda a, b, c: clamped((s32(a) * s32(b) >> 32) + s32(c))),
    ("add.sat.s32", (32, 32), lambda a, b: clamped(s32(a) + s32(b))),
    ("sub.sat.s32", (32, 32), lambda a, b: clamped(s32(a) - s32(b))),
    *(
        (f"dp2a.{half}.{one}.{other}", (32, 32, 32), lambda a, b, c, h=half, x=one, y=other: dp2a(h, x, y, a, b, c))
        for half in ("lo", "hi")
        for one in ("u32", "s32")
        for other in ("u32", "s32")
    ),
    *(
        (
            f"sad.{kind}{bits}",
            (bits,) * 3,
            lambda a, b, c, k=kind, n=bits: c + abs(signed(a, n) - signed(b, n) if k == "s" else a - b) & 2**n - 1,
        )
        for kind in "us"
        for bits in (16, 32, 64)
    ),
    ("min.relu.s32", (32, 32), lambda a, b: max(0, min(s32(a), s32(b)))),
    ("max.relu.s16x2", (32, 32), lambda a, b: pairwise(lambda x, y: max(0, x, y), a, b)),
    ("min.s16x2", (32, 32), lambda a, b: pairwise(min, a, b)),
    ("max.u16x2", (32, 32), lambda a, b: pairwise(lambda x, y: max(x & 0xFFFF, y & 0xFFFF), a, b)),
    ("add.u16x2", (32, 32), lambda a, b: pairwise(lambda x, y: x + y, a, b)),
    *(
        (f"cvt.sat.{to}.{of}", (int(of[1:]),), lambda a, t=to, f=of: saturated(a, t, f))
        for to, of in (("u8", "s32"), ("s8", "u16"), ("s16", "s64"), ("u32", "s64"), ("s64", "u64"), ("u64", "s8"))
    ),
    *((f"cvt.pack.sat.{sign}16.s32", (32, 32), lambda a, b, s=sign: packed(s, 16, a, b, 0)) for sign in "us"),
    *(
        (f"cvt.pack.sat.{sign}{bits}.s32.b32", (32, 32, 32), lambda a, b, c, s=sign, n=bits: packed(s, n, a, b, c))
        for sign in "us"
        for bits in (8, 4, 2)
    ),
]


def saturated(a: int, to: str, of: str) -> int:
    bits, wide = int(to[1:]), int(of[1:])
    number = signed(a, wide) if of[0] == "s" else a
    low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if to[0] == "s" else (0, 2**bits - 1)
    return clamp(number, low, high) & ((1 << bits) - 1)


def packed(sign: str, bits: int, a: int, b: int, c: int) -> int:
    low = -(2 ** (bits - 1)) if sign == "s" else 0
    one, other = (clamp(s32(each), low, low + 2**bits - 1) & ((1 << bits) - 1) for each in (a, b))
    return (c << 2 * bits | one << bits | other) & WORD


@pytest.mark.parametrize(("opcode", "widths", "oracle"), ORACLES, ids=[each[0] for each in ORACLES])
def test_integers_are_computed_as_the_manual_says(
    opcode: str, widths: tuple[int, ...], oracle: Callable[..., int]
) -> None:
    columns = [RNG.permutation(np.array(drawn(width), np.uint64)) for width in widths]
    if opcode == "fns.b32":
        columns[2] = (columns[2].astype(np.int64) - 4).astype(np.uint64) & np.uint64(WORD)
    expected = [oracle(*map(int, row)) for row in zip(*columns, strict=True)]
    assert computed(opcode, *columns).tolist() == expected


def test_lop3_is_any_function_of_three_bits() -> None:
    columns = [np.array(drawn(32), np.uint64) for _ in range(3)]
    rows = [[int(each[place]) for each in columns] for place in range(20)]
    for table in range(256):
        found = computed("lop3.b32", *(each[:20] for each in columns), table)
        assert found.tolist() == [lop3(a, b, c, table) for a, b, c in rows]


def test_lop3_tells_whether_there_is_a_result() -> None:
    body = """
    setp.lt.u32 %p2, %r1, 8;
    lop3.or.b32 %r3|%p1, %r1, 1, 0, 0x40, %p2;
    lop3.and.b32 _|%p3, %r1, 1, 0, 0x40, !%p2;
    selp.u32 %r4, 1, 0, %p1; selp.u32 %r5, 2, 0, %p3;
    or.b32 %r4, %r4, %r5; shl.b32 %r3, %r3, 4; or.b32 %r4, %r4, %r3; st.global.u32 [%d2], %r4;"""
    kept = [lop3(t, 1, 0, 0x40) for t in range(32)]
    expected = [kept[t] << 4 & WORD | (kept[t] != 0 or t < 8) | 2 * (kept[t] != 0 and t >= 8) for t in range(32)]
    assert words(body).arrays[0].tolist() == expected


def test_sums_and_products_of_128_bits_hand_on_their_carries() -> None:
    """Two numbers of 128 bits, by way of 32-bit and of 64-bit words; in a branch, too."""
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
        made = words(body, data.tolist())
        out = made.arrays[0].tobytes()
        found = [int.from_bytes(out[begin:end], "little") for begin, end in ((32, 48), (48, 64), (64, 96))]
        assert found == [(a + b) % 2**128, (a - b) % 2**128, a * b]


# Comparisons.


def test_a_comparison_tells_its_opposite_too() -> None:
    body = """
    setp.lt.xor.s32 %p1|%p2, %r1, 10, %p3; setp.lt.s32 %p4|%p5, %r1, 20;
    selp.u32 %r2, 1, 0, %p1; selp.u32 %r3, 2, 0, %p2; selp.u32 %r4, 4, 0, %p4; selp.u32 %r5, 8, 0, %p5;
    add.u32 %r2, %r2, %r3; add.u32 %r2, %r2, %r4; add.u32 %r2, %r2, %r5; st.global.u32 [%d2], %r2;"""
    made = words(f"setp.ge.u32 %p3, %r1, 5; {body}").arrays[0].tolist()
    expected = []
    for t in range(32):
        p3, less = t >= 5, t < 10
        expected.append((less != p3) + 2 * ((not less) != p3) + 4 * (t < 20) + 8 * (t >= 20))
    assert made == expected


def test_pairs_are_compared_half_by_half() -> None:
    low, high = np.array([1.0, math.nan, -0.0, 2.0], np.float16), np.array([0.5, 3.0, 0.0, math.nan], np.float16)
    pairs = (low.view(np.uint16) | high.view(np.uint16).astype(np.uint32) << 16).astype(np.uint64)
    ones = np.full(4, 0x3C003C00, np.uint64)
    found = operation(("setp", "leu", "f16x2"), 2)
    assert found is not None
    first, second = found.compute(pairs.astype(np.uint32), ones.astype(np.uint32))
    assert first.tolist() == [True, True, True, False]
    assert second.tolist() == [True, False, True, True]
    told = [hex(int(each)) for each in computed("set.le.f16x2.f16x2", pairs, ones)]
    assert told == ["0x3c003c00", "0x0", "0x3c003c00", "0x0"]
    told = [hex(int(each)) for each in computed("set.gt.and.u32.f16x2", pairs, ones, np.array([1, 1, 1, 1]))]
    assert told == ["0x0", "0xffff0000", "0x0", "0xffff"]


@pytest.mark.parametrize(
    ("opcode", "a", "b", "expected"),
    [
        ("set.lt.u32.f32", 0xBF800000, 0, WORD),
        ("set.lt.f32.s32", WORD, 0, 0x3F800000),
        ("set.lo.f32.u32", WORD, 0, 0),
        ("set.eq.s32.b64", 2**63, 2**63, WORD),
        ("set.ne.f16.f16", 0x3C00, 0xBC00, 0x3C00),
        ("set.ne.bf16.bf16", 0x3F80, 0xBF80, 0x3F80),
        ("set.num.u16.bf16", 0x7FC0, 0, 0),
        ("set.gt.ftz.s32.f32", 1, 0, 0),
        ("set.gt.s32.f32", 1, 0, WORD),
        ("set.gt.ftz.u16.f16", 1, 0, 0),
    ],
)
def test_truth_as_a_number(opcode: str, a: int, b: int, expected: int) -> None:
    assert hex(int(computed(opcode, a, b)[0])) == hex(expected)


def test_slct_takes_the_first_for_what_is_not_negative() -> None:
    for sign, first in (
        (0, True),
        (bits_of(-0.0, "f32"), True),
        (bits_of(-1.0, "f32"), False),
        (bits_of(math.nan, "f32"), False),
    ):
        assert int(computed("slct.u64.f32", 7, 8, sign)[0]) == (7 if first else 8)
    assert int(computed("slct.b32.f32", 7, 8, 0x80000001)[0]) == 8
    assert int(computed("slct.ftz.b32.f32", 7, 8, 0x80000001)[0]) == 7
    assert [int(computed("slct.f32.s32", 7, 8, sign)[0]) for sign in (0, WORD)] == [7, 8]


def test_decimal_numbers_are_those_of_any_float_type() -> None:
    stores = "st.global.f32 [%d1], %f1; st.global.f64 [%d1+8], %g1;"
    body = f"mov.f32 %f1, 1.5; add.f32 %f1, %f1, -2.5e0; mov.f64 %g1, 0.1; {stores}"
    out = words(body, block=(1,)).arrays[0]
    assert out[:1].view(np.float32)[0] == -1
    assert out[2:4].view(np.float64)[0] == 0.1
