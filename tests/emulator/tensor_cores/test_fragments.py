"""Fragments of matrices: their layouts by PTX ISA's formulas, and products of fragments by numpy's."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from mmcore_emulator.isa.matrix import mma, wmma
from mmcore_emulator.isa.matrix import moves as matrix_moves
from mmcore_emulator.tensor_cores import elements, fragments
from mmcore_emulator.tensor_cores.fragments import Fragment, fragment, wmma_fragment
from tests.tables import table, words_of

Array = NDArray[Any]
WARPS = 3
RNG = np.random.default_rng(7)


def opcode(text: str) -> tuple[str, ...]:
    return tuple(text.split("."))


def mma_kind(text: str) -> mma.MmaKind:
    whole = opcode(text)
    kind = wmma.wmma_mma_kind(whole) if whole[0] == "wmma" else mma.mma_kind(whole)
    assert kind is not None
    return kind


def random_registers(held: Fragment) -> list[Array]:
    shape = (held.register_count // held.copies, WARPS, held.thread_count)
    if held.bits == 64:
        return list(RNG.standard_normal(shape)) * held.copies
    return list(RNG.integers(0, 2**32, shape, np.uint32)) * held.copies


def assert_sound(held: Fragment, matrices: int = 1) -> None:
    """Assert that packing undoes unpacking, and that every element is held once for each copy."""
    registers = random_registers(held)
    raw = held.unpack(registers)
    assert raw.shape[-2:] == held.shape
    for before, after in zip(registers, held.pack(raw), strict=True):
        assert after.dtype == before.dtype
        np.testing.assert_array_equal(after, before)
    row, column = held.coordinates
    assert row.shape == (held.register_count, held.thread_count, max(32 // held.bits, 1))
    times = np.zeros(held.shape, int)
    np.add.at(times, (row, column), 1)
    assert (times == held.copies * matrices).all()


# Registers of D, A, B and C; those of wmma as NVRTC counts them.
MMA = """
    m8n8k4.row.col.f64.f64.f64.f64  2 1 1 2;           m16n8k4.row.col.f64.f64.f64.f64.rn  4 2 1 4
    m16n8k8.row.col.f64.f64.f64.f64  4 4 2 4;          m16n8k16.row.col.f64.f64.f64.f64  4 8 4 4
    m16n8k8.row.col.f32.f16.f16.f32  4 2 1 4;          m16n8k16.row.col.f32.f16.f16.f32  4 4 2 4
    m16n8k16.row.col.f16.f16.f16.f16  2 4 2 2;         m16n8k8.row.col.f32.bf16.bf16.f32  4 2 1 4
    m16n8k16.row.col.f32.bf16.bf16.f32  4 4 2 4;       m16n8k4.row.col.f32.tf32.tf32.f32  4 2 1 4
    m16n8k8.row.col.f32.tf32.tf32.f32  4 4 2 4;        m16n8k16.row.col.f32.e4m3.e5m2.f32  4 2 1 4
    m16n8k32.row.col.f16.e5m2.e4m3.f16  2 4 2 2;       m8n8k16.row.col.s32.s8.u8.s32  2 1 1 2
    m16n8k16.row.col.satfinite.s32.u8.u8.s32 4 2 1 4;  m16n8k32.row.col.s32.s8.s8.s32  4 4 2 4
    m8n8k32.row.col.s32.s4.s4.s32  2 1 1 2;            m16n8k32.row.col.s32.u4.s4.s32  4 2 1 4
    m16n8k64.row.col.s32.s4.u4.s32  4 4 2 4;           m8n8k4.ANY.ANY.f16.f16.f16.f16  4 2 2 4
    m8n8k4.ANY.ANY.f32.f16.f16.f16  8 2 2 4;           m8n8k4.ANY.ANY.f32.f16.f16.f32  8 2 2 8
