"""Tensor cores and asynchronous copies on the emulator: kernels with inline PTX, right ones and broken ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from mmcore_emulator.isa.mma import mma_kind
from mmcore_emulator.isa.wmma import wmma_mma_kind
from tests.emulation import Emulated, emulate

RNG = np.random.default_rng(3)
A = RNG.integers(-8, 9, (16, 64)).astype(np.float16)
B = RNG.integers(-8, 9, (64, 8)).astype(np.float16)

# One warp: tiles of A and B come by cp.async into two buffers, go to registers by ldmatrix, and are multiplied.
PIPELINE = r"""
__device__ unsigned at(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
extern "C" __global__ void f(const unsigned short* A, const unsigned short* B, float* C) {
    __shared__ __align__(16) unsigned short a[2][16 * 16], b[2][16 * 8];
    const int t = threadIdx.x;
    float c0 = 0, c1 = 0, c2 = 0, c3 = 0;
    auto fetch = [&](int tile) {
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;"
                     :: "r"(at(&a[tile % 2][t * 8])), "l"(A + (t / 2) * 64 + tile * 16 + t % 2 * 8));
        if (t < 16)
            asm volatile("cp.async.ca.shared.global [%0], [%1], 16, %2;"
                         :: "r"(at(&b[tile % 2][t * 8])), "l"(B + (tile * 16 + t) * 8), "r"(16));
        asm volatile("cp.async.commit_group;");
    };
    fetch(0);
    for (int tile = 0; tile < 4; ++tile) {
        if (tile < 3) fetch(tile + 1);
        if (tile < 3) asm volatile("cp.async.wait_group 1;"); else asm volatile("cp.async.wait_group 0;");
        __syncwarp();
        unsigned a0, a1, a2, a3, b0, b1;
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(a0), "=r"(a1), "=r"(a2), "=r"(a3) : "r"(at(&a[tile % 2][t % 16 * 16 + t / 16 * 8])));
        asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
                     : "=r"(b0), "=r"(b1) : "r"(at(&b[tile % 2][t % 16 * 8])));
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9},"
                     " {%0, %1, %2, %3};"
                     : "+f"(c0), "+f"(c1), "+f"(c2), "+f"(c3) : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
        __syncwarp();
    }
    float* mine = C + t / 4 * 8 + t % 4 * 2;
    mine[0] = c0; mine[1] = c1; mine[64] = c2; mine[65] = c3;
}"""


def product(source: str) -> Emulated:
    return emulate(source, A.view(np.uint16), B.view(np.uint16), np.zeros((16, 8), np.float32), architecture="90a")


def test_a_pipeline_of_copies_feeds_the_tensor_cores() -> None:
    made = product(PIPELINE)
    assert made.violations == []
    np.testing.assert_array_equal(made.arrays[2], A.astype(np.float64) @ B.astype(np.float64))


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ('if (tile < 3) asm volatile("cp.async.wait_group 1;"); else asm volatile("cp.async.wait_group 0;");', ""),
        ("cp.async.wait_group 1", "cp.async.wait_group 2"),
        ('asm volatile("cp.async.commit_group;");', ""),
        ("x2.trans", "x2"),
        ("tile * 16 + t % 2 * 8", "tile * 16"),
    ],
    ids=["no wait", "a wait too short", "no group", "not transposed", "half a tile"],
)
def test_a_broken_pipeline_makes_a_wrong_product(right: str, wrong: str) -> None:
    assert right in PIPELINE
    made = product(PIPELINE.replace(right, wrong))
    assert not np.array_equal(made.arrays[2], A.astype(np.float64) @ B.astype(np.float64))


def test_bytes_that_are_not_copied_are_zeros() -> None:
    source = """
    extern "C" __global__ void f(const unsigned* in, unsigned* out) {
        __shared__ __align__(16) unsigned s[4];
        asm volatile("cp.async.ca.shared.global [%0], [%1], 16, %2;"
                     :: "r"((unsigned)__cvta_generic_to_shared(s)), "l"(in), "r"(6));
        asm volatile("cp.async.wait_all;");
        for (int i = 0; i < 4; ++i) out[i] = s[i];
    }"""
    made = emulate(source, np.full(4, 0x11223344, np.uint32), np.zeros(4, np.uint32), block=(1,))
    assert made.violations == []
    assert [hex(each) for each in made.arrays[1]] == ["0x11223344", "0x3344", "0x0", "0x0"]


# Warps that hand a tile on: a producer, which a bulk copy tells of its end, and consumers.
HANDING_ON = r"""
__device__ unsigned at(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ void await(unsigned long long* bar, int parity) {
    asm volatile("{ .reg .pred done; WAIT: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;"
                 " @done bra DONE; bra WAIT; DONE: }" :: "r"(at(bar)), "r"(parity) : "memory");
}
extern "C" __global__ void f(const float* in, float* out) {
    __shared__ __align__(128) float tile[64];
    __shared__ unsigned long long full, empty;
    const int t = threadIdx.x;
    if (t == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(at(&full)));
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 64;" :: "r"(at(&empty)));
        asm volatile("fence.mbarrier_init.release.cluster;");
    }
    __syncthreads();
    if (t >= 64) {
        for (int step = 0; step < 3 && t == 64; ++step) {
            await(&empty, step % 2 ^ 1);
            asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 256;" :: "r"(at(&full)));
            asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 256, [%2];"
                         :: "r"(at(tile)), "l"(in + step * 64), "r"(at(&full)));
        }
    } else {
        float sum = 0;
        for (int step = 0; step < 3; ++step) {
            await(&full, step % 2);
            sum += tile[63 - t];
            asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(at(&empty)));
        }
        out[t] = sum;
    }
}"""
STEPS = RNG.integers(-9, 9, (3, 64)).astype(np.float32)


def handed_on(source: str = HANDING_ON) -> Emulated:
    return emulate(source, STEPS, np.zeros(64, np.float32), block=(96,), architecture="90a")


def test_a_producer_and_consumers_take_turns() -> None:
    made = handed_on()
    assert made.violations == []
    np.testing.assert_array_equal(made.arrays[1], STEPS.sum(axis=0)[::-1])


@pytest.mark.parametrize(
    ("right", "wrong", "kind", "line"),
    [
        ("_, [%0], 256;", "_, [%0], 512;", "deadlock", 4),
        ("mbarrier.init.shared::cta.b64 [%0], 64;", "mbarrier.init.shared::cta.b64 [%0], 65;", "deadlock", 4),
        ('asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(at(&full)));', "", "mbarrier-misuse", 4),
        ("mbarrier.init.shared::cta.b64 [%0], 64;", "mbarrier.init.shared::cta.b64 [%0], 8;", "deadlock", 4),
    ],
    ids=["bytes that do not come", "a thread that does not come", "no mbarrier", "a phase of too few threads"],
)
def test_a_broken_turn_is_told(right: str, wrong: str, kind: str, line: int) -> None:
    assert right in HANDING_ON
    found = {(each.kind, each.line) for each in handed_on(HANDING_ON.replace(right, wrong)).violations}
    assert (kind, line) in found


# A warpgroup's product of matrices that lie in shared memory in groups of eight rows of 16 bytes.
WARPGROUP = r"""
extern "C" __global__ void f(const unsigned short* A, const unsigned short* B, float* C) {
    __shared__ __align__(128) unsigned short a[64 * 16], b[8 * 16];
    const int t = threadIdx.x;
    for (int i = t; i < 64 * 16; i += 128) a[i / 16 / 8 * 128 + i % 16 / 8 * 64 + i / 16 % 8 * 8 + i % 8] = A[i];
    b[t % 16 / 8 * 64 + t / 16 * 8 + t % 8] = B[t];
    asm volatile("fence.proxy.async.shared::cta;");
    __syncthreads();
    auto descriptor = [](const void* p) {
        const unsigned long long begin = (unsigned)__cvta_generic_to_shared(p);
        return (begin & 0x3FFFF) >> 4 | 128ull >> 4 << 16 | 256ull >> 4 << 32;
    };
    float d[4] = {1, 1, 1, 1};
    asm volatile("wgmma.fence.sync.aligned;");
    asm volatile("{ .reg .pred add; setp.ne.b32 add, %6, 0;"
                 " wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %5, add, 1, -1, 0, 0; }"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "l"(descriptor(a)), "l"(descriptor(b)), "r"(ADD));
    asm volatile("wgmma.commit_group.sync.aligned;");
    asm volatile("wgmma.wait_group.sync.aligned 0;");
    float* mine = C + (t / 32 * 16 + t % 32 / 4) * 8 + t % 4 * 2;
    mine[0] = d[0]; mine[1] = d[1]; mine[64] = d[2]; mine[65] = d[3];
}"""


@pytest.mark.parametrize("added", [0, 1])
def test_a_warpgroup_multiplies_what_descriptors_speak_of(added: int) -> None:
    a = RNG.integers(-8, 9, (64, 16)).astype(np.float16)
    b = RNG.integers(-8, 9, (8, 16)).astype(np.float16)
    arrays: list[NDArray[Any]] = [a.view(np.uint16), b.view(np.uint16), np.zeros((64, 8), np.float32)]
    made = emulate(WARPGROUP, *arrays, block=(128,), options=(f"-DADD={added}",), architecture="90a")
    assert made.violations == []
    np.testing.assert_array_equal(made.arrays[2], added - a.astype(np.float64) @ b.T.astype(np.float64))


MMA = "mma.sync.aligned.m8n8k4.row.col."
WMMA = "wmma.mma.sync.aligned.row.col.m16n16k16."


def of_equal_lanes(opcode: str, a: list[float], b: list[float], c: int, architecture: str) -> str:
    """Return D's first register where each lane has the elements ``a`` and ``b`` over and over, and registers ``c``."""
    kind = mma_kind(tuple(opcode.split("."))) or wmma_mma_kind(tuple(opcode.split(".")))
    assert kind is not None
    names, moves = [], []
    halves = (np.array(each, np.float16).view(np.uint32).tolist() for each in (a, b))
    for letter, count, registers in zip("dabc", kind.register_counts, ([0], *halves, [c]), strict=True):
        names.append("{" + ", ".join(f"{letter}{index}" for index in range(count)) + "}")
        moves += [f".reg .b32 {names[-1][1:-1]};"]
        moves += [f"mov.b32 {letter}{index}, {registers[index % len(registers)]};" for index in range(count)]
    asm = f"{{ {' '.join(moves)} {opcode} {', '.join(names)}; mov.b32 %0, d0; }}"
    source = f'extern "C" __global__ void f(unsigned* d) {{ asm volatile("{asm}" : "=r"(d[threadIdx.x])); }}'
    (made,) = emulate(source, np.zeros(32, np.uint32), architecture=architecture).arrays
    assert len(set(made.tolist())) == 1
    return hex(int(made[0]))


