"""What the profiler counts of tensor cores, matrix loads and asynchronous copies, against arithmetic done by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mmcore
import mmcore_emulator
from mmcore import Kernel
from mmcore_emulator.isa.asynchronous.wgmma_operands import chunk_addresses, decode, encode
from mmcore_emulator.isa.products import Product, product_of
from mmcore_emulator.machine.asynchronous.swizzles import SPANS
from mmcore_emulator.profiler.by_line import Counting
from mmcore_emulator.profiler.counters import Counters, Line, total
from mmcore_emulator.ptx.instructions import Instruction
from tests.emulation import emulate
from tests.emulator.kernels import HANDING_ON, PIPELINE, STEPS, WARPGROUP, A, B
from tests.modern import PANELS, TENSOR_MAP

AT = "__device__ unsigned at(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }\n"


def lines_of(source: str, *arguments: Any, **launch: Any) -> dict[Line, Counters]:
    watching: list[Counting] = []

    def observers(translation: Any) -> tuple[Counting, ...]:
        watching.append(Counting(translation.blocks))
        return tuple(watching)

    made = emulate(source, *arguments, **{"architecture": "90a", **launch}, observers=observers)
    assert made.violations == []
    return watching[0].lines


def counters_of(source: str, *arguments: Any, **launch: Any) -> Counters:
    return total(lines_of(source, *arguments, **launch).values())


def pipeline() -> Counters:
    return counters_of(PIPELINE, A.view(np.uint16), B.view(np.uint16), np.zeros((16, 8), np.float32))


def test_products_are_counted_by_kind_and_type() -> None:
    """A warp multiplies 16×64 by 64×8 in four steps."""
    counters = pipeline()
    product = Product("mma", (16, 8, 16), ("f32", "f16", "f16"))
    assert counters.products == {product: 4}
    assert (counters.tensor_instructions, counters.tensor_flops) == (4, 2 * 16 * 8 * 64)
    assert counters.tensor_flops_by_type == {"f32.f16.f16": 2 * 16 * 8 * 64}
    assert counters.flops == counters.fmas == 0


def test_copies_of_threads_are_neither_loads_nor_stores() -> None:
    """Of each of four tiles, a warp copies 16 rows of 32 bytes of A, and 16 rows of 16 bytes of B."""
    counters = pipeline()
    assert (counters.async_copies, counters.async_copy_bytes) == (4 * (32 + 16), 4 * (512 + 256))
    assert counters.async_copy_requests == 4 * 2
    assert counters.async_copy_sectors == 4 * (16 + 256 // 32)
    assert counters.async_copy_wavefronts == 4 * (512 // 128 + 256 // 128)
    assert counters.global_loads == counters.shared_loads == counters.shared_stores == 0
    assert counters.global_sectors == counters.async_copy_sectors + counters.global_store_sectors


def test_matrix_loads_conflict_where_rows_of_a_matrix_meet() -> None:
    """Eight rows of A lie 32 bytes apart, so that every fourth meets; those of B fill all of the banks."""
    counters = pipeline()
    assert counters.ldmatrix_requests == 4 * 2
    assert counters.ldmatrix_wavefronts == 4 * (4 * 2 + 2 * 1)
    assert counters.shared_bank_conflicts == 4 * 4


MATRIX = (
    AT
    + r"""
