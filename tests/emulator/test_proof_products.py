"""Random moves of tiles, and products of tensor cores, on elements of the field, compared with plain Python."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.emulator.proof_programs import OUTPUT, Proved, proved
from tests.emulator.test_proof_domain_programs import Number, elements_of, modulo

SHARED = ".shared .align 128 .b8 s[2048];"
ROWS = "mul.lo.u32 %r10, %r1, 16; mov.u32 %r11, s; add.u32 %r11, %r11, %r10;"  # of 16 bytes, one of each thread
TILE = "{%r2, %r3, %r4, %r5}"
Matrix = dict[tuple[int, int], Number]


def check(made: Proved, number: int, a: Matrix, b: Matrix, row: int, column: int) -> None:
    """Check one element of a product; ``b`` has the factors of each column."""
    terms = [value * b[k, column] for (i, k), value in a.items() if i == row]
    assert made.residues(number) == modulo(sum(term.residues[prime] for term in terms) for prime in range(2))


class Moves:
    """Random instructions that move the four registers of two halves of each lane, and the places of the halves."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.lines = [ROWS, "cvt.u64.u32 %d3, %r10; add.s64 %d3, %d3, %d1;", f"ld.global.v4.b32 {TILE}, [%d3];"]
        self.halves = [
            [[8 * lane + 2 * number, 8 * lane + 2 * number + 1] for number in range(4)] for lane in range(32)
        ]
        kinds = (self.shuffle, self.rotate, self.load_matrices, self.copy, self.exchange)
        for _ in range(self.random.randint(1, 5)):
            self.random.choice(kinds)()

    def shuffle(self) -> None:
        number, step = self.random.randrange(4), self.random.randrange(1, 32)
        self.lines.append(f"shfl.sync.bfly.b32 %r{2 + number}, %r{2 + number}, {step}, 31, -1;")
        before = [row[number] for row in self.halves]
        for lane, row in enumerate(self.halves):
            row[number] = before[lane ^ step]

    def rotate(self) -> None:
        """Store the registers of each lane, and load those of another one."""
        step = self.random.randrange(1, 32)
        self.lines.append(f"""bar.warp.sync -1; st.shared.v4.b32 [%r11], {TILE}; bar.warp.sync -1;
            add.u32 %r12, %r10, {16 * step}; and.b32 %r12, %r12, 511; mov.u32 %r13, s; add.u32 %r12, %r12, %r13;
            ld.shared.v4.b32 {TILE}, [%r12];""")
        self.halves = self.halves[step:] + self.halves[:step]

    def load_matrices(self) -> None:
        trans = self.random.choice(["", ".trans"])
        self.lines.append(f"""bar.warp.sync -1; st.shared.v4.b32 [%r11], {TILE}; bar.warp.sync -1;
            ldmatrix.sync.aligned.m8n8.x4{trans}.shared.b16 {TILE}, [%r11];""")
        rows = [[half for pair in row for half in pair] for row in self.halves]

        def half(lane: int, number: int, part: int) -> int:
            row, column = lane // 4, 2 * (lane % 4) + part
            row, column = (column, row) if trans else (row, column)
            return rows[8 * number + row][column]

        self.halves = [[[half(lane, n, part) for part in range(2)] for n in range(4)] for lane in range(32)]

    def copy(self) -> None:
        """Copy other elements asynchronously."""
        first = 16 * self.random.randrange(64)
        self.lines.append(f"""bar.warp.sync -1; cp.async.ca.shared.global [%r11], [%d3+{first}], 16;
            cp.async.wait_all; bar.warp.sync -1; ld.shared.v4.b32 {TILE}, [%r11];""")
        self.halves = self._loaded(first // 2)

    @staticmethod
    def _loaded(first: int) -> list[list[list[int]]]:
        """Return the halves of each register of each lane that loads 16 bytes, as numbers of elements."""
        begins = [first + 8 * lane for lane in range(32)]
        return [[[begin + 2 * number, begin + 2 * number + 1] for number in range(4)] for begin in begins]

    def exchange(self) -> None:
        number = 2 + self.random.randrange(4)
        self.lines.append(f"prmt.b32 %r{number}, %r{number}, 0, 0x1032;")
        for row in self.halves:
            row[number - 2].reverse()


@settings(max_examples=40, derandomize=True, database=None)
@given(seed=st.integers(0, 2**32), kind=st.sampled_from(["f16", "bf16"]))
def test_a_product_of_moved_halves_is_the_same_polynomial_as_in_python(seed: int, kind: str) -> None:
    moves = Moves(seed)
    sums = "{%f2, %f3, %f4, %f5}"
    made = proved(
        f"""{" ".join(moves.lines)} mul.wide.u32 %d4, %r1, 8; add.s64 %d4, %d4, %d1;
        ld.global.v2.b32 {{%r6, %r7}}, [%d4+512]; mov.b32 %f2, 0; mov.b32 %f3, 0; mov.b32 %f4, 0; mov.b32 %f5, 0;
        mma.sync.aligned.m16n8k16.row.col.f32.{kind}.{kind}.f32 {sums}, {TILE}, {{%r6, %r7}}, {sums};
        st.global.v4.f32 [%d3+{OUTPUT}], {sums};""",
        *(kind, "f32", 128),
        block=32,
        module=SHARED,
    )
    elements, a, b = elements_of(made), Matrix(), Matrix()
    for lane in range(32):
        group, thread = divmod(lane, 4)
        for number in range(4):
            for part in range(2):
                k = 2 * thread + part + 8 * (number // 2)
                a[group + 8 * (number % 2), k] = elements[moves.halves[lane][number][part]]
                if number % 2 == 0:
                    b[k, group] = elements[256 + 4 * lane + number + part]
    assert made.reasons == []
    for number in range(0, 128, 7):
        group, thread = divmod(number // 4, 4)
        check(made, number, a, b, group + 8 * (number % 4 // 2), 2 * thread + number % 2)


@pytest.mark.parametrize("kind", ["f16", "bf16", "s8", "u8"])
@pytest.mark.parametrize("layouts", ["row.row", "row.col", "col.row", "col.col"])
def test_a_product_by_wmma_is_the_same_polynomial_as_in_python(kind: str, layouts: str) -> None:
    whole = kind in ("s8", "u8")
    size, count, sums, file = (1, 2, "s32", "r") if whole else (2, 4 if kind == "bf16" else 8, "f32", "f")
    a, b = (", ".join(f"%r{first + number}" for number in range(count)) for first in (2, 2 + count))
    c = ", ".join(f"%{file}{10 + number}" for number in range(8))
    zeros = " ".join(f"mov.b32 {each}, 0;" for each in c.split(", "))
    of_a, of_b = layouts.split(".")
    types = f"s32.{kind}.{kind}.s32" if whole else "f32.bf16.bf16.f32" if kind == "bf16" else "f32.f32"
    shape = "m16n16k16"
    made = proved(
        f"""wmma.load.a.sync.aligned.{of_a}.{shape}.global.{kind} {{{a}}}, [%d1], 16;
        wmma.load.b.sync.aligned.{of_b}.{shape}.global.{kind} {{{b}}}, [%d1+{256 * size}], 16; {zeros}
        wmma.mma.sync.aligned.{layouts}.{shape}.{types} {{{c}}}, {{{a}}}, {{{b}}}, {{{c}}};
        wmma.store.d.sync.aligned.row.{shape}.global.{sums} [%d1+{OUTPUT}], {{{c}}}, 16;""",
        *(kind, sums, 256),
        block=32,
    )
    elements = elements_of(made)
    assert made.reasons == []
    left = _matrix(lambda i, k: elements[16 * i + k if of_a == "row" else 16 * k + i])
    right = _matrix(lambda k, j: elements[256 + (16 * k + j if of_b == "row" else 16 * j + k)])
    for number in range(0, 256, 5):
        check(made, number, left, right, *divmod(number, 16))


def _matrix(element: Callable[[int, int], Number]) -> Matrix:
    return {(row, column): element(row, column) for row in range(16) for column in range(16)}


def test_a_product_by_wgmma_is_the_same_polynomial_as_in_python() -> None:
    """A has 64 rows of core matrices; B is read from the first of them, without a swizzle."""
    sums = "{%f2, %f3, %f4, %f5}"
    made = proved(
        f"""{ROWS} cvt.u64.u32 %d3, %r10; add.s64 %d3, %d3, %d1; ld.global.v4.b32 {TILE}, [%d3];
        st.shared.v4.b32 [%r11], {TILE}; fence.proxy.async.shared::cta; bar.sync 0;
        mov.u32 %r12, s; and.b32 %r12, %r12, 0x3FFFF; shr.u32 %r12, %r12, 4; cvt.u64.u32 %d4, %r12;
        or.b64 %d4, %d4, {(128 >> 4) << 16 | (256 >> 4) << 32};
        wgmma.fence.sync.aligned; setp.ne.u32 %p1, %r1, %r1;
        wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {sums}, %d4, %d4, %p1, 1, 1, 0, 0;
        wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;
        st.global.v4.f32 [%d3+{OUTPUT}], {sums};""",
        *("f16", "f32", 512),
        block=128,
        module=SHARED,
    )
    elements, a, b = elements_of(made), Matrix(), Matrix()
    for k in range(16):
        for row in range(64):
            a[row, k] = elements[128 * (row // 8) + 64 * (k // 8) + 8 * (row % 8) + k % 8]
        for column in range(8):
            b[k, column] = elements[64 * (k // 8) + 8 * column + k % 8]
    assert made.reasons == []
    for number in range(0, 512, 11):
        warp, lane, register = number // 128, number // 4 % 32, number % 4
        check(made, number, a, b, 16 * warp + lane // 4 + 8 * (register // 2), 2 * (lane % 4) + register % 2)


def test_a_product_of_doubles_is_the_same_polynomial_as_in_python() -> None:
    made = proved(
        f"""mul.wide.u32 %d3, %r1, 8; add.s64 %d3, %d3, %d1; ld.global.f64 %g1, [%d3]; ld.global.f64 %g2, [%d3+256];
        mov.f64 %g3, 0d0000000000000000; mov.f64 %g4, 0d0000000000000000;
        mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {{%g3, %g4}}, {{%g1}}, {{%g2}}, {{%g3, %g4}};
        mul.wide.u32 %d4, %r1, 16; add.s64 %d4, %d4, %d1; st.global.v2.f64 [%d4+{OUTPUT}], {{%g3, %g4}};""",
        *("f64", "f64", 64),
        block=32,
    )
    elements = elements_of(made)
    a = {(lane // 4, lane % 4): elements[lane] for lane in range(32)}
    b = {(lane % 4, lane // 4): elements[32 + lane] for lane in range(32)}
    assert made.reasons == []
    for number in range(64):
        check(made, number, a, b, number // 8, number % 8)