@pytest.mark.parametrize(
    ("opcode", "architecture", "a", "b", "c", "d"),
    [
        # Turing's tensor cores keep 23 bits as Volta's do; later ones have no such instruction, and round.
        (MMA + "f32.f16.f16.f32", "75", [1, 2**-12, 0, 0], [1, 2**-12, 0, 0], 0xBF800000, "0x0"),
        (MMA + "f32.f16.f16.f32", "75", [1, 2**-12, 0, 0], [1, 1.5 * 2**-12, 0, 0], 0, "0x3f800000"),
        (MMA + "f32.f16.f16.f32", "80", [1, 2**-12, 0, 0], [1, 1.5 * 2**-12, 0, 0], 0, "0x3f800001"),
        (MMA + "f32.f16.f16.f32", "90", [1, 2**-12, 0, 0], [1, 1.5 * 2**-12, 0, 0], 0, "0x3f800001"),
        (MMA + "f32.f16.f16.f16", "75", [2**-19] * 4, [2**-19] * 4, 0x00010001, "0x33800000"),
        (MMA + "f32.f16.f16.f16", "80", [2**-19] * 4, [2**-19] * 4, 0x00010001, "0x33800800"),
        (MMA + "f16.f16.f16.f16", "86", [16, 1, -16, 0], [1, 2**-11, 1, 0], 0x00100010, "0x10001000"),
        # Sums are kept in float32, and rounded to float16 at last.
        (WMMA + "f16.f32", "75", [2**-7] * 2, [2**-7] * 2, 0x3F800000, "0x3c013c01"),
        (WMMA + "f16.f32", "80", [2**-7] * 2, [2**-7] * 2, 0x3F800000, "0x3c013c01"),
        (WMMA + "f16.f16", "80", [2**-7] * 2, [2**-7] * 2, 0x3C003C00, "0x3c003c00"),
        (WMMA + "f32.f16", "80", [2**-7] * 2, [2**-7] * 2, 0x3C003C00, "0x3f802000"),
    ],
)
def test_an_instruction_adds_up_as_its_machine_code_does(
    opcode: str, architecture: str, a: list[float], b: list[float], c: int, d: str
) -> None:
    assert of_equal_lanes(opcode, a, b, c, architecture) == d