extern "C" __global__ void f(const unsigned* in, unsigned* out) {
    __shared__ __align__(128) unsigned tile[4096];
    const unsigned begin = at(tile) + ROW;
    unsigned d[COUNT];
    for (int i = 0; i < COUNT; ++i) d[i] = in[threadIdx.x];
    MOVE
    out[threadIdx.x] = d[0];
}"""
)
REGISTERS = {1: "{%0}", 2: "{%0, %1}", 4: "{%0, %1, %2, %3}"}


def moved(move: str, count: int, row: str) -> Counters:
    each = ", ".join(f'"{"=r" if move == "ldmatrix" else "r"}"(d[{i}])' for i in range(count))
    name = f"{move}.sync.aligned.m8n8.x{count}.shared.b16"
    if move == "ldmatrix":
        text = f'asm volatile("{name} {REGISTERS[count]}, [%{count}];" : {each} : "r"(begin));'
    else:
        text = f'asm volatile("{name} [%{count}], {REGISTERS[count]};" :: {each}, "r"(begin));'
    source = MATRIX.replace("ROW", row).replace("COUNT", str(count)).replace("MOVE", text)
    return counters_of(source, np.zeros(32, np.uint32), np.zeros(32, np.uint32))


@pytest.mark.parametrize("move", ["ldmatrix", "stmatrix"])
@pytest.mark.parametrize(
    ("count", "row", "wavefronts"),
    [
        (1, "threadIdx.x % 8 * 16", 1),
        (4, "threadIdx.x * 16", 4),
        # Matrices that are the same are loaded one after the other all the same.
        (4, "threadIdx.x % 8 * 16", 4),
        (4, "threadIdx.x * 32", 4 * 2),
        (4, "threadIdx.x * 64", 4 * 4),
        (4, "threadIdx.x * 128", 4 * 8),
        (2, "threadIdx.x % 16 * 128", 2 * 8),
        # A row of padding, and a swizzle.
        (4, "threadIdx.x * 144", 4),
        (4, "threadIdx.x * 128 + threadIdx.x % 8 * 16", 4),
        # All rows of a matrix are one.
        (4, "threadIdx.x / 8 * 128", 4),
        # Only the threads that name rows count.
        (1, "threadIdx.x % 8 * 16 + threadIdx.x / 8 * 128", 1),
    ],
)
def test_wavefronts_of_matrix_moves(move: str, count: int, row: str, wavefronts: int) -> None:
    counters = moved(move, count, row)
    assert getattr(counters, f"{move}_requests") == 1
    assert getattr(counters, f"{move}_wavefronts") == wavefronts
    assert counters.shared_bank_conflicts == wavefronts - count


def copied(body: str) -> Counters:
    source = f"""{AT} extern "C" __global__ void f(const char* in, char* out) {{
        __shared__ __align__(128) char tile[4096];
        const int t = threadIdx.x;
        {body}
        asm volatile("cp.async.wait_all;");
        out[t] = tile[t];
    }}"""
    return counters_of(source, np.ones(4096, np.uint8), np.zeros(32, np.uint8))


def copy(kind: str, target: str, source: str, size: int, given: str = "") -> str:
    operands = f'"r"(at(tile + {target})), "l"(in + {source})' + (f', "r"({given})' if given else "")
    asked = f"[%0], [%1], {size}{', %2' if given else ''}"
    return f'asm volatile("cp.async.{kind}.shared.global {asked};" :: {operands});'


@pytest.mark.parametrize(
    ("asked", "sectors", "wavefronts", "conflicts"),
    [
        (copy("cg", "16 * t", "16 * t", 16), 16, 4, 0),
        (copy("ca", "8 * t", "8 * t", 8), 8, 2, 0),
        (copy("ca", "4 * t", "4 * t", 4), 4, 1, 0),
        # Rows of 16 bytes from lines of 128, and eight threads to the same banks.
        (copy("cg", "128 * t", "16 * t", 16), 16, 32, 28),
        (copy("cg", "16 * t", "128 * t", 16), 32, 4, 0),
        # Half of the threads read nothing, and all of them write.
        (copy("cg", "16 * t", "16 * t", 16, "t < 16 ? 16 : 0"), 8, 4, 0),
        # Only some of the bytes are read.
        (copy("ca", "16 * t", "16 * t", 16, "5"), 16, 4, 0),
    ],
)
def test_copies_of_threads_by_what_they_read_and_write(
    asked: str, sectors: int, wavefronts: int, conflicts: int
) -> None:
    counters = copied(asked)
    size = 16 if ", 16" in asked else 8 if ", 8;" in asked else 4
    assert (counters.async_copies, counters.async_copy_bytes, counters.async_copy_requests) == (32, 32 * size, 1)
    assert (counters.async_copy_sectors, counters.async_copy_wavefronts) == (sectors, wavefronts)
    assert counters.shared_bank_conflicts == conflicts
    assert (counters.global_loads, counters.shared_stores) == (0, 0)


def test_a_product_of_a_warpgroup_is_an_instruction_of_each_of_its_warps() -> None:
    a, b = np.zeros((64, 16), np.uint16), np.zeros((8, 16), np.uint16)
    made = counters_of(WARPGROUP, a, b, np.zeros((64, 8), np.float32), block=(128,), options=("-DADD=1",))
    assert made.products == {Product("wgmma", (64, 8, 16), ("f32", "f16", "f16")): 4}
    assert made.tensor_flops == 2 * 64 * 8 * 16
    assert made.wgmma_wavefronts == (64 + 8) * 32 // 128, "64 rows and 8 columns of 32 bytes"


def test_plain_bulk_copies() -> None:
    """One thread fetches 256 bytes three times."""
    counters = counters_of(HANDING_ON, STEPS, np.zeros(64, np.float32), block=(96,))
    assert (counters.bulk_loads, counters.bulk_load_bytes) == (3, 3 * 256)
    assert (counters.bulk_load_sectors, counters.bulk_delivered_bytes) == (3 * 8, 3 * 256)
    assert (counters.bulk_stores, counters.bulk_store_bytes, counters.global_loads) == (0, 0, 0)
    assert (counters.shared_loads, counters.shared_stores, counters.shared_atomic_requests) == (3 * 64, 0, 0)


MULTICAST = (
    AT
    + r"""
