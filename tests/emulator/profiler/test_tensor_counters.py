"""Counters of tensor cores, matrix loads and asynchronous copies, by hand."""

from __future__ import annotations

import numpy as np
import pytest

import mmcore_emulator
from mmcore_emulator.isa.matrix.products import Product, product_of
from mmcore_emulator.ptx.instructions import Instruction
from tests.emulator.kernels import kernel_source
from tests.emulator.modern import TENSOR_MAP
from tests.emulator.profiler.counting import AT, assert_counts, counters_of
from tests.tables import table


@pytest.mark.parametrize("move", ["ldmatrix", "stmatrix"])
@table(
    "count wavefronts row",
    """
    1 1  t % 8 * 16;  4 4  t * 16
    # Matrices that are the same are loaded one after the other all the same.
    4 4  t % 8 * 16;  4 4*2  t * 32;  4 4*4  t * 64;  4 4*8  t * 128;  2 2*8  t % 16 * 128
    # A row of padding, and a swizzle.
    4 4  t * 144;  4 4  t * 128 + t % 8 * 16
    # All rows of a matrix are one.
    4 4  t / 8 * 128
    # Only the threads that name rows count.
    1 1  t % 8 * 16 + t / 8 * 128
    """,
)
def test_wavefronts_of_matrix_moves(move: str, count: str, wavefronts: str, row: str) -> None:
    registers, name = range(int(count)), f"{move}.sync.aligned.m8n8.x{count}.shared.b16"
    letter = "=r" if move == "ldmatrix" else "r"
    each = ", ".join(f'"{letter}"(d[{i}])' for i in registers)
    listed, place = "{" + ", ".join(f"%{i}" for i in registers) + "}", f"[%{count}]"
    asm = f'"{name} {listed}, {place};" : {each} :' if move == "ldmatrix" else f'"{name} {place}, {listed};" :: {each},'
    source = f"""{AT} extern "C" __global__ void f(const unsigned* in, unsigned* out) {{
        __shared__ __align__(128) unsigned tile[4096];
        const unsigned t = threadIdx.x, begin = at(tile) + {row};
        unsigned d[{count}];
        for (int i = 0; i < {count}; ++i) d[i] = in[t];
        asm volatile({asm} "r"(begin));
        out[t] = d[0];
    }}"""
    expected = f"{move}_requests=1 {move}_wavefronts={wavefronts} shared_bank_conflicts={wavefronts}-{count}"
    assert_counts(counters_of(source, np.zeros(32, np.uint32), np.zeros(32, np.uint32)), expected)


@table(
    "kind size sectors wavefronts conflicts operands",
    """
    cg 16 16 4  0  16 * t  16 * t;  ca 8  8  2  0  8 * t  8 * t;  ca 4  4  1  0  4 * t  4 * t
    # Rows of 16 bytes from lines of 128, and eight threads to the same banks.
    cg 16 16 32 28  128 * t 16 * t;  cg 16 32 4  0  16 * t  128 * t
    # Half of the threads read nothing, and all of them write; or only some of the bytes are read.
    cg 16 8  4  0  16 * t  16 * t  t < 16 ? 16 : 0;  ca 16 16 4  0  16 * t  16 * t  5
    """,
)
def test_copies_of_threads(kind: str, size: str, sectors: str, wavefronts: str, conflicts: str, operands: str) -> None:
    target, source, *given = (f"{each}" for each in operands.replace(" * t", "*t").split(maxsplit=2))
    asm = f'"cp.async.{kind}.shared.global [%0], [%1], {size}{", %2" * len(given)};"'
    passed = f'"r"(at(tile + {target})), "l"(in + {source})' + "".join(f', "r"({each})' for each in given)
    code = f"""{AT} extern "C" __global__ void f(const char* in, char* out) {{
        __shared__ __align__(128) char tile[4096];
        const int t = threadIdx.x;
        asm volatile({asm} :: {passed});
        asm volatile("cp.async.wait_all;");
        out[t] = tile[t];
    }}"""
    expected = f"""async_copies=32 async_copy_bytes=32*{size} async_copy_requests=1 async_copy_sectors={sectors}
    async_copy_wavefronts={wavefronts} shared_bank_conflicts={conflicts} global_loads=0 shared_stores=0"""
    assert_counts(counters_of(code, np.ones(4096, np.uint8), np.zeros(32, np.uint8)), expected)


@pytest.mark.parametrize(("mask", "blocks"), [("0b1111", 4), ("0b0010", 1), ("0b1010", 2)])
def test_a_multicast_is_fetched_once_and_delivered_to_each_block(mask: str, blocks: int) -> None:
    """Each of two clusters fetches 256 bytes and stores 208: bytes 16 to 223 are in sectors 0 to 6."""
    arrays, launch = (np.ones(64, np.float32), np.zeros(1024, np.float32)), {"grid": (8,), "cluster": (4, 1, 1)}
    source = kernel_source("multicast_of_floats", MASK=mask)
    if blocks == 1:  # a copy to the block itself
        source = source.replace(".multicast::cluster", "").replace("[%2], %3;", "[%2];")
    found = counters_of(source, *arrays, **launch)
    expected = """bulk_loads=2 bulk_load_bytes=2*256 bulk_load_sectors=2*8 bulk_delivered_bytes=2*blocks*256
    bulk_stores=2 bulk_store_bytes=2*208 bulk_store_sectors=2*7 global_loads=0 shared_stores=0 shared_atomic_requests=0
    shared_loads=2*blocks*32 global_sectors=2*8+2*7+2*blocks*4"""
    assert_counts(found, expected, blocks=blocks)


def test_boxes_of_tensor_maps_over_the_edge() -> None:
    """Each of 4 columns of blocks fetches all of A, and each of 3 rows all of B; boxes are delivered whole."""
    found = mmcore_emulator.profile(TENSOR_MAP, m=33, n=52, k=100, device="emulator")
    expected = "bulk_load_bytes=4*(4*33*100+3*100*52) bulk_loads=12*7*2 bulk_delivered_bytes=12*7*2*1024"
    assert_counts(found.counters, expected)
    assert found.blocks == 12


@table(
    "opcode flops name",
    """
    mma.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32        2*16*8*32   mma m16n8k32 s32.s8.u8
    mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64        2*8*8*4     mma m8n8k4 f64.f64.f64
    wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32        2*16**3     wmma m16n16k16 f32.f16.f16
    wmma.mma.sync.aligned.row.row.m32n8k16.f32.bf16.bf16.f32 2*32*8*16 wmma m32n8k16 f32.bf16.bf16
    wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16  2*16*256*16 wgmma m64n256k16 f32.bf16.bf16
    wgmma.fence.sync.aligned  0  none;  wmma.load.a.sync.aligned.row.m16n16k16.f16  0  none;  add.f32  0  none
    """,
)
def test_products_of_opcodes(opcode: str, flops: str, name: str) -> None:
    product = product_of(Instruction(tuple(opcode.split(".")), ()))
    assert (product.name, product.flops) == (name, eval(flops)) if product else name == "none"
    assert product is None or Product.named(name) == product