def test_a_cluster_reads_its_neighbours_memory() -> None:
    source = r"""
    extern "C" __global__ void __cluster_dims__(2, 1, 1) f(unsigned* out) {
        __shared__ unsigned mine;
        unsigned rank, other, got;
        asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
        mine = 100 + blockIdx.x;
        asm volatile("barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;" ::: "memory");
        asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(other) : "r"((unsigned)__cvta_generic_to_shared(&mine)),
            "r"(rank ^ 1));
        asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(got) : "r"(other));
        asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
        out[blockIdx.x] = got;
    }"""
    from mmcore_emulator.ptx.reader import parse
    from tests.emulation import ptx_of

    (function,) = parse(ptx_of(source, architecture="90a")).values()
    assert function.cluster == (2, 1, 1)
    made = emulate(source, np.zeros(6, np.uint32), grid=(6,), block=(1,), architecture="90a", cluster=(2, 1, 1))
    assert made.violations == []
    assert made.arrays[0].tolist() == [101, 100, 103, 102, 105, 104]


def test_shared_arrays_lie_where_an_h200_has_them() -> None:
    """Measured there: the first at 0x400, alignments count from there, dynamic memory at a multiple of 16 at least."""
    source = r"""
    extern __shared__ __align__(DYNAMIC) char dynamic[];
    extern "C" __global__ void f(unsigned long long* out) {
        __shared__ long long bar[2]; __shared__ char x[33]; __shared__ __align__(128) short t[100];
        bar[0] = 1; x[0] = 1; t[0] = 2; dynamic[0] = 6;
        out[0] = __cvta_generic_to_shared(bar); out[1] = __cvta_generic_to_shared(x);
        out[2] = __cvta_generic_to_shared(t); out[3] = __cvta_generic_to_shared(dynamic);
    }"""
    for align, begin in ((1, 0x550), (16, 0x550), (128, 0x580), (1024, 0x800), (4096, 0x1400)):
        options = (f"-DDYNAMIC={align}",)
        made = emulate(source, np.zeros(4, np.uint64), block=(1,), shared_bytes=64, options=options)
        assert [hex(int(each) & 0xFFFFF) for each in made.arrays[0]] == [*map(hex, (0x400, 0x410, 0x480, begin))]
