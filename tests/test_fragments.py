"""Fragments of matrices: layouts against PTX ISA's formulas, and products through them against numpy's."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from mmcore_emulator.isa import matrix_moves, wmma
from mmcore_emulator.isa.mma import MmaKind, mma_kind
from mmcore_emulator.tensor_cores import elements, layouts
from mmcore_emulator.tensor_cores.fragments import Fragment
from mmcore_emulator.tensor_cores.layouts import fragment

WARPS = 3
RNG = np.random.default_rng(7)
KINDS = [
    "m8n8k4.row.col.f64.f64.f64.f64",
    "m16n8k4.row.col.f64.f64.f64.f64.rn",
    "m16n8k8.row.col.f64.f64.f64.f64",
    "m16n8k16.row.col.f64.f64.f64.f64",
    "m16n8k8.row.col.f32.f16.f16.f32",
    "m16n8k16.row.col.f32.f16.f16.f32",
    "m16n8k16.row.col.f16.f16.f16.f16",
    "m16n8k8.row.col.f32.bf16.bf16.f32",
    "m16n8k16.row.col.f32.bf16.bf16.f32",
    "m16n8k4.row.col.f32.tf32.tf32.f32",
    "m16n8k8.row.col.f32.tf32.tf32.f32",
    "m16n8k16.row.col.f32.e4m3.e5m2.f32",
    "m16n8k32.row.col.f16.e5m2.e4m3.f16",
    "m8n8k16.row.col.s32.s8.u8.s32",
    "m16n8k16.row.col.satfinite.s32.u8.u8.s32",
    "m16n8k32.row.col.s32.s8.s8.s32",
    "m8n8k32.row.col.s32.s4.s4.s32",
    "m16n8k32.row.col.s32.u4.s4.s32",
    "m16n8k64.row.col.s32.s4.u4.s32",
    *(
        f"m8n8k4.{a}.{b}.{d}.f16.f16.{c}"
        for a, b, (d, c) in product(("row", "col"), ("row", "col"), (("f16", "f16"), ("f32", "f16"), ("f32", "f32")))
    ),
]


def opcode(text: str) -> tuple[str, ...]:
    return tuple(text.split("."))


def kind_of(text: str) -> MmaKind:
    kind = mma_kind(opcode("mma.sync.aligned." + text))
    assert kind is not None
    return kind


def random_registers(held: Fragment) -> list[NDArray[Any]]:
    shape = (held.register_count // held.copies, WARPS, held.thread_count)
    if held.bits == 64:
        return list(RNG.standard_normal(shape)) * held.copies
    return list(RNG.integers(0, 2**32, shape, np.uint32)) * held.copies


def assert_sound(held: Fragment, matrices: int = 1) -> None:
    """The same registers come back, and every element is held once for each copy."""
    registers = random_registers(held)
    raw = held.unpack(registers)
    assert raw.shape[-2:] == held.shape
    packed = held.pack(raw)
    assert len(packed) == held.register_count
    for given, back in zip(registers, packed, strict=True):
        assert back.dtype == given.dtype
        np.testing.assert_array_equal(back, given)
    row, column = held.coordinates
    assert row.shape == (held.register_count, held.thread_count, max(32 // held.bits, 1))
    times = np.zeros(held.shape, int)
    np.add.at(times, (row, column), 1)
    assert (times == held.copies * matrices).all()


@pytest.mark.parametrize("text", KINDS)
def test_fragments_of_mma_hold_every_element_once(text: str) -> None:
    kind = kind_of(text)
    m, n, k = kind.shape
    shapes = [held.shape for held in kind.fragments()]
    assert shapes == [(m, n), (m, k), (k, n), (m, n)]
    for held in kind.fragments():
        assert_sound(held, 4 if "q" in held.matrices else 1)


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ("m16n8k16.row.col.f32.f16.f16.f32", (4, 4, 2, 4)),
        ("m16n8k16.row.col.f16.f16.f16.f16", (2, 4, 2, 2)),
        ("m16n8k8.row.col.f32.tf32.tf32.f32", (4, 4, 2, 4)),
        ("m16n8k32.row.col.s32.s8.s8.s32", (4, 4, 2, 4)),
        ("m16n8k16.row.col.f64.f64.f64.f64", (4, 8, 4, 4)),
        ("m8n8k4.row.col.f64.f64.f64.f64", (2, 1, 1, 2)),
        ("m8n8k4.col.row.f32.f16.f16.f16", (8, 2, 2, 4)),
        ("m16n8k64.row.col.s32.s4.s4.s32", (4, 4, 2, 4)),
    ],
)
def test_registers_of_mma(text: str, counts: tuple[int, ...]) -> None:
    assert kind_of(text).register_counts == counts


@pytest.mark.parametrize(
    "text",
    [
        "mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e4m3.e4m3.f32",
        "mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
        "mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.xor.popc",
        "mma.sync.aligned.m16n8k16.col.row.f32.f16.f16.f32",
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.bf16.f32",
        "mma.sync.aligned.m16n8k16.row.col.f16.bf16.bf16.f16",
        "mma.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32",
        "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32",
        "add.f32",
    ],
)
def test_no_mma(text: str) -> None:
    assert mma_kind(opcode(text)) is None


def test_opcode_of_mma() -> None:
    kind = kind_of("m16n8k32.row.col.satfinite.s32.s8.u8.s32")
    assert kind == MmaKind((16, 8, 32), ("row", "col"), "s32", "s8", "u8", "s32", satfinite=True)


def place(held: Fragment, lane: int, i: int) -> tuple[int, int]:
    """Row and column of element i of a thread, counted over its registers from their low bits."""
    row, column = held.coordinates
    return int(row[:, lane].reshape(-1)[i]), int(column[:, lane].reshape(-1)[i])


LANES = (0, 1, 5, 18, 31)


@pytest.mark.parametrize("lane", LANES)
def test_formulas_of_m16n8k16_of_halves(lane: int) -> None:
    group, thread = lane >> 2, lane % 4
    for i in range(8):
        row = group if i < 2 or 4 <= i < 6 else group + 8
        assert place(fragment("A", (16, 8, 16), "f16"), lane, i) == (row, thread * 2 + (i & 1) + (8 if i >= 4 else 0))
    for i in range(4):
        row = thread * 2 + (i & 1) + (8 if i >= 2 else 0)
        assert place(fragment("B", (16, 8, 16), "bf16"), lane, i) == (row, group)
        at = (group if i < 2 else group + 8, thread * 2 + (i & 1))
        assert place(fragment("C", (16, 8, 16), "f32"), lane, i) == at
        assert place(fragment("C", (16, 8, 16), "f16"), lane, i) == at


@pytest.mark.parametrize("lane", LANES)
@pytest.mark.parametrize("type", ["f64", "tf32"])
def test_formulas_of_m16n8k8_of_words(lane: int, type: str) -> None:
    group, thread = lane >> 2, lane % 4
    for i in range(4):
        at = (group if i in (0, 2) else group + 8, thread if i < 2 else thread + 4)
        assert place(fragment("A", (16, 8, 8), type), lane, i) == at
    for i in range(2):
        assert place(fragment("B", (16, 8, 8), type), lane, i) == (thread + 4 * i, group)


@pytest.mark.parametrize("lane", LANES)
def test_formulas_of_m16n8k16_of_doubles(lane: int) -> None:
    group, thread = lane >> 2, lane % 4
    for i in range(8):
        at = (group, i * 2 + thread) if i % 2 == 0 else (group + 8, i * 2 - 2 + thread)
        assert place(fragment("A", (16, 8, 16), "f64"), lane, i) == at
    for i in range(4):
        assert place(fragment("B", (16, 8, 16), "f64"), lane, i) == (thread + i * 4, group)


@pytest.mark.parametrize("lane", LANES)
def test_formulas_of_bytes_and_nibbles(lane: int) -> None:
    group, thread = lane >> 2, lane % 4
    for i in range(16):
        row = group if i < 4 or 8 <= i < 12 else group + 8
        at = (row, thread * 4 + (i & 3) + (16 if i >= 8 else 0))
        assert place(fragment("A", (16, 8, 32), "e4m3"), lane, i) == at
    for i in range(8):
        at = (thread * 4 + (i & 3) + (16 if i >= 4 else 0), group)
        assert place(fragment("B", (16, 8, 32), "s8"), lane, i) == at
        assert place(fragment("A", (16, 8, 16), "u8"), lane, i) == (group + 8 * (i >= 4), thread * 4 + (i & 3))
    for i in range(32):
        row = group if i < 8 or 16 <= i < 24 else group + 8
        at = (row, thread * 8 + (i & 7) + (32 if i >= 16 else 0))
        assert place(fragment("A", (16, 8, 64), "s4"), lane, i) == at


@pytest.mark.parametrize("lane", LANES)
def test_formulas_of_quad_pairs(lane: int) -> None:
    upper = 0 if lane < 16 else 4
    for i in range(4):
        assert place(fragment("A", (8, 8, 4), "f16", "row"), lane, i) == (lane % 4 + upper, i)
        assert place(fragment("A", (8, 8, 4), "f16", "col"), lane, i) == (i + upper, lane % 4)
        assert place(fragment("B", (8, 8, 4), "f16", "row"), lane, i) == (lane % 4, i + upper)
        assert place(fragment("B", (8, 8, 4), "f16", "col"), lane, i) == (i, lane % 4 + upper)
    for i in range(8):
        assert place(fragment("C", (8, 8, 4), "f16"), lane, i) == (lane % 4 + upper, i)
        row = (lane & 1) + (i & 2) + upper
        assert place(fragment("C", (8, 8, 4), "f32"), lane, i) == (row, (i & 4) + (lane & 2) + (i & 1))


def test_four_products_of_a_warp() -> None:
    """Those of threads 0 to 3 and 16 to 19 are the first, of 4 to 7 and 20 to 23 the second."""
    held = fragment("A", (8, 8, 4), "f16", "row")
    lanes = np.broadcast_to(np.arange(32, dtype=np.uint32), (1, 32))
    raw = held.unpack([lanes * 0x10001] * 2)
    assert raw.shape == (1, 4, 8, 4)
    assert raw[0, 1, :, 0].tolist() == [4, 5, 6, 7, 20, 21, 22, 23]


def test_values() -> None:
    def of(bits: int, type: str) -> float:
        held = {4: np.uint8, 8: np.uint8, 16: np.uint16, 32: np.uint32}[elements.BITS[type]]
        return float(elements.values(np.array([bits], held), type)[0])

    assert of(0x3C01, "f16") == 1 + 2**-10
    assert of(0x3F80, "bf16") == 1
    assert of(0x3F803FFF, "tf32") == 1 + 2**-10
    assert of(0x7E, "e4m3") == 448
    assert of(0x7B, "e5m2") == 57344
    assert of(0x3F800001, "f32") == 1 + 2**-23
    assert (of(0xFF, "s8"), of(0xFF, "u8"), of(0xF, "s4"), of(0xF, "u4")) == (-1, 255, -1, 15)
    assert of(0x80000000, "s32") == -(2**31)
    assert elements.values(np.array([1.5]), "f64")[0] == 1.5


@pytest.mark.parametrize("type", ["e4m3", "e5m2"])
def test_values_of_8_bits_two_at_once(type: str) -> None:
    bits = np.arange(256, dtype=np.uint8)
    one_by_one = np.array([elements.values(bits[i : i + 1], type)[0] for i in range(256)])
    for shape in ((256,), (4, 8, 8)):
        np.testing.assert_array_equal(elements.values(bits.reshape(shape), type), one_by_one.reshape(shape))
    np.testing.assert_array_equal(elements.values(bits.reshape(4, 64).T, type), one_by_one.reshape(4, 64).T)
    assert np.signbit(elements.values(bits[128:130], type)).all()


@pytest.mark.parametrize(
    ("type", "dtype"), [("f16", np.float16), ("f32", np.float32), ("f64", np.float64), ("s32", np.int32)]
)
def test_bits_of_results(type: str, dtype: type[np.generic]) -> None:
    numbers = RNG.integers(-9, 9, (WARPS, 16, 8)).astype(dtype)
    registers = fragment("C", (16, 8, 16), type).pack(elements.bits_of(numbers, type))
    np.testing.assert_array_equal(
        elements.values(fragment("C", (16, 8, 16), type).unpack(registers), type), numbers.astype(np.float64)
    )


def halves(*shape: int) -> NDArray[np.float16]:
    return RNG.integers(-8, 8, shape).astype(np.float16)


@pytest.mark.parametrize("column_major", [False, True])
def test_ldmatrix_feeds_mma(column_major: bool) -> None:
    """A by x4 from rows; B by x2 from its columns, or by x2.trans from its rows."""
    a, b = halves(WARPS, 16, 16), halves(WARPS, 16, 8)
    lane = np.broadcast_to(np.arange(32), (WARPS, 32))
    load = matrix_moves.matrix_move(opcode("ldmatrix.sync.aligned.m8n8.x4.shared.b16"))
    assert load is not None
    a_registers = loaded(a, lane % 16 * 16 + lane // 16 * 8, load)
    text = (
        "ldmatrix.sync.aligned.m8n8.x2.shared::cta.b16" if column_major else "ldmatrix.sync.aligned.m8n8.x2.trans.b16"
    )
    move = matrix_moves.matrix_move(opcode(text))
    assert move is not None
    if column_major:
        b_registers = loaded(b.swapaxes(1, 2), lane % 8 * 16 + lane // 8 % 2 * 8, move)
    else:
        b_registers = loaded(b, lane % 16 * 8, move)
    _, held_a, held_b, _ = kind_of("m16n8k16.row.col.f32.f16.f16.f32").fragments()
    product = elements.values(held_a.unpack(a_registers), "f16") @ elements.values(held_b.unpack(b_registers), "f16")
    np.testing.assert_array_equal(product, a.astype(np.float64) @ b.astype(np.float64))


def loaded(matrix: NDArray[Any], addresses: NDArray[Any], move: matrix_moves.MatrixMove) -> list[NDArray[Any]]:
    """Registers of an ldmatrix from matrices ``[W, ...]``; addresses ``[W, 32]`` count elements of a warp's matrix."""
    memory = np.ascontiguousarray(matrix).view(np.uint16).reshape(WARPS, -1)
    first = addresses[:, : 8 * move.count].reshape(-1, move.count, 8)
    rows = np.stack([memory[warp, first[warp][..., np.newaxis] + np.arange(8)] for warp in range(WARPS)])
    return matrix_moves.registers_of_rows(rows, move.transposed)


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("count", [1, 2, 4])
def test_stmatrix_stores_what_ldmatrix_loads(count: int, transposed: bool) -> None:
    rows = RNG.integers(0, 2**16, (WARPS, count, 8, 8), np.uint16)
    registers = matrix_moves.registers_of_rows(rows, transposed)
    assert [register.shape for register in registers] == [(WARPS, 32)] * count
    row, column = (3, 4) if not transposed else (4, 3)
    assert registers[-1][1, 14] & 0xFFFF == rows[1, -1, row, column]  # thread 4·3 + 2
    np.testing.assert_array_equal(matrix_moves.rows_of_registers(registers, transposed), rows)


