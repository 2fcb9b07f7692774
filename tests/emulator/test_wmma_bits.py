"""``wmma`` of single bits: products compared with numpy's, and supported architectures."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numpy.typing import NDArray

from mmcore_emulator.tensor_cores.fragments import wmma_fragment
from tests.emulation import emulate, ptx_of, translated

RNG = np.random.default_rng(11)
NUMPY = {"xor": np.bitwise_xor, "and": np.bitwise_and}
SOURCE = """
extern "C" __global__ void product(int *d, const unsigned *a, const unsigned *b, const int *c) {{
    __shared__ unsigned shared[8 * {words}];
    for (int i = threadIdx.x; i < 8 * {words}; i += blockDim.x) shared[i] = b[i];
    __syncthreads();
    unsigned from = (unsigned)__cvta_generic_to_shared(shared);
    a += threadIdx.x / 32 * 8 * {words}, c += threadIdx.x / 32 * 96, d += threadIdx.x / 32 * 96;
    asm volatile(R"({{
        .reg .b32 a, b, c0, c1;
        wmma.load.a.sync.aligned.row.m8n8k128.global.b1 {{a}}, [%1], {bits};
        wmma.load.b.sync.aligned.col.m8n8k128.shared.b1 {{b}}, [%2], {bits};
        wmma.load.c.sync.aligned.{layout}.m8n8k128.global.s32 {{c0, c1}}, [%3], 12;
        wmma.mma.{operation}.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32 {{c0, c1}}, {{a}}, {{b}}, {{c0, c1}};
        wmma.store.d.sync.aligned.{layout}.m8n8k128.s32 [%0], {{c0, c1}}, 12;
    }})" :: "l"(d), "l"(a), "r"(from), "l"(c) : "memory");
}}"""


@pytest.mark.parametrize(("operation", "layout", "stride"), [*itertools.product(NUMPY, ("row", "col"), (128, 384))])
def test_products_of_bits_are_sums_of_single_bits(operation: str, layout: str, stride: int) -> None:
    a = RNG.integers(0, 2**32, (2, 8, stride // 32), np.uint32)
    b = RNG.integers(0, 2**32, (8, stride // 32), np.uint32)
    c = RNG.integers(-(2**31), 2**31, (2, 8, 12)).astype(np.int32)
    c[:, :, :8] //= 2**20
    c[0, 0, 0] = 2**31 - 1
    source = SOURCE.format(words=stride // 32, bits=stride, layout=layout, operation=operation)
    made = emulate(source, np.full((2, 8, 12), 7, np.int32), a, b, c, block=(64,))
    assert made.violations == []
    bits = NUMPY[operation](a[:, :, np.newaxis, :4], b[np.newaxis, np.newaxis, :, :4])
    counts = np.bitwise_count(bits).sum(-1, dtype=np.int32)
    expected = np.full((2, 8, 12), 7, np.int32)
    expected[:, :, :8] = c[:, :, :8] + (counts if layout == "row" else counts.swapaxes(1, 2))
    np.testing.assert_array_equal(made.arrays[0], expected)


def test_a_thread_holds_32_neighbours_of_a_row_of_a_and_of_a_column_of_b() -> None:
    """PTX ISA, "Matrix Fragments for mma.m8n8k128": thread 4g + t holds word t of row g."""
    row, column = wmma_fragment("A", (8, 8, 128), "b1").coordinates
    assert (row[0, :, 0] == np.arange(32) // 4).all()
    assert (column[0] == np.arange(32)[:, np.newaxis] % 4 * 32 + np.arange(32)).all()
    for held in (wmma_fragment("A", (8, 8, 128), "b1"), wmma_fragment("B", (8, 8, 128), "b1")):
        registers: list[NDArray[np.uint32]] = [RNG.integers(0, 2**32, (3, 32), np.uint32)]
        assert held.unpack(registers).sum() == np.bitwise_count(registers[0]).sum()
        np.testing.assert_array_equal(held.pack(held.unpack(registers)), registers)


def test_products_by_and_need_compute_capability_8() -> None:
    text = ptx_of(SOURCE.format(words=4, bits=128, layout="row", operation="and"), architecture="80")
    assert "needs compute capability 8.0" in translated(text, architecture="75")
    assert translated(text, architecture="80") == ""
