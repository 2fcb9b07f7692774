"""Accesses of several blocks to the same memory: what a check says of their order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from mmcore_emulator.executor.translate import Translation
from mmcore_emulator.machine.violations import Violation
from mmcore_emulator.sanitizer.hazards import Checking
from mmcore_emulator.sanitizer.recording import Recorder
from mmcore_emulator.sanitizer.shadow import GlobalShadows
from tests.emulation import emulate

HELPERS = r"""
__device__ unsigned at(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ unsigned of(unsigned rank, unsigned place) {
    unsigned there;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(place), "r"(rank));
    return there;
}
__device__ float read(unsigned place) {
    float value;
    asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(value) : "r"(place) : "memory");
    return value;
}
__device__ void cluster_barrier() {
    asm volatile("barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;" ::: "memory");
}
"""
# In each step a block reads what it has written, as does each neighbour; then it writes again. MEET is between.
ROUNDS = (
    HELPERS
    + r"""
extern "C" __global__ void f(float* out) {
    __shared__ float tile[64];
    __shared__ __align__(8) unsigned long long bar;
    __shared__ unsigned flag;
    const unsigned t = threadIdx.x;
    unsigned rank, size, met = 0;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(size));
    if (t == 0) {
        flag = 0;
        asm volatile("mbarrier.init.shared.b64 [%0], %1;" :: "r"(at(&bar)), "r"(size));
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    cluster_barrier();
    float sum = 0;
    for (int step = 0; step < 2; ++step) {
        tile[t] = sum + t;
        MEET  // written
        for (unsigned other = 0; other < size; ++other)
            sum += other == rank ? tile[63 - t] : read(of(other, at(tile + 63 - t)));
        MEET  // read
    }
    out[blockIdx.x * 64 + t] = sum;
    cluster_barrier();
}"""
)
MEETINGS = {
    "the cluster's barrier": "cluster_barrier();",
    "mbarriers": r"""
        __syncthreads();
        if (t < size)
            asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];"
                         :: "r"(of(t, at(&bar))) : "memory");
        asm volatile("{ .reg .pred p;\n"
                     "W: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%0], %1; @!p bra W; }"
                     :: "r"(at(&bar)), "r"(met++ & 1) : "memory");
        __syncthreads();""",
    "flags": r"""
        __syncthreads();
        met += size;
        if (t < size)
            asm volatile("red.release.cluster.shared::cluster.add.u32 [%0], 1;" :: "r"(of(t, at(&flag))) : "memory");
        if (t == 0) {
            unsigned seen;
            do asm volatile("ld.acquire.cluster.shared::cta.u32 %0, [%1];" : "=r"(seen) : "r"(at(&flag)) : "memory");
            while (seen < met);
        }
        __syncthreads();""",
}  # fmt: skip

# The threads of two blocks add to the same counters, and read one of them.
COUNTED = (
    HELPERS
    + r"""
extern "C" __global__ void f(float* out) {
    __shared__ unsigned count;
    unsigned rank;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    if (threadIdx.x == 0) count = 0;
    cluster_barrier();
    for (unsigned other = 0; other < 2; ++other)
        asm volatile("red.relaxed.cluster.shared::cluster.add.u32 [%0], 1;" :: "r"(of(other, at(&count))) : "memory");
    cluster_barrier();  // all
    out[blockIdx.x * blockDim.x + threadIdx.x] = count;
    cluster_barrier();
}"""
)


# Block 0 writes, block 1 reads, block 0 writes again. Flags order that, and mbarriers within block 1.
HANDED_ON = (
    HELPERS
    + r"""