def test_opcode_of_matrix_moves() -> None:
    moved = matrix_moves.matrix_move(opcode("stmatrix.sync.aligned.m8n8.x2.trans.shared.b16"))
    assert moved == matrix_moves.MatrixMove(2, True, "shared")
    assert matrix_moves.matrix_move(opcode("ldmatrix.sync.aligned.m8n8.x1.b16")) == matrix_moves.MatrixMove(
        1, False, "generic"
    )
    for text in ("ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8", "ldmatrix.sync.aligned.m8n8.x3.b16", "bar.sync"):
        assert matrix_moves.matrix_move(opcode(text)) is None


WMMA = [
    # D, A, B, C as NVRTC names and counts their registers
    ("row.col.m16n16k16.f32.f32", (8, 8, 8, 8)),
    ("row.col.m16n16k16.f16.f16", (4, 8, 8, 4)),
    ("col.row.m16n16k16.f16.f32", (4, 8, 8, 8)),
    ("row.row.m32n8k16.f32.f32", (8, 8, 8, 8)),
    ("col.col.m8n32k16.f16.f16", (4, 8, 8, 4)),
    ("row.col.m8n32k16.f32.f16", (8, 8, 8, 4)),
    ("row.col.m16n16k16.f32.bf16.bf16.f32", (8, 4, 4, 8)),
    ("row.row.m32n8k16.f32.bf16.bf16.f32", (8, 8, 2, 8)),
    ("col.row.m8n32k16.f32.bf16.bf16.f32", (8, 2, 8, 8)),
    ("row.col.m16n16k16.s32.s8.s8.s32", (8, 2, 2, 8)),
    ("col.row.m32n8k16.s32.u8.u8.s32.satfinite", (8, 4, 1, 8)),
    ("row.col.m8n32k16.s32.s8.s8.s32", (8, 1, 4, 8)),
    ("row.row.m16n16k8.f32.tf32.tf32.f32", (8, 4, 4, 8)),
    ("row.col.m8n8k4.f64.f64.f64.f64.rn", (2, 1, 1, 2)),
    ("row.col.m8n8k32.s32.s4.s4.s32", (2, 1, 1, 2)),
]
IN_MEMORY = {"f16": np.float16, "f32": np.float32, "tf32": np.float32, "f64": np.float64, "s32": np.int32}
IN_MEMORY |= {"s8": np.int8, "u8": np.uint8, "bf16": np.float32, "s4": np.int8}


