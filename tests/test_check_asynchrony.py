"""What a check finds wrong with asynchronous copies, products of warpgroups and clusters, line by line."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from mmcore_emulator.executor.translate import Translation
from mmcore_emulator.machine.violations import Violation
from mmcore_emulator.sanitizer.hazards import Checking
from mmcore_emulator.sanitizer.recording import Recorder
from mmcore_emulator.sanitizer.shadow import GlobalShadows
from tests.emulation import emulate
from tests.test_emulator_tensor_cores import HANDING_ON, PIPELINE, STEPS, WARPGROUP

# Tiles go through shared memory and back to global memory by bulk copies, each thread's element doubled on the way.
THROUGH = r"""
__device__ unsigned at(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
extern "C" __global__ void f(const float* in, float* out) {
    __shared__ __align__(128) float tile[2][64];
    for (int step = 0; step < 4; ++step) {
        float* mine = tile[step % 2];
        if (threadIdx.x == 0) asm volatile("cp.async.bulk.wait_group.read 1;" ::: "memory");
        __syncthreads();
        mine[threadIdx.x] = 2 * in[step * 64 + threadIdx.x];
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        __syncthreads();
        if (threadIdx.x == 0) {
            asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 256;"
                         :: "l"(out + step * 64), "r"(at(mine)) : "memory");
            asm volatile("cp.async.bulk.commit_group;");
        }
    }
    if (threadIdx.x == 0) asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}"""

# What a bulk copy has written to global memory is read by others of the block, and written again.
COME_BACK = r"""
__device__ unsigned at(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
extern "C" __global__ void f(float* out) {
    __shared__ __align__(128) float tile[64];
    tile[threadIdx.x] = threadIdx.x;
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (threadIdx.x == 0) {
        asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 256;"
                     :: "l"(out), "r"(at(tile)) : "memory");
        asm volatile("cp.async.bulk.commit_group;");
        asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
    }
    __syncthreads();
    const float other = ((volatile float*)out)[63 - threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = other;
    __syncthreads();
}"""

# Two products under way at a time, of tiles that take turns.
TURNS = r"""
__device__ unsigned at(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
extern "C" __global__ void f(const unsigned short* A, const unsigned short* B, float* C) {
    __shared__ __align__(128) unsigned short a[2][64 * 16], b[2][8 * 16];
    const int t = threadIdx.x;
    float d[4] = {};
    for (int tile = 0; tile < 6; ++tile) {
        unsigned short* own = a[tile % 2];
        for (int i = t; i < 64 * 16; i += 128) own[i / 128 * 128 + i % 16 / 8 * 64 + i / 16 % 8 * 8 + i % 8] = A[i];
        b[tile % 2][t % 16 / 8 * 64 + t / 16 * 8 + t % 8] = B[t];
        asm volatile("fence.proxy.async.shared::cta;");
        __syncthreads();
        auto descriptor = [](const void* p) {
            const unsigned long long begin = (unsigned)__cvta_generic_to_shared(p);
            return (begin & 0x3FFFF) >> 4 | 128ull >> 4 << 16 | 256ull >> 4 << 32;
        };
        asm volatile("wgmma.fence.sync.aligned;");
        asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %5, 1, 1, 1, 0, 0;"
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                     : "l"(descriptor(own)), "l"(descriptor(b[tile % 2])));
        asm volatile("wgmma.commit_group.sync.aligned;");
        asm volatile("wgmma.wait_group.sync.aligned 1;");
        __syncthreads();
    }
    asm volatile("wgmma.wait_group.sync.aligned 0;" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]));
    float* mine = C + (t / 32 * 16 + t % 32 / 4) * 8 + t % 4 * 2;
    mine[0] = d[0]; mine[1] = d[1]; mine[64] = d[2]; mine[65] = d[3];
}"""

# Rows 40 to 63 of A are none: zeros take their place, and the address that is not read from is A's own.
CLAMPED = r"""
extern "C" __global__ void f(const unsigned short* A, const unsigned short* B, float* C) {
    __shared__ __align__(128) unsigned short a[64 * 16], b[8 * 16];
    const int t = threadIdx.x, row = t / 2, part = t % 2;
    auto copy = [](void* to, const void* from, int bytes) {
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                     :: "r"((unsigned)__cvta_generic_to_shared(to)), "l"(from), "r"(bytes) : "memory");
    };
    copy(a + row / 8 * 128 + part * 64 + row % 8 * 8, row < 40 ? A + row * 16 + part * 8 : A, row < 40 ? 16 : 0);
    if (row < 8) copy(b + part * 64 + row * 8, B + row * 16 + part * 8, 16);
    asm volatile("cp.async.wait_all;" ::: "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    auto descriptor = [](const void* p) {
        const unsigned long long begin = (unsigned)__cvta_generic_to_shared(p);
        return (begin & 0x3FFFF) >> 4 | 128ull >> 4 << 16 | 256ull >> 4 << 32;
    };
    float d[4] = {};
    asm volatile("wgmma.fence.sync.aligned;");
    asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %5, 1, 1, 1, 0, 0;"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "l"(descriptor(a)), "l"(descriptor(b)));
    asm volatile("wgmma.commit_group.sync.aligned;");
    asm volatile("wgmma.wait_group.sync.aligned 0;" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]));
    float* mine = C + (t / 32 * 16 + t % 32 / 4) * 8 + t % 4 * 2;
    mine[0] = d[0]; mine[1] = d[1]; mine[64] = d[2]; mine[65] = d[3];
}"""

NEIGHBOURS = r"""
extern "C" __global__ void __cluster_dims__(2, 1, 1) f(unsigned* out) {
    __shared__ unsigned mine;
    unsigned rank, other, got;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    mine = 100 + blockIdx.x;
    asm volatile("barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;" ::: "memory");
    asm("mapa.shared::cluster.u32 %0, %1, %2;"
        : "=r"(other) : "r"((unsigned)__cvta_generic_to_shared(&mine)), "r"(rank ^ 1));
    asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(got) : "r"(other));
    asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory"); // end
    out[blockIdx.x] = got;
}"""

# The same where the arrival releases nothing: a fence does, and one of its own what thread 0 makes.
RELAXED = r"""
__device__ unsigned at(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
extern "C" __global__ void __cluster_dims__(2, 1, 1) f(unsigned* out) {
    __shared__ unsigned mine[64];
    __shared__ unsigned long long bar;
    const int t = threadIdx.x;
    unsigned rank, other, told, got;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    if (t == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 64;" :: "r"(at(&bar)) : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); // made
    }
    asm volatile("barrier.cluster.arrive.relaxed.aligned; barrier.cluster.wait.acquire.aligned;" ::: "memory");
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(told) : "r"(at(&bar)), "r"(rank ^ 1));
    asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" :: "r"(told) : "memory");
    mine[t] = t;
    asm volatile("fence.acq_rel.cluster;" ::: "memory"); // written
    asm volatile("barrier.cluster.arrive.relaxed.aligned; barrier.cluster.wait.acquire.aligned;" ::: "memory");
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(other) : "r"(at(mine + 63 - t)), "r"(rank ^ 1));
    asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(got) : "r"(other) : "memory");
    got += mine[63 - t];
    asm volatile("barrier.cluster.arrive.relaxed.aligned; barrier.cluster.wait.aligned;" ::: "memory");
    out[blockIdx.x * 64 + t] = got;
}"""

# Threads tell each other by an mbarrier and fences that a tile is written.
FENCED = r"""
__device__ unsigned at(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
extern "C" __global__ void f(float* out) {
    __shared__ float tile[64];
    __shared__ unsigned long long full;
    const int t = threadIdx.x;
    if (t == 0) asm volatile("mbarrier.init.shared::cta.b64 [%0], 64;" :: "r"(at(&full)) : "memory");
    __syncthreads();
    tile[t] = t;
    asm volatile("fence.acq_rel.cta;" ::: "memory"); // written
    asm volatile("mbarrier.arrive.relaxed.cta.shared::cta.b64 _, [%0];" :: "r"(at(&full)) : "memory");
    asm volatile("{ .reg .pred p;"
                 " again: mbarrier.try_wait.parity.relaxed.cta.shared::cta.b64 p, [%0], 0; @!p bra again; }"
                 :: "r"(at(&full)) : "memory");
    asm volatile("fence.acq_rel.cta;" ::: "memory"); // seen
    out[t] = tile[63 - t];
}"""

# Two warps hand tiles on to two others at numbered barriers.
NUMBERED = r"""
extern "C" __global__ void f(const float* in, float* out) {
    __shared__ float tile[64];
    const int t = threadIdx.x % 64;
    for (int step = 0; step < 2; ++step)
        if (threadIdx.x < 64) {
            tile[t] = in[step * 64 + t];
            asm volatile("bar.arrive 1, 128;" ::: "memory");
            asm volatile("bar.sync 2, 128;" ::: "memory"); // taken
        } else {
            asm volatile("bar.sync 1, 128;" ::: "memory"); // given
            out[step * 64 + t] = tile[63 - t];
            asm volatile("bar.sync 2, 128;" ::: "memory");
        }
}"""

# Four warps copy tiles for each other to a ring of two stages, whose mbarriers count copies and readers.
RING = r"""
__device__ unsigned at(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ void wait(unsigned long long* barrier, int phase) {
    for (int over = 0; !over;)
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                     : "=r"(over) : "r"(at(barrier)), "r"(phase) : "memory");
}
extern "C" __global__ void f(const float* in, float* out) {
    __shared__ float tile[2][128];
    __shared__ unsigned long long full[2], empty[2];
    const int t = threadIdx.x;
    if (t < 2) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 128;" :: "r"(at(full + t)));
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 128;" :: "r"(at(empty + t)));
    }
    __syncthreads();
    float sum = 0;
    for (int step = -1; step < 6; ++step) {
        const int next = (step + 1) % 2;
        if (step >= 0) wait(full + step % 2, step / 2 % 2); // written
        if (step < 5) {
            wait(empty + next, (step + 1) / 2 % 2 ^ 1); // read
            asm volatile("cp.async.ca.shared.global [%0], [%1], 4;"
                         :: "r"(at(tile[next] + t)), "l"(in + (step + 1) * 128 + t) : "memory"); // copy
            asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" :: "r"(at(full + next)) : "memory");
        }
        if (step < 0) continue;
        sum += tile[step % 2][127 - t];
        asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(at(empty + step % 2)) : "memory");
    }
    out[t] = sum;
}"""

# Each block of two sends numbers to the other, which has the sum of some besides.
SENT = r"""
__device__ unsigned at(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
extern "C" __global__ void __cluster_dims__(2, 1, 1) f(unsigned* out) {
    __shared__ unsigned in[32], sum;
    __shared__ unsigned long long got;
    const int t = threadIdx.x;
    unsigned rank, place, all, told;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    if (t == 0) {
        sum = 0;
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(at(&got)));
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 256;" :: "r"(at(&got)));
    }
    asm volatile("barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;" ::: "memory");
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(place) : "r"(at(in + t)), "r"(rank ^ 1));
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(all) : "r"(at(&sum)), "r"(rank ^ 1));
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(told) : "r"(at(&got)), "r"(rank ^ 1));
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0], %1, [%2];"
                 :: "r"(place), "r"(t), "r"(told) : "memory");
    asm volatile("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%0], %1, [%2];"
                 :: "r"(all), "r"(t), "r"(told) : "memory");
    asm volatile("{ .reg .pred p; again: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0; @!p bra again; }"
                 :: "r"(at(&got)) : "memory"); // come
    out[blockIdx.x * 32 + t] = in[31 - t] + sum;
}"""

# Of each warp one thread says that all of it have done with an mbarrier, and the last one gives it up.
ELECTED = r"""
__device__ unsigned at(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
extern "C" __global__ void f(int* out) {
    __shared__ unsigned long long full;
    __shared__ int left;
    const int t = threadIdx.x;
    if (t == 0) {
        left = 64;
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 64;" :: "r"(at(&full)) : "memory");
    }
    __syncthreads();
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(at(&full)) : "memory");
    asm volatile("{ .reg .pred p; again: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0; @!p bra again; }"
                 :: "r"(at(&full)) : "memory");
    const unsigned mates = __match_any_sync(__activemask(), 1);
    if (t % 32 == __ffs(mates) - 1) {
        int before;
        asm volatile("fence.sc.cta; atom.acquire.cta.shared.add.u32 %0, [%1], -32;"
                     : "=r"(before) : "r"(at(&left)) : "memory");
        if (before == 32) asm volatile("mbarrier.inval.shared::cta.b64 [%0];" :: "r"(at(&full)) : "memory");
    }
    out[t] = t;
}"""

# What threads have written to global memory comes back in bulk: a piece for each lane of a warp.
FETCHED = r"""
__device__ unsigned at(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
extern "C" __global__ void f(float* work, float* out) {
    __shared__ __align__(128) float tile[128];
    __shared__ unsigned long long full;
    const int t = threadIdx.x;
    if (t == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(at(&full)));
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 512;" :: "r"(at(&full)) : "memory");
    }
    __syncthreads();
    work[t] = t;
    asm volatile("fence.proxy.async;" ::: "memory");
    __syncthreads(); // written
    if (t < 32)
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 16, [%2];"
                     :: "r"(at(tile + 4 * t)), "l"(work + 4 * t), "r"(at(&full)) : "memory");
    asm volatile("{ .reg .pred p; again: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0; @!p bra again; }"
                 :: "r"(at(&full)) : "memory");
    out[t] = tile[127 - t];
}"""

# Accesses of a block that the cluster of two does not have: ``there`` a word, ``told`` an mbarrier.
ASTRAY = r"""
__device__ unsigned at(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
extern "C" __global__ void __cluster_dims__(2, 1, 1) f(unsigned* out) {
    __shared__ __align__(128) unsigned mine[32];
    __shared__ unsigned long long bar;
    const int t = threadIdx.x;
    unsigned got = 0, there, told;
    mine[t] = t;
    if (t == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(at(&bar)));
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    asm volatile("barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;" ::: "memory");
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(at(mine + t)), "r"(RANK));
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(told) : "r"(at(&bar)), "r"(RANK));
    if (t == 0) ACCESS
    asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
    out[blockIdx.x * 32 + t] = got;
}"""
OWN_BYTES = '"cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], 16, [%2];"'
MULTICAST = (
    '"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], 16, [%2], 4;"'
)
STRAYS = {
    "a read": ("read", 'asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(got) : "r"(there));'),
    "a write": ("write", 'asm volatile("st.shared::cluster.u32 [%0], %1;" :: "r"(there), "r"(t) : "memory");'),
    "an addition": ("write", 'asm volatile("red.relaxed.cluster.shared::cluster.add.u32 [%0], 1;" :: "r"(there));'),
    "an arrival": (
        "write", 'asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" :: "r"(told) : "memory");'
    ),
    "a store that is sent": (
        "write",
        'asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0], %1, [%2];"'
        ' :: "r"(there), "r"(t), "r"(told) : "memory");',
    ),
    "a bulk copy": (
        "write", f'asm volatile({OWN_BYTES} :: "r"(there), "r"(at(mine)), "r"(told) : "memory");'
    ),
    "a copy to several": (
        "write", f'asm volatile({MULTICAST} :: "r"(at(mine)), "l"(out), "r"(at(&bar)) : "memory");'
    ),
}  # fmt: skip

HALF = np.ones((64, 16), np.float16).view(np.uint16)
OPERANDS: dict[str, tuple[list[NDArray[Any]], dict[str, Any]]] = {
    PIPELINE: ([np.ones(1024, np.uint16), np.ones(512, np.uint16), np.zeros(128, np.float32)], {"block": (32,)}),
    HANDING_ON: ([STEPS, np.zeros(64, np.float32)], {"block": (96,)}),
    WARPGROUP: ([HALF, HALF[:8], np.zeros(512, np.float32)], {"block": (128,), "options": ("-DADD=1",)}),
    TURNS: ([HALF, HALF[:8], np.zeros(512, np.float32)], {"block": (128,)}),
    COME_BACK: ([np.zeros(64, np.float32)], {"block": (64,)}),
    THROUGH: ([np.ones(256, np.float32), np.zeros(256, np.float32)], {"block": (64,)}),
    NUMBERED: ([np.ones(128, np.float32), np.zeros(128, np.float32)], {"block": (128,)}),
    RING: ([np.ones(768, np.float32), np.zeros(128, np.float32)], {"block": (128,)}),
    SENT: ([np.zeros(64, np.uint32)], {"grid": (2,), "cluster": (2, 1, 1)}),
    RELAXED: ([np.zeros(256, np.uint32)], {"grid": (4,), "block": (64,), "cluster": (2, 1, 1)}),
    FENCED: ([np.zeros(64, np.float32)], {"block": (64,)}),
    ASTRAY: ([np.zeros(128, np.uint32)], {"grid": (4,), "cluster": (2, 1, 1)}),
    ELECTED: ([np.zeros(64, np.int32)], {"block": (64,)}),
    FETCHED: ([np.zeros(128, np.float32), np.zeros(128, np.float32)], {"block": (128,)}),
    CLAMPED: (
        [np.zeros(40 * 16, np.uint16), np.zeros(8 * 16, np.uint16), np.zeros(64 * 8, np.float32)],
        {"block": (128,)},
    ),
    NEIGHBOURS: ([np.zeros(6, np.uint32)], {"grid": (6,), "block": (1,), "cluster": (2, 1, 1)}),
}


def hazards(source: str, of: str, **further: Any) -> list[Violation]:
    """What a check finds in a kernel that takes the operands ``of`` another, but for what its arrays hold at first."""
    arrays, geometry = OPERANDS[of]
    recorder = Recorder()

    def observers(translation: Translation) -> tuple[Checking, ...]:
        return (Checking(GlobalShadows(2), recorder, translation),)

    emulate(source, *arrays, architecture="90a", observers=observers, **{**geometry, **further})
    return [
        each
        for each in recorder.violations
        if (each.array or "shared") not in "PQRST" or each.kind != "uninitialized-read"
    ]


@pytest.mark.parametrize(
    "source",
    OPERANDS,
    ids=[
        "cp.async",
        "mbarriers",
        "wgmma",
        "groups",
        "come back",
        "stores",
        "barriers",
        "ring",
        "sent",
        "relaxed",
        "fenced",
        "of a cluster",
        "elected",
        "global",
        "edge",
        "cluster",
    ],
)
def test_nothing_is_wrong_with_a_right_kernel(source: str) -> None:
    right = source.replace("RANK", "1").replace("ACCESS", STRAYS["a read"][1])
    assert hazards(right, source) == []


@pytest.mark.parametrize("rank", [2, 5, 31, 2**32 - 1])
@pytest.mark.parametrize("name", STRAYS)
def test_a_rank_that_no_block_of_the_cluster_has_is_told(name: str, rank: int) -> None:
    kind, access = STRAYS[name]
    source = ASTRAY.replace("ACCESS", access).replace("RANK", f"{rank}u")
    found = hazards(source, ASTRAY)
    (line,) = (number for number, text in enumerate(source.splitlines(), 1) if access in text)
    assert [(each.kind, each.line, each.count) for each in found] == [(f"out-of-bounds-{kind}", line, 4)]
    assert re.search(r"block of rank (2|5|30 or more) of its cluster, which has", found[0].message)


GIVE_UP = "".join(
    f'asm volatile("mbarrier.inval.shared::cta.b64 [%0];" :: "r"(at(&{name})));' for name in ("full", "empty")
)
ANEW = (
    HANDING_ON.replace("if (t == 0) {", "float all = 0;\n for (int round = 0; round < 2; ++round) {\n if (t == 0) {", 1)
    .replace("out[t] = sum;", "out[t] = all += sum;")
    .removesuffix("}")
) + f"__syncthreads();\n if (t == 0) {{\n {GIVE_UP}\n }}\n __syncthreads();\n }}\n }}"


def test_an_mbarrier_made_anew_has_phases_of_its_own() -> None:
    assert hazards(ANEW, HANDING_ON) == []


def test_an_mbarrier_is_given_up_when_nobody_uses_it_any_more() -> None:
    behind = f"__syncthreads();\n if (t == 0) {{\n {GIVE_UP}"
    assert behind in ANEW
    found = hazards(ANEW.replace(behind, behind.removeprefix("__syncthreads();")), HANDING_ON)
    assert any(each.kind == "shared-race" and "gives up element" in each.message for each in found)


def test_an_mbarrier_is_not_made_where_one_is() -> None:
    found = hazards(ANEW.replace(GIVE_UP, ""), HANDING_ON)
    assert any(each.kind == "mbarrier-misuse" and "without mbarrier.inval" in each.message for each in found)


def test_a_bulk_store_is_behind_its_writers_wherever_the_tile_lies() -> None:
    """At addresses that are no multiples of its bytes."""
    moved = THROUGH.replace("tile[2][64]", "tile[2][128]").replace("tile[step % 2]", "tile[step % 2] + 32")
    assert hazards(moved, THROUGH) == []
    behind = '::: "memory");\n        __syncthreads();\n        if'
    assert behind in moved
    found = hazards(moved.replace(behind, '::: "memory");\n        if'), THROUGH)
    assert [each.kind for each in found] == ["shared-race"]


def test_a_store_that_has_read_writes_what_it_has_read() -> None:
    """Whatever is written to shared memory behind the wait for the reading."""
    again = THROUGH.replace("wait_group 0;", "wait_group.read 0;").removesuffix("}")
    again += "__syncthreads();\n tile[0][threadIdx.x] = tile[1][threadIdx.x] = -1;\n}"
    values = np.arange(256, dtype=np.float32)
    made = emulate(again, values, np.zeros(256, np.float32), block=(64,), architecture="90a")
    np.testing.assert_array_equal(made.arrays[1], 2 * values)
    assert hazards(again, THROUGH) == []


def test_bulk_stores_for_which_no_block_ever_waits_are_told() -> None:
    never = re.sub(r'if \(threadIdx.x == 0\) asm volatile\("cp.async.bulk.wait_group[^;]*;"[^;]*;', "", THROUGH)
    assert "wait_group" not in never
    once = never.replace("step < 4", "step < 1")
    assert [(each.kind, each.count) for each in hazards(once, THROUGH)] == [("unawaited-copy", 1)]


def test_blocks_that_store_to_the_same_place_race_unless_they_add_to_it() -> None:
    store, add = "bulk.global.shared::cta.bulk_group", "bulk.global.shared::cta.bulk_group.add.f32"
    assert store in THROUGH
    assert {each.kind for each in hazards(THROUGH, THROUGH, grid=(2,))} == {"global-race"}
    adding = THROUGH.replace(f"cp.async.{store}", f"cp.reduce.async.{add}")
    assert hazards(adding, THROUGH, grid=(2,)) == []
    first = adding.replace("float* mine =", "if (blockIdx.x == 0) out[step * 64] = 0;\n float* mine =")
    assert {each.kind for each in hazards(first, THROUGH, grid=(2,))} == {"global-race"}


class Fault(NamedTuple):
    """An edit of a right kernel, and the finding that is to name a line with some text, there or as the other line."""

    source: str
    right: str
    wrong: str
    kind: str
    line: str
    says: str = ""


WAITS = 'if (tile < 3) asm volatile("cp.async.wait_group 1;"); else asm volatile("cp.async.wait_group 0;");'
FAULTS = {
    "no wait for a group": Fault(PIPELINE, WAITS, "", "unfinished-copy", "ldmatrix.sync.aligned.m8n8.x4", "wait_group"),
    "a wait for too few groups": Fault(
        PIPELINE, "wait_group 1", "wait_group 2", "unfinished-copy", "ldmatrix.sync.aligned.m8n8.x4"
    ),
    "a copy over what is copied": Fault(
        PIPELINE, "&b[tile % 2][t * 8]", "&b[0][t * 8]", "unfinished-copy", "cp.async.ca"
    ),
    "no barrier behind the wait": Fault(
        PIPELINE, "        __syncwarp();\n        unsigned", "        unsigned", "shared-race", "m8n8.x4"
    ),
    "no wait for the readers of a ring": Fault(
        RING, "wait(empty + next, (step + 1) / 2 % 2 ^ 1);", "", "shared-race", "cp.async.ca", "reads"
    ),
    "no wait for the copies to a ring": Fault(
        RING, "if (step >= 0) wait(full + step % 2, step / 2 % 2);", "", "unfinished-copy", "sum += tile"
    ),
    "an arrival before its copies": Fault(
        RING,
        "cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];",
        "mbarrier.arrive.shared::cta.b64 _, [%0];",
        "unfinished-copy",
        "sum += tile",
    ),
    "a phase waited for twice": Fault(
        HANDING_ON, "await(&full, step % 2)", "await(&full, 0)", "phase-waited-twice", "mbarrier.try_wait"
    ),
    "a phase never waited for": Fault(HANDING_ON, "await(&full, step % 2);", "", "uninitialized-read", "tile[63"),
    "no wait for an empty buffer": Fault(
        HANDING_ON, "await(&empty, step % 2 ^ 1);", "", "unfinished-copy", "cp.async.bulk"
    ),
    "an arrival before the read": Fault(
        HANDING_ON,
        """sum += tile[63 - t];
            asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(at(&empty)));""",
        """asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(at(&empty)));
            sum += tile[63 - t];""",
        "",
        "tile[63",
    ),
    "no barrier behind mbarrier.init": Fault(HANDING_ON, "__syncthreads();", "", "shared-race", "mbarrier.init"),
    "no fence before a product": Fault(
        WARPGROUP, 'asm volatile("fence.proxy.async.shared::cta;");', "", "missing-proxy-fence", "a[i / 16"
    ),
    "no wgmma.fence": Fault(
        WARPGROUP, 'asm volatile("wgmma.fence.sync.aligned;");', "", "wgmma-order", "setp.ne.b32 add"
    ),
    "no wgmma.wait_group": Fault(
        WARPGROUP, 'asm volatile("wgmma.wait_group.sync.aligned 0;");', "", "wgmma-order", "mine[0]", "wgmma.wait_group"
    ),
    "a sum changed without wgmma.fence": Fault(
        TURNS, 'asm volatile("wgmma.fence.sync.aligned;");',
        'if (tile == 0) asm volatile("wgmma.fence.sync.aligned;"); if (tile == 5) d[0] *= 2;',
        "wgmma-order", "d[0] *= 2"
    ),
    "a sum read while it is made": Fault(
        TURNS, 'asm volatile("wgmma.wait_group.sync.aligned 0;"', 'asm volatile("wgmma.wait_group.sync.aligned 1;"',
        "wgmma-order", "mine[0]"
    ),
    "one buffer for two products": Fault(TURNS, "a[tile % 2]", "a[0]", "overwritten-in-flight", "own[i / 128"),
    "a wait for too few products": Fault(
        TURNS, "wgmma.wait_group.sync.aligned 1;", "wgmma.wait_group.sync.aligned 2;", "overwritten-in-flight", "own[i"
    ),
    "no wait for a store": Fault(
        THROUGH, 'if (threadIdx.x == 0) asm volatile("cp.async.bulk.wait_group.read 1;" ::: "memory");', "",
        "overwritten-in-flight", "2 * in[", "cp.async.bulk.wait_group.read"
    ),
    "a wait for too few stores": Fault(THROUGH, "read 1;", "read 2;", "overwritten-in-flight", "2 * in["),
    "no barrier behind the wait for a store": Fault(
        THROUGH, '::: "memory");\n        __syncthreads();\n        mine', '::: "memory");\n        mine',
        "overwritten-in-flight", "2 * in["
    ),
    "a wait until a store has read, and no more": Fault(
        COME_BACK, "wait_group 0", "wait_group.read 0", "global-race", "bulk_group [", "while that is under way"
    ),
    "no fence before a store": Fault(
        THROUGH, 'asm volatile("fence.proxy.async.shared::cta;" ::: "memory");', "", "missing-proxy-fence", "2 * in["
    ),
    "no barrier before a store": Fault(
        THROUGH, '::: "memory");\n        __syncthreads();\n        if', '::: "memory");\n        if', "", "2 * in["
    ),
    "a block that leaves its cluster": Fault(
        NEIGHBOURS,
        'asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory"); // end', "",
        "cluster-exit", "ld.shared::cluster"
    ),
    "no fence before a relaxed arrival": Fault(
        RELAXED, 'asm volatile("fence.acq_rel.cluster;" ::: "memory"); // written', "", "shared-race",
        "ld.shared::cluster", "with no order between"
    ),
    "no fence before a relaxed arrival, seen in the block": Fault(
        RELAXED, 'asm volatile("fence.acq_rel.cluster;" ::: "memory"); // written', "", "shared-race", "got += mine"
    ),
    "no fence of what a relaxed arrival tells of": Fault(
        RELAXED, 'asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); // made', "", "shared-race",
        "mbarrier.arrive"
    ),
    "no fence before a relaxed arrival at an mbarrier": Fault(
        FENCED, 'asm volatile("fence.acq_rel.cta;" ::: "memory"); // written', "", "shared-race", "out[t] = tile"
    ),
    "no fence behind a relaxed wait for an mbarrier": Fault(
        FENCED, 'asm volatile("fence.acq_rel.cta;" ::: "memory"); // seen', "", "shared-race", "out[t] = tile"
    ),
    "a barrier of half the threads": Fault(NUMBERED, "bar.sync 2, 128", "bar.sync 2, 64", "shared-race", "63 - t"),
    "a barrier of more threads than come": Fault(
        NUMBERED, 'bar.sync 1, 128;" ::: "memory"); // given', 'bar.sync 1, 160;" ::: "memory"); // given',
        "deadlock", "// given"
    ),
    "a barrier of other counts": Fault(
        NUMBERED, 'bar.sync 2, 128;" ::: "memory"); // taken', 'bar.sync 2, 96;" ::: "memory"); // taken',
        "barrier-count", "// taken"
    ),
    "a barrier for which others arrive with another count": Fault(
        NUMBERED, "bar.arrive 1, 128", "bar.arrive 1, 160", "barrier-count", "// given", "another number of threads"
    ),
    "a warp that does not multiply": Fault(
        TURNS, 'asm volatile("wgmma.mma', 'if (t >= 32) asm volatile("wgmma.mma', "divergent-wgmma", "wgmma.mma"
    ),
    "no wait for what another block sends": Fault(
        SENT, "again: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0; @!p bra again;", "",
        "unfinished-copy", "in[31 - t]"
    ),
    "fewer bytes expected than another block sends": Fault(
        SENT, "[%0], 256;", "[%0], 128;", "unfinished-copy", "in[31 - t]", "reads sum"
    ),
    "fewer bytes expected than the lanes of a warp store": Fault(
        SENT, "[%0], 256;", "[%0], 64;", "mbarrier-misuse", "st.async", "told of fewer bytes"
    ),
    "fewer bytes expected than the lanes of a warp add": Fault(
        SENT, "[%0], 256;", "[%0], 252;", "mbarrier-misuse", "red.async", "told of fewer bytes"
    ),
    "no cluster barrier before another block sends": Fault(
        SENT,
        'asm volatile("barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;" ::: "memory");',
        "__syncthreads();", "shared-race", "mbarrier.init"
    ),
    "nobody elected for all": Fault(
        ELECTED, "__match_any_sync(__activemask(), 1)", "__ballot_sync(__activemask(), 1)", "shared-race",
        "mbarrier.inval", "gives up"
    ),
    "no barrier before a copy of global memory": Fault(
        FETCHED, "__syncthreads(); // written", "", "global-race", "work[t] = t", "reads 16 bytes"
    ),
    "no fence before a copy of global memory": Fault(
        FETCHED, 'asm volatile("fence.proxy.async;" ::: "memory");', "", "missing-proxy-fence", "work[t] = t",
        "threads have written at"
    ),
    "a fence of shared memory before a copy of global memory": Fault(
        FETCHED, "fence.proxy.async;", "fence.proxy.async.shared::cta;", "missing-proxy-fence", "work[t] = t"
    ),
    "fewer bytes expected than the lanes of a warp copy": Fault(
        FETCHED, "[%0], 512;", "[%0], 256;", "mbarrier-misuse", "cp.async.bulk", "told of fewer bytes"
    ),
    "no barrier before the next tile": Fault(
        NUMBERED, 'asm volatile("bar.sync 2, 128;" ::: "memory"); // taken', "", "deadlock", "// given"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_found_on_its_line(name: str) -> None:
    fault = FAULTS[name]
    assert fault.right in fault.source
    source = fault.source.replace(fault.right, fault.wrong)
    lines = {number for number, line in enumerate(source.splitlines(), 1) if fault.line in line}
    assert lines
    found = hazards(source, fault.source)
    named = [each for each in found if each.line in lines or any(f":{line}" in each.message for line in lines)]
    assert any(fault.kind in ("", each.kind) and fault.says in each.message for each in named), found


def test_a_block_that_waits_for_ever_does_not_leave_its_cluster() -> None:
    behind = 'asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory"); // end'
    assert behind in NEIGHBOURS
    for_ever = "volatile unsigned* flag = out; while (flag[blockIdx.x] == 0); "
    assert {each.kind for each in hazards(NEIGHBOURS.replace(behind, f"{for_ever}{behind}"), NEIGHBOURS)} == {
        "deadlock"
    }
    one = NEIGHBOURS.replace(behind, f"if (rank == 1) {{ {for_ever} }}")
    left = [each for each in hazards(one, NEIGHBOURS) if each.kind == "cluster-exit"]
    assert [(each.count, each.block and each.block.x) for each in left] == [(3, 1)]


@pytest.mark.parametrize(("align", "found"), [(128, []), (1024, []), (2048, ["misplaced-array"])])
def test_an_alignment_that_the_hardware_does_not_honour_is_told(align: int, found: list[str]) -> None:
    source = THROUGH.replace("__align__(128)", f"__align__({align})")
    told = hazards(source, THROUGH)
    assert [each.kind for each in told] == found
    assert all("tile asks for an alignment of 2048 bytes and lies at 0x400" in each.message for each in told)
