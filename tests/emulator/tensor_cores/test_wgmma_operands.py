"""Operands of wgmma: descriptors of matrices in shared memory, registers, and the forms of the instruction."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from mmcore_emulator.isa.asynchronous import wgmma_operands
from mmcore_emulator.isa.asynchronous.wgmma_operands import WgmmaKind, parse_wgmma
from mmcore_emulator.machine.asynchronous import boxes, tensor_maps
from tests.tables import table, words_of

Array = NDArray[Any]
SHARED = 1 << 16


def encode(start: int, leading: int, stride: int, swizzle: int, base_offset: int = 0) -> int:
    """Return the descriptor with this content (bytes); bits that it does not keep are lost."""
    low = sum(((offset & 0x3FFFF) >> 4) << first for offset, first in ((start, 0), (leading, 16), (stride, 32)))
    return low | (base_offset & 7) << 49 | (0, 128, 64, 32).index(swizzle) << 62


def element_addresses(parts: wgmma_operands.Descriptor, rows: int, k: int, element_bytes: int, major: str) -> Array:
    """Return the byte addresses of matrices' elements, uint64 [G, rows, k]; arguments as in :func:`chunk_addresses`.

    With A, element [g, i, j] is A[i, j]; with B it is B[j, i].
    """
    chunks = wgmma_operands.chunk_addresses(parts, rows, k, element_bytes, major)
    within = np.arange(0, tensor_maps.CHUNK, element_bytes, dtype=np.uint64)
    lines = (chunks[..., None] + within).reshape(*chunks.shape[:-1], -1)
    return lines if major == "K" else lines.swapaxes(-1, -2)


def shared_with_boxes(matrix: Array, box: tuple[int, int], swizzle: int, destination: int) -> Array:
    """Return shared memory (bytes) that tensor maps have filled with the boxes of a matrix, column after column."""
    size = matrix.itemsize
    strides = (size, matrix.strides[0])
    layout = tensor_maps.TensorLayout(0, matrix.dtype.name, matrix.shape[::-1], strides, box[::-1], swizzle)
    assert not layout.problems()
    memory = np.zeros(SHARED, np.uint8)
    for column in range(0, matrix.shape[1], box[1]):
        for row in range(0, matrix.shape[0], box[0]):
            offsets, inside, shared = boxes.box_elements(layout, np.array([column, row]), destination)
            assert inside.all()
            memory.view(matrix.dtype)[(destination + shared) // size] = matrix.reshape(-1)[offsets // size]
            destination += layout.nbytes
    return memory


def random_matrix(rows: int, columns: int, dtype: Any = np.uint16) -> Array:
    return np.random.default_rng(rows).integers(1, 2 ** min(16, 8 * np.dtype(dtype).itemsize), (rows, columns), dtype)


def addresses_of(descriptors: list[int], rows: int, k: int, size: int, major: str) -> Array:
    """Return the addresses of the elements that descriptors name."""
    parts = wgmma_operands.decode(np.array(descriptors, np.uint64))
    return element_addresses(parts, rows, k, size, major).astype(np.int64)


def read(memory: Array, descriptor: int, rows: int, major: str, dtype: Any = np.uint16) -> Array:
    """Return the matrix [rows, k] of one instruction that a descriptor names."""
    size = np.dtype(dtype).itemsize
    found: Array = memory.view(dtype)[addresses_of([descriptor], rows, 32 // size, size, major)[0] // size]
    return found


@pytest.mark.parametrize("destination", [1024, 1024 + 384])
@pytest.mark.parametrize("swizzle", [128, 64, 32])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint32])
def test_a_k_major_tile_from_a_tensor_map(dtype: Any, swizzle: int, destination: int) -> None:
    columns = swizzle // np.dtype(dtype).itemsize
    matrix = random_matrix(64, columns, dtype)
    memory = shared_with_boxes(matrix, (64, columns), swizzle, destination)
    for start in range(0, swizzle, 32):
        descriptor = encode(destination + start, 16, 8 * swizzle, swizzle)
        first, last = (each // np.dtype(dtype).itemsize for each in (start, start + 32))
        assert (read(memory, descriptor, 64, "K", dtype) == matrix[:, first:last]).all()


@pytest.mark.parametrize("n", [8, 64, 128, 256])
@pytest.mark.parametrize("swizzle", [128, 64, 32])
def test_an_mn_major_tile_from_a_tensor_map(swizzle: int, n: int) -> None:
    depth, width = 64, swizzle // 2
    matrix = random_matrix(depth, max(n, width))
    memory = shared_with_boxes(matrix, (depth, width), swizzle, 2048)
    for k in range(0, depth, 16):
        descriptor = encode(2048 + k * swizzle, depth * swizzle, 8 * swizzle, swizzle)
        assert (read(memory, descriptor, n, "MN") == matrix[k : k + 16, :n].T).all()


def test_tiles_without_a_swizzle() -> None:
    matrix = random_matrix(64, 128)
    memory = shared_with_boxes(matrix, (64, 8), 0, 128)
    for k in range(0, 64, 16):
        # From eight rows of K to the next, and from eight columns of N to the next.
        descriptor = encode(128 + k * 16, 128, 64 * 16, 0)
        assert (read(memory, descriptor, 128, "MN") == matrix[k : k + 16].T).all()
    cores = matrix[:, :16].reshape(8, 8, 2, 8).transpose(0, 2, 1, 3)
    memory[256 : 256 + cores.nbytes] = np.ascontiguousarray(cores).view(np.uint8).reshape(-1)
    assert (read(memory, encode(256, 128, 256, 0), 64, "K") == matrix[:, :16]).all()


@pytest.mark.parametrize("major", ["K", "MN"])
@pytest.mark.parametrize("swizzle", [0, 32, 64, 128])
def test_layouts_are_those_of_the_table_of_canonical_layouts(swizzle: int, major: str) -> None:
    """PTX ISA, "Canonical Layouts": shapes and strides of CuTe, in elements of two bytes; T of them are a chunk."""
    rows, k, t, wide, leading, stride = 128, 16, 8, max(swizzle // 16, 1), 4096, 12288
    (addresses,) = addresses_of([encode(1024, leading, stride, swizzle)], rows, k, 2, major)
    for row, column in np.ndindex(rows, k):
        if major == "K":
            along = leading if not swizzle else 2 * t
            offset = row % 8 * wide * 2 * t + row // 8 * stride + column % t * 2 + column // t * along
        else:
            far_row, far_column = (leading, stride) if swizzle else (stride, leading)
            offset = row % t * 2 + row // t % wide * 2 * t + row // (t * wide) * far_row
            offset += column % 8 * wide * 2 * t + column // 8 * far_column
        assert addresses[row, column] == tensor_maps.swizzled(np.array([1024 + offset], np.uint64), swizzle)[0]


def test_descriptors_of_several_warpgroups_at_once() -> None:
    words = [encode(1024 * each, 128, 1024, (128, 0, 32)[each % 3]) for each in range(6)]
    together = addresses_of(words, 64, 16, 2, "MN")
    assert together.shape == (6, 64, 16)
    for index, word in enumerate(words):
        assert (together[index] == addresses_of([word], 64, 16, 2, "MN")[0]).all()


def test_fields_of_a_descriptor() -> None:
    """They have 14 bits, of 16 bytes each; a base offset names the line where the pattern begins."""
    word = encode(0x40000 + 0x3FFF0, 16, 1024, 64, base_offset=5)
    assert word == 2 << 62 | 5 << 49 | 64 << 32 | 1 << 16 | 0x3FFF
    parts = wgmma_operands.decode(np.array([word], np.uint64))
    assert [each.item() for each in parts] == [0x3FFF0, 16, 1024, 5, 64]
    matrix, start = random_matrix(64, 64), 1024 + 384
    memory = np.roll(shared_with_boxes(matrix, (64, 64), 128, 0), start)
    descriptor = encode(start, 16, 1024, 128, base_offset=start >> 7 & 7)
    assert (read(memory, descriptor, 64, "K") == matrix[:, :16]).all()


@pytest.mark.parametrize("span", tensor_maps.SPANS)
@pytest.mark.parametrize("major", ["K", "MN"])
@pytest.mark.parametrize("start", [0, 128, 1024 + 384])
def test_eight_lines_of_an_operand_are_in_all_banks(span: int, major: str, start: int) -> None:
    """No conflicts are counted of them, wherever the matrix begins."""
    parts = wgmma_operands.decode(np.array([encode(start, 2048, max(8 * span, 128), span)], np.uint64))
    chunks = wgmma_operands.chunk_addresses(parts, 64, 16, 2, major)[0]
    groups = chunks.reshape(-1, 8, chunks.shape[-1]) // np.uint64(16) % np.uint64(8)
    assert (np.sort(groups, axis=1) == np.arange(8)[:, np.newaxis]).all()


@table(
    "form kind",
    """
    .m64n128k16.f32.bf16.bf16  128 16 f32 bf16 bf16;   .m64n8k16.f16.f16.f16  8 16 f16 f16 f16
    .m64n256k8.f32.tf32.tf32  256 8 f32 tf32 tf32;     .m64n96k32.f32.e4m3.e5m2  96 32 f32 e4m3 e5m2
    .m64n24k32.s32.s8.u8  24 32 s32 s8 u8;             .m64n48k32.satfinite.s32.u8.u8  48 32 s32 u8 u8 saturates=True
    .m64n16k256.s32.b1.b1.and.popc  16 256 s32 b1 b1;  .m64n40k32.s32.s8.s8  none
    .m64n12k16.f32.f16.f16  none;                      .m64n264k16.f32.f16.f16  none
    .m64n8k8.f32.f16.f16  none;                        .m32n8k16.f32.f16.f16  none
    .m64n8k16.f32.f16.bf16  none;                      .m64n8k16.f16.bf16.bf16  none
    .m64n8k16.satfinite.f32.f16.f16  none;             .m64n16k256.s32.b1.b1  none
    .satfinite.s32.s8  none;                           .m64n8k32.satfinite.s32.s8  none
    wgmma.fence.sync.aligned  none;                    wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16  none
    """,
)
def test_forms_of_wgmma(form: str, kind: str) -> None:
    opcode = "wgmma.mma_async.sync.aligned" * form.startswith(".") + form
    assert words_of(parse_wgmma(tuple(opcode.split(".")))) == kind


def test_registers_and_operands_of_wgmma() -> None:
    half, integer = WgmmaKind(64, 16, "f16", "f16", "f16"), WgmmaKind(64, 32, "s32", "s8", "s8")
    assert (half.registers, integer.registers) == (16, 32)
    scaled = ("d", "a", "b", "scale_d", "scale_a", "scale_b")
    assert half.operands(False) == (*scaled, "trans_a", "trans_b")
    assert half.operands(True) == (*scaled, "trans_b")
    assert WgmmaKind(64, 8, "f32", "tf32", "tf32").operands(False) == scaled
    assert integer.operands(False) == ("d", "a", "b", "scale_d")
