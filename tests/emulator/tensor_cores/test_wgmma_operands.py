"""Operands of wgmma: descriptors of matrices in shared memory, registers, and the forms of the instruction."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from mmcore_emulator.isa.asynchronous import wgmma_operands
from mmcore_emulator.isa.asynchronous.wgmma_operands import WgmmaKind, parse_wgmma
from mmcore_emulator.machine.asynchronous import tensor_maps
from tests.tables import table, words_of

Array = NDArray[Any]


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


def addresses_of(descriptors: list[int], rows: int, k: int, size: int, major: str) -> Array:
    """Return the addresses of the elements that descriptors name."""
    parts = wgmma_operands.decode(np.array(descriptors, np.uint64))
    return element_addresses(parts, rows, k, size, major).astype(np.int64)


@pytest.mark.parametrize(("major", "size"), [("K", 1), ("K", 2), ("K", 4), ("MN", 2)])
@pytest.mark.parametrize("swizzle", [0, 32, 64, 128])
@pytest.mark.parametrize("start", [1024, 1024 + 32, 1024 + 384])
def test_layouts_are_those_of_the_table_of_canonical_layouts(start: int, swizzle: int, major: str, size: int) -> None:
    """PTX ISA, "Canonical Layouts": shapes and strides of CuTe; t elements are a chunk of 16 bytes."""
    rows, k, t, wide, leading, stride = 128, 32 // size, 16 // size, max(swizzle // 16, 1), 4096, 12288
    addresses = addresses_of([encode(start, leading, stride, swizzle)], rows, k, size, major)[0]
    row, column = np.ogrid[:rows, :k]
    if major == "K":
        along = leading if not swizzle else 16
        offset = row % 8 * wide * 16 + row // 8 * stride + column % t * size + column // t * along
    else:
        far_row, far_column = (leading, stride) if swizzle else (stride, leading)
        offset = row % t * 2 + row // t % wide * 16 + row // (t * wide) * far_row
        offset = offset + column % 8 * wide * 16 + column // 8 * far_column
    assert (addresses == tensor_maps.swizzled((start + offset).astype(np.uint64), swizzle)).all()


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
    start = 1024 + 384
    based = encode(start, 16, 1024, 128, base_offset=start >> 7 & 7)
    moved, usual = (addresses_of([word], 64, 16, 2, "K") for word in (based, encode(0, 16, 1024, 128)))
    assert (moved == usual + start).all()


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