extern "C" __global__ void __cluster_dims__(4, 1, 1) f(const float* in, float* out) {
    __shared__ __align__(128) float tile[64];
    __shared__ unsigned long long full;
    unsigned rank;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(at(&full)));
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(at(&full)), "r"(EXPECTED));
    }
    asm volatile("barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;" ::: "memory");
    if (threadIdx.x == 0 && rank == 1)
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster"
                     " [%0], [%1], 256, [%2], %3;"
                     :: "r"(at(tile)), "l"(in), "r"(at(&full)), "h"((unsigned short)MASK) : "memory");
    if (MASK >> rank & 1)
        asm volatile("{ .reg .pred done; WAIT: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], 0;"
                     " @done bra DONE; bra WAIT; DONE: }" :: "r"(at(&full)) : "memory");
    out[blockIdx.x * 32 + threadIdx.x] = tile[threadIdx.x];
    asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
}"""
)


@pytest.mark.parametrize(("mask", "blocks"), [(0b1111, 4), (0b0010, 1), (0b1010, 2)])
def test_a_multicast_is_fetched_once_and_delivered_to_each(mask: int, blocks: int) -> None:
    source = MULTICAST.replace("MASK", str(mask)).replace("EXPECTED", "256")
    launch: dict[str, Any] = {"grid": (8,), "cluster": (4, 1, 1)}
    found = counters_of(source, np.ones(64, np.float32), np.zeros(256, np.float32), **launch)
    assert (found.bulk_loads, found.bulk_load_bytes, found.bulk_load_sectors) == (2, 2 * 256, 2 * 8)
    assert found.bulk_delivered_bytes == 2 * blocks * 256


def test_bulk_stores() -> None:
    source = f"""{AT} extern "C" __global__ void f(float* out) {{
        __shared__ __align__(128) float tile[64];
        tile[threadIdx.x] = 1; tile[threadIdx.x + 32] = 2;
        asm volatile("fence.proxy.async.shared::cta;");
        __syncwarp();
        if (threadIdx.x == 0) {{
            asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 208;"
                         :: "l"(out + 4), "r"(at(tile)) : "memory");
            asm volatile("cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;");
        }}
    }}"""
    counters = counters_of(source, np.zeros(64, np.float32))
    # Bytes 16 to 223 of the array are in sectors 0 to 6.
    assert (counters.bulk_stores, counters.bulk_store_bytes, counters.bulk_store_sectors) == (1, 208, 7)
    assert (counters.global_stores, counters.global_sectors, counters.shared_stores) == (0, 7, 64)


def test_boxes_of_whole_tiles() -> None:
    """Tiles of 16×16 floats: 16 rows of 64 bytes, two for each of 4 steps in each of 16 blocks."""
    counters = mmcore_emulator.profile(TENSOR_MAP, 64, device="emulator").counters
    copies = 16 * 4 * 2
    assert (counters.bulk_loads, counters.bulk_load_bytes) == (copies, copies * 1024)
    assert (counters.bulk_load_sectors, counters.bulk_delivered_bytes) == (copies * 32, copies * 1024)


def test_boxes_over_the_edge_fetch_what_is_there_and_deliver_zeros() -> None:
    """Each of 4 columns of blocks fetches all of A, each of 3 rows all of B; every box is delivered whole."""
    found = mmcore_emulator.profile(TENSOR_MAP, m=33, n=52, k=100, device="emulator")
    assert found.blocks == 12
    assert found.counters.bulk_load_bytes == 4 * (4 * 33 * 100 + 3 * 100 * 52)
    assert found.counters.bulk_delivered_bytes == 12 * 7 * 2 * 1024


@pytest.mark.parametrize("kernel", [TENSOR_MAP, PANELS[0]], ids=lambda kernel: kernel.name)
def test_the_figures_of_a_run_have_the_sectors_of_bulk_copies(kernel: Kernel) -> None:
    figures = mmcore.run(kernel, m=33, n=52, k=104, device="emulator").figures
    found = mmcore_emulator.profile(kernel, m=33, n=52, k=104, device="emulator")
    assert found.counters.bulk_load_sectors > found.counters.global_store_sectors
    assert figures["global_sectors"] == found.counters.global_sectors
    assert figures["flop_per_byte"] == found.ratios()["arithmetic_intensity"]


@pytest.mark.parametrize(
    ("opcode", "name", "flops"),
    [
        ("mma.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32", "mma m16n8k32 s32.s8.u8", 2 * 16 * 8 * 32),
        ("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64", "mma m8n8k4 f64.f64.f64", 2 * 8 * 8 * 4),
        ("wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32", "wmma m16n16k16 f32.f16.f16", 2 * 16**3),
        ("wmma.mma.sync.aligned.row.row.m32n8k16.f32.bf16.bf16.f32", "wmma m32n8k16 f32.bf16.bf16", 2 * 32 * 8 * 16),
        ("wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16", "wgmma m64n256k16 f32.bf16.bf16", 2 * 16 * 256 * 16),
    ],
)
def test_what_an_opcode_multiplies(opcode: str, name: str, flops: int) -> None:
    product = product_of(Instruction(tuple(opcode.split(".")), ()))
    assert product is not None
    assert (product.name, product.flops) == (name, flops)
    assert Product.named(name) == product


@pytest.mark.parametrize(
    "opcode", ["wgmma.fence.sync.aligned", "wmma.load.a.sync.aligned.row.m16n16k16.f16", "add.f32"]
)
def test_other_instructions_multiply_nothing(opcode: str) -> None:
    assert product_of(Instruction(tuple(opcode.split(".")), ())) is None


@pytest.mark.parametrize("span", SPANS)
@pytest.mark.parametrize("major", ["K", "MN"])
def test_eight_lines_of_a_warpgroups_operand_lie_in_all_banks(span: int, major: str) -> None:
    """Which is why no conflicts are counted of them, wherever the matrix begins."""
    for start in (0, 128, 1024 + 384):
        (parts,) = np.array([encode(start, 2048, max(8 * span, 128), span)], np.uint64).reshape(1, 1)
        chunks = chunk_addresses(decode(parts), 64, 16, 2, major)[0]
        groups = chunks.reshape(-1, 8, chunks.shape[-1]) // np.uint64(16) % np.uint64(8)
        assert (np.sort(groups, axis=1) == np.arange(8)[:, np.newaxis]).all()