@pytest.mark.parametrize(("text", "counts"), WMMA)
def test_fragments_of_wmma(text: str, counts: tuple[int, ...]) -> None:
    kind = wmma.wmma_mma_kind(opcode("wmma.mma.sync.aligned." + text))
    assert kind is not None
    assert kind.register_counts == counts
    m, n, k = kind.shape
    assert [held.shape for held in kind.fragments()] == [(m, n), (m, k), (k, n), (m, n)]
    for held in kind.fragments():
        assert_sound(held)


def raw_of(numbers: NDArray[Any], type: str) -> NDArray[Any]:
    """Small whole numbers as raw elements of a type."""
    if type == "bf16":
        return (numbers.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    stored = numbers.astype(IN_MEMORY[type])
    return np.asarray(stored & 15).astype(np.uint8) if type == "s4" else stored.view(elements.RAW[elements.BITS[type]])


def move_of(text: str) -> wmma.WmmaMove:
    move = wmma.wmma_move(opcode(text))
    assert move is not None
    return move


@pytest.mark.parametrize("layout_c", ["row", "col"])
@pytest.mark.parametrize("text", [text for text, _ in WMMA])
def test_product_through_wmma(text: str, layout_c: str) -> None:
    kind = wmma.wmma_mma_kind(opcode("wmma.mma.sync.aligned." + text))
    assert kind is not None
    m, n, k = kind.shape
    name = f"m{m}n{n}k{k}"
    least = 0 if kind.a.startswith("u") else -4
    a, b = RNG.integers(least, 5, (WARPS, m, k)), RNG.integers(least, 5, (WARPS, k, n))
    c = RNG.integers(-9, 10, (WARPS, m, n))
    operands = []
    for letter, numbers, layout, type in zip(
        "abc", (a, b, c), (*kind.layouts, layout_c), (kind.a, kind.b, kind.c), strict=True
    ):
        move = move_of(f"wmma.load.{letter}.sync.aligned.{layout}.{name}.shared.{type}")
        operands.append(wmma_loaded(move, raw_of(numbers, type)))
    held_d, held_a, held_b, held_c = kind.fragments()
    exact = [
        elements.values(held.unpack(registers), held.type)
        for held, registers in zip((held_a, held_b, held_c), operands, strict=True)
    ]
    d = exact[0] @ exact[1] + exact[2]
    np.testing.assert_array_equal(d, a @ b + c)
    registers = held_d.pack(elements.bits_of(d.astype(IN_MEMORY[kind.d]), kind.d))
    move = move_of(f"wmma.store.d.sync.aligned.{layout_c}.{name}.{kind.d}")
    stored = wmma_stored(move, registers)
    np.testing.assert_array_equal(elements.values(stored, kind.d), a @ b + c)


STRIDES = np.array([40, 48, 56])


def wmma_loaded(move: wmma.WmmaMove, raw: NDArray[Any]) -> list[NDArray[Any]]:
    """Registers of a load, from memory in which each warp has another stride."""
    memory = np.zeros((WARPS, 64 * 64), raw.dtype)
    for warp in range(WARPS):
        lines = raw[warp] if move.layout == "row" else raw[warp].T
        place = np.arange(lines.shape[0])[:, np.newaxis] * STRIDES[warp] + np.arange(lines.shape[1])
        memory[warp, place] = lines
    offsets = move.offsets(STRIDES)
    loaded = memory[np.arange(WARPS).reshape(1, -1, 1, 1), offsets]
    registers = [*elements.join_parts(loaded, move.type)] * move.fragment.copies
    assert len(registers) == move.fragment.register_count
    return registers


def wmma_stored(move: wmma.WmmaMove, registers: list[NDArray[Any]]) -> NDArray[Any]:
    """The matrix that a store leaves in memory."""
    assert move.store
    parts = elements.split_parts(np.stack(registers), move.type)
    rows, columns = move.fragment.shape
    memory = np.zeros((WARPS, rows * columns), parts.dtype)
    memory[np.arange(WARPS).reshape(1, -1, 1, 1), move.offsets(move.default_stride)] = parts
    if move.layout == "row":
        return memory.reshape(WARPS, rows, columns)
    return memory.reshape(WARPS, columns, rows).swapaxes(1, 2)


def test_opcode_of_wmma() -> None:
    move = move_of("wmma.load.b.sync.aligned.col.m16n16k16.global.f16")
    assert move == wmma.WmmaMove("B", False, "col", (16, 16, 16), "global", "f16")
    assert move.side_by_side
    assert move.default_stride == 16
    assert not move_of("wmma.load.b.sync.aligned.row.m16n16k16.shared::cta.f16").side_by_side
    assert move_of("wmma.store.d.sync.aligned.col.m8n32k16.f16").side_by_side
    for text in (
        "wmma.load.a.sync.aligned.row.m16n16k16.f64",
        "wmma.load.a.sync.aligned.col.m8n8k128.b1",
        "wmma.load.b.sync.aligned.row.m8n8k32.s4",
        "wmma.mma.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32",
        "wmma.mma.or.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32",
        "wmma.mma.sync.aligned.row.col.m16n16k8.f32.f32",
        "ld.f32",
    ):
        assert wmma.wmma_mma_kind(opcode(text)) is None
        assert wmma.wmma_move(opcode(text)) is None


@pytest.mark.parametrize("lane", LANES)
def test_wmma_as_machine_code_has_it(lane: int) -> None:
    """Loads and stores that NVRTC makes of wmma.load for sm_80, where fragments are written out element by element."""
    group, thread = lane >> 2, lane % 4
    shapes = ((16, 16, 16), (32, 8, 16), (8, 32, 16))
    for register, (row, column) in enumerate([(0, 0), (8, 0), (0, 8), (8, 8)]):
        for i in (2 * register, 2 * register + 1):
            at = (row + group, column + 2 * thread + i % 2)
            assert place(layouts.wmma_fragment("A", shapes[0], "f16"), lane, i) == at
            assert place(layouts.wmma_fragment("A", shapes[0], "f16"), lane, i + 8) == at
            assert place(layouts.wmma_fragment("A", shapes[1], "f16"), lane, i + 8) == (at[0] + 16, at[1])
            assert place(layouts.wmma_fragment("B", shapes[2], "f16"), lane, i + 8) == (at[1], at[0] + 16)
            assert place(layouts.wmma_fragment("C", shapes[0], "f16"), lane, i) == at
            assert place(layouts.wmma_fragment("C", shapes[0], "f32"), lane, i) == at
            # The left half of B has rows 0 and 8 first.
            at = (row + 2 * thread + i % 2, column + group)
            assert place(layouts.wmma_fragment("B", shapes[0], "bf16"), lane, i) == at
            at = (8 * register + group, 2 * thread + i % 2)
            assert place(layouts.wmma_fragment("C", shapes[1], "f32"), lane, i) == at
            assert place(layouts.wmma_fragment("C", shapes[2], "s32"), lane, i) == at[::-1]
    assert place(layouts.wmma_fragment("A", shapes[2], "f16"), lane, 10) == (group, 8 + 2 * thread)
    for i, at in enumerate([(group, thread), (group + 8, thread), (group, thread + 4), (group + 8, thread + 4)]):
        assert place(layouts.wmma_fragment("A", (16, 16, 8), "tf32"), lane, i) == at


@pytest.mark.parametrize("type", ["f16", "bf16", "tf32", "e4m3", "u8"])
def test_fragments_of_wgmma_a(type: str) -> None:
    held = layouts.wgmma_a(type)
    assert held.register_count == 4
    assert held.shape == (64, 256 // held.bits)
    assert_sound(held)
    of_warp = fragment("A", (16, 8, held.shape[1]), type)
    registers = random_registers(held)
    raw = of_warp.unpack([register.reshape(-1, 32) for register in registers])
    np.testing.assert_array_equal(held.unpack(registers), raw.reshape(WARPS, *held.shape))


@pytest.mark.parametrize(("type", "width"), [("f32", 1), ("s32", 1), ("f16", 2)])
@pytest.mark.parametrize("n", [8, 24, 256])
def test_fragments_of_wgmma_d(n: int, type: str, width: int) -> None:
    held = layouts.wgmma_d(n, type)
    assert held.register_count == n // 2 // width
    assert held.shape == (64, n)
    assert_sound(held)
    row, column = (each.transpose(1, 0, 2).reshape(128, -1) for each in held.coordinates)
    for thread in (0, 5, 31, 32, 77, 127):
        for i in range(n // 2):  # PTX ISA 9.7.15.5.1.1.1
            at = (16 * (thread // 32) + thread % 32 // 4 + 8 * (i // 2 % 2), 8 * (i // 4) + thread % 4 * 2 + i % 2)
            assert (row[thread, i], column[thread, i]) == at
    registers = random_registers(held)
    np.testing.assert_array_equal(held.unpack([each.reshape(-1, 4, 32) for each in registers]), held.unpack(registers))