"""
WMMA = """
    row.col.m16n16k16.f32.f32  8 8 8 8;                row.col.m16n16k16.f16.f16  4 8 8 4
    col.row.m16n16k16.f16.f32  4 8 8 8;                row.row.m32n8k16.f32.f32  8 8 8 8
    col.col.m8n32k16.f16.f16  4 8 8 4;                 row.col.m8n32k16.f32.f16  8 8 8 4
    row.col.m16n16k16.f32.bf16.bf16.f32  8 4 4 8;      row.row.m32n8k16.f32.bf16.bf16.f32  8 8 2 8
    col.row.m8n32k16.f32.bf16.bf16.f32  8 2 8 8;       row.col.m16n16k16.s32.s8.s8.s32  8 2 2 8
    col.row.m32n8k16.s32.u8.u8.s32.satfinite 8 4 1 8;  row.col.m8n32k16.s32.s8.s8.s32  8 1 4 8
    row.row.m16n16k8.f32.tf32.tf32.f32  8 4 4 8;       row.col.m8n8k4.f64.f64.f64.f64.rn  2 1 1 2
    row.col.m8n8k32.s32.s4.s4.s32  2 1 1 2
"""


@table("text counts", MMA + WMMA)
def test_fragments_hold_every_element_once(text: str, counts: str) -> None:
    text = ("mma" if text.startswith("m") else "wmma.mma") + ".sync.aligned." + text
    layouts = product(("row", "col"), repeat=2) if "ANY" in text else [("", "")]
    for a, b in layouts:
        kind = mma_kind(text.replace("ANY", a, 1).replace("ANY", b))
        assert " ".join(str(each.register_count) for each in kind.fragments()) == counts
        m, n, k = kind.shape
        assert [held.shape for held in kind.fragments()] == [(m, n), (m, k), (k, n), (m, n)]
        for held in kind.fragments():
            assert_sound(held, 4 if "q" in held.matrices else 1)


@table(
    "parsers text expected",
    """
    mma  mma.sync.aligned.m16n8k32.row.col.satfinite.s32.s8.u8.s32 16,8,32 row,col s32 s8 u8 s32 satfinite=True
    mma                mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e4m3.e4m3.f32   none
    mma                mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32               none
    mma                mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.xor.popc          none
    mma                mma.sync.aligned.m16n8k16.col.row.f32.f16.f16.f32                  none
    mma                mma.sync.aligned.m16n8k16.row.col.f32.f16.bf16.f32                 none
    mma                mma.sync.aligned.m16n8k16.row.col.f16.bf16.bf16.f16                none
    mma                mma.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32                  none
    mma                wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32                    none
    mma                add.f32                                                            none
    wmma_move          wmma.load.b.sync.aligned.col.m16n16k16.global.f16 B False col 16,16,16 global f16
    wmma_mma,wmma_move wmma.load.a.sync.aligned.row.m16n16k16.f64                         none
    wmma_mma,wmma_move wmma.load.a.sync.aligned.col.m8n8k128.b1                           none
    wmma_mma,wmma_move wmma.mma.or.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32       none
    wmma_mma,wmma_move wmma.mma.sync.aligned.row.col.m16n16k8.f32.f32                     none
    wmma_mma,wmma_move ld.f32                                                             none
    matrix_move        stmatrix.sync.aligned.m8n8.x2.trans.shared.b16                     2 True shared
    matrix_move        ldmatrix.sync.aligned.m8n8.x1.b16                                  1 False generic
    matrix_move        ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8                    none
    matrix_move        ldmatrix.sync.aligned.m8n8.x3.b16                                  none
    matrix_move        bar.sync                                                           none
    """,
)
def test_forms_of_opcodes(parsers: str, text: str, expected: str) -> None:
    known: dict[str, Any] = {"mma": mma.mma_kind, "wmma_mma": wmma.wmma_mma_kind}
    known |= {"wmma_move": wmma.wmma_move, "matrix_move": matrix_moves.matrix_move}
    for parser in parsers.split(","):
        assert words_of(known[parser](opcode(text))) == expected


# Row and column of element i of a thread, of group g = lane / 4 and number t = lane % 4, for the first elements of it.
@table(
    "matrix shape types first formula",
    """
    A  16,8,16  f16        8   g + 8*(i//2%2), 2*t + i%2 + 8*(i//4)
    B  16,8,16  bf16       4   2*t + i%2 + 8*(i//2), g
    C  16,8,16  f32,f16    4   g + 8*(i//2), 2*t + i%2
    A  16,8,8   f64,tf32   4   g + 8*(i%2), t + 4*(i//2)
    B  16,8,8   f64,tf32   2   t + 4*i, g
    A  16,8,16  f64        8   g + 8*(i%2), t + 4*(i//2)
    B  16,8,16  f64        4   t + 4*i, g
    A  16,8,32  e4m3       16  g + 8*(i//4%2), 4*t + i%4 + 16*(i//8)
    B  16,8,32  s8         8   4*t + i%4 + 16*(i//4), g
    A  16,8,16  u8         8   g + 8*(i//4), 4*t + i%4
    A  16,8,64  s4         32  g + 8*(i//8%2), 8*t + i%8 + 32*(i//16)
    # Two groups of four threads, one in each half of the warp, share a product.
    A.row 8,8,4  f16       4   t + 4*(g//4), i
    A.col 8,8,4  f16       4   i + 4*(g//4), t
    B.row 8,8,4  f16       4   t, i + 4*(g//4)
    B.col 8,8,4  f16       4   i, t + 4*(g//4)
    C     8,8,4  f16       8   t + 4*(g//4), i
    C     8,8,4  f32       8   t%2 + (i & 2) + 4*(g//4), (i & 4) + (t & 2) + i%2
    # As the loads and stores of wmma have it that NVRTC makes for sm_80; some elements are held twice.
    wmma.A 16,16,16 f16     16  g + 8*(i//2%2), 2*t + i%2 + 8*(i//4%2)
    wmma.A 32,8,16  f16     16  g + 8*(i//2%2) + 16*(i//8), 2*t + i%2 + 8*(i//4%2)
    wmma.A 8,32,16  f16     16  g + 0*i, 2*t + i%2 + 8*(i//2%2)
    wmma.A 16,16,8  tf32    4   g + 8*(i%2), t + 4*(i//2)
    wmma.B 16,16,16 bf16    8   2*t + i%2 + 8*(i//2%2), g + 8*(i//4)
    wmma.B 8,32,16  f16     16  2*t + i%2 + 8*(i//4%2), g + 8*(i//2%2) + 16*(i//8)
    wmma.C 16,16,16 f16,f32 8   g + 8*(i//2%2), 2*t + i%2 + 8*(i//4)
    wmma.C 32,8,16  f32     8   g + 8*(i//2), 2*t + i%2
    wmma.C 8,32,16  s32     8   2*t + i%2, g + 8*(i//2)
    """,
)
def test_elements_of_a_thread_are_where_the_formulas_say(
    matrix: str, shape: str, types: str, first: str, formula: str
) -> None:
    lane, i = np.ogrid[:32, : int(first)]
    expected = eval(formula, {"g": lane // 4, "t": lane % 4, "i": i})
    sizes: Any = tuple(map(int, shape.split(",")))
    letter: Any = matrix.removeprefix("wmma.").partition(".")[0]
    layout: Any = ("row", "col")[matrix.endswith("col")]
    for type in types.split(","):
        wmma = matrix.startswith("wmma")
        held = wmma_fragment(letter, sizes, type) if wmma else fragment(letter, sizes, type, layout)
        for found, wanted in zip(held.coordinates, expected, strict=True):
            of_thread = found.transpose(1, 0, 2).reshape(32, -1)[:, : int(first)]
            np.testing.assert_array_equal(of_thread, np.broadcast_to(wanted, of_thread.shape))


def test_four_products_of_a_warp() -> None:
    """Those of threads 0 to 3 and 16 to 19 are the first, of 4 to 7 and 20 to 23 the second."""
    lanes = np.broadcast_to(np.arange(32, dtype=np.uint32), (1, 32))
    raw = fragment("A", (8, 8, 4), "f16", "row").unpack([lanes * 0x10001] * 2)
    assert raw.shape == (1, 4, 8, 4)
    assert raw[0, 1, :, 0].tolist() == [4, 5, 6, 7, 20, 21, 22, 23]


@pytest.mark.parametrize("type", ["f16", "bf16", "tf32", "e4m3", "u8"])
def test_fragments_of_wgmma_a(type: str) -> None:
    held = fragments.wgmma_a(type)
    assert (held.register_count, held.shape) == (4, (64, 256 // held.bits))
    assert_sound(held)
    registers = random_registers(held)
    raw = fragment("A", (16, 8, held.shape[1]), type).unpack([each.reshape(-1, 32) for each in registers])
    np.testing.assert_array_equal(held.unpack(registers), raw.reshape(WARPS, *held.shape))


@pytest.mark.parametrize(("type", "width"), [("f32", 1), ("s32", 1), ("f16", 2)])
@pytest.mark.parametrize("n", [8, 24, 256])
def test_fragments_of_wgmma_d(n: int, type: str, width: int) -> None:
    held = fragments.wgmma_d(n, type)
    assert (held.register_count, held.shape) == (n // 2 // width, (64, n))
    assert_sound(held)
    row, column = (each.transpose(1, 0, 2).reshape(128, -1) for each in held.coordinates)
    thread, i = np.ogrid[:128, : n // 2]  # PTX ISA 9.7.15.5.1.1.1
    np.testing.assert_array_equal(row, 16 * (thread // 32) + thread % 32 // 4 + 8 * (i // 2 % 2))
    np.testing.assert_array_equal(column, 8 * (i // 4) + thread % 4 * 2 + i % 2)
    registers = random_registers(held)
    np.testing.assert_array_equal(held.unpack([each.reshape(-1, 4, 32) for each in registers]), held.unpack(registers))


# Moves between memory and fragments


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("count", [1, 2, 4])
def test_stmatrix_stores_what_ldmatrix_loads(count: int, transposed: bool) -> None:
    rows = RNG.integers(0, 2**16, (WARPS, count, 8, 8), np.uint16)
    registers = matrix_moves.registers_of_rows(rows, transposed)
    assert [register.shape for register in registers] == [(WARPS, 32)] * count
    row, column = (3, 4) if not transposed else (4, 3)
    assert registers[-1][1, 14] & 0xFFFF == rows[1, -1, row, column]  # thread 4·3 + 2
    np.testing.assert_array_equal(matrix_moves.rows_of_registers(registers, transposed), rows)


def wmma_move(text: str) -> wmma.WmmaMove:
    move = wmma.wmma_move(opcode(text))
    assert move is not None
    return move


@pytest.mark.parametrize("layout", ["row", "col"])
@table("text counts", WMMA)
def test_wmma_loads_and_stores_matrices(text: str, counts: str, layout: str) -> None:
    """Each warp's matrix has another stride when it is loaded, and none between its lines when it is stored."""
    kind, warps, strides = mma_kind("wmma.mma.sync.aligned." + text), np.arange(WARPS), np.array([40, 48, 56])
    name = "m{}n{}k{}".format(*kind.shape)
    for letter, layout_of, held in zip("abc", (*kind.layouts, layout), kind.fragments()[1:], strict=True):
        move = wmma_move(f"wmma.load.{letter}.sync.aligned.{layout_of}.{name}.shared.{held.type}")
        matrix = held.unpack(held.pack(RNG.integers(0, 16, (WARPS, *held.shape)).astype(elements.RAW[held.bits])))
        memory = np.zeros((WARPS, 64 * 64), matrix.dtype)
        for warp in warps:
            lines = matrix[warp] if layout_of == "row" else matrix[warp].T
            memory[warp, np.arange(len(lines))[:, np.newaxis] * strides[warp] + np.arange(lines.shape[1])] = lines
        parts = memory[warps.reshape(1, -1, 1, 1), move.offsets(strides)]
        registers = [*elements.join_parts(parts, move.type)] * move.fragment.copies
        assert len(registers) == move.fragment.register_count
        np.testing.assert_array_equal(held.unpack(registers), matrix)
    held, move = kind.fragments()[0], wmma_move(f"wmma.store.d.sync.aligned.{layout}.{name}.{kind.d}")
    matrix = RNG.integers(0, 2**16, (WARPS, *held.shape)).astype(elements.RAW[held.bits])
    parts = elements.split_parts(np.stack(held.pack(matrix)), move.type)
    memory = np.zeros((WARPS, matrix[0].size), parts.dtype)
    memory[warps.reshape(1, -1, 1, 1), move.offsets(move.default_stride)] = parts
    assert move.store
    lines = matrix if layout == "row" else matrix.swapaxes(1, 2)
    np.testing.assert_array_equal(memory.reshape(lines.shape), lines)


def test_strides_of_wmma_moves() -> None:
    move = wmma_move("wmma.load.b.sync.aligned.col.m16n16k16.global.f16")
    assert (move.side_by_side, move.default_stride) == (True, 16)
    assert not wmma_move("wmma.load.b.sync.aligned.row.m16n16k16.shared::cta.f16").side_by_side
    assert wmma_move("wmma.store.d.sync.aligned.col.m8n32k16.f16").side_by_side