__device__ void raise(unsigned* flag) { asm volatile("st.release.gpu.u32 [%0], 1;" :: "l"(flag) : "memory"); }
__device__ void await(const unsigned* flag) {
    unsigned seen;
    do asm volatile("ld.acquire.gpu.u32 %0, [%1];" : "=r"(seen) : "l"(flag) : "memory"); while (!seen);
}
__device__ void arrive(void* bar) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(at(bar)) : "memory");
}
__device__ void wait(void* bar) {
    asm volatile("{ .reg .pred p;\nW: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0; @!p bra W; }"
                 :: "r"(at(bar)) : "memory");
}
extern "C" __global__ void f(unsigned* data, unsigned* flags) {
    __shared__ __align__(8) unsigned long long written, read;
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared.b64 [%0], 1;" :: "r"(at(&written)));
        asm volatile("mbarrier.init.shared.b64 [%0], 1;" :: "r"(at(&read)));
    }
    __syncthreads();
    if (threadIdx.x == 0 && blockIdx.x == 0) {
        data[0] = 1;
        raise(flags);
        await(flags + 1);
        data[0] = 2;
    } else if (threadIdx.x == 0) {
        await(flags);
        arrive(&written);
        wait(&read);
        raise(flags + 1);
    } else if (threadIdx.x == 32 && blockIdx.x == 1) {
        wait(&written);
        data[1] = data[0];
        arrive(&read);
    }
}"""
)


def hazards(source: str, size: int, clusters: int, *out: NDArray[Any]) -> tuple[list[Violation], NDArray[Any]]:
    """What a check finds in a kernel, and what the kernel has written to the first array."""
    recorder = Recorder()

    def observers(translation: Translation) -> tuple[Checking, ...]:
        return (Checking(GlobalShadows(4), recorder, translation),)

    geometry: dict[str, Any] = {"grid": (size * clusters,), "block": (64,), "cluster": (size, 1, 1)}
    out = out or (np.zeros(size * clusters * 64, np.float32),)
    done = emulate(source, *out, architecture="90a", observers=observers, **geometry)
    found = [each for each in recorder.violations if each.kind != "uninitialized-read" or each.array == "shared"]
    return found, done.arrays[0]


@pytest.mark.parametrize(("size", "clusters"), [(1, 2), (2, 1), (2, 3), (4, 2)])
@pytest.mark.parametrize("meeting", MEETINGS)
def test_blocks_that_meet_may_access_the_same_shared_memory(meeting: str, size: int, clusters: int) -> None:
    found, out = hazards(ROUNDS.replace("MEET", MEETINGS[meeting]), size, clusters)
    once = size * (63 - np.arange(64))
    assert found == []
    assert (out.reshape(-1, 64) == once + size * (once[::-1] + 63 - np.arange(64))).all()


@pytest.mark.parametrize("missing", ["written", "read"])
@pytest.mark.parametrize("meeting", MEETINGS)
def test_without_a_meeting_of_the_blocks_their_accesses_race(meeting: str, missing: str) -> None:
    wrong = ROUNDS.replace(f"MEET  // {missing}", "__syncthreads();").replace("MEET", MEETINGS[meeting])
    found, _ = hazards(wrong, 2, 2)
    assert {each.kind for each in found} == {"shared-race"}
    assert any("of block (1, 0)" in each.message and "with no order between them" in each.message for each in found)


@pytest.mark.parametrize("clusters", [1, 2])
def test_blocks_may_count_together(clusters: int) -> None:
    found, out = hazards(COUNTED, 2, clusters)
    assert (out == 128).all()
    assert found == []
    found, _ = hazards(COUNTED.replace("cluster_barrier();  // all", "__syncthreads();"), 2, clusters)
    assert {each.kind for each in found} >= {"shared-race"}


@pytest.mark.parametrize("missing", ["", "wait(&written);", "wait(&read);", "await(flags);", "await(flags + 1);"])
def test_what_flags_tell_is_handed_on_by_mbarriers_and_the_other_way(missing: str) -> None:
    source = HANDED_ON.replace(missing, "") if missing else HANDED_ON
    found, data = hazards(source, 1, 2, np.zeros(2, np.uint32), np.zeros(2, np.uint32))
    if missing:
        assert {each.kind for each in found} == {"global-race"}
    else:
        assert found == []
        assert data.tolist() == [2, 1]
