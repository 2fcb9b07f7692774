"""Threads that wait for each other on the emulator: barriers with numbers and counts, flags, locks, and deadlocks."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from mmcore_emulator.executor import kernel_launch
from mmcore_emulator.machine.violations import Violation
from tests.emulation import Emulated, emulate, function_of, ptx_kernel

HALVES = """
extern "C" __global__ void f(int* out) {
    __shared__ int s[128];
    const int t = threadIdx.x, half = t / 64;
    for (int i = 0; i < 1 + 2 * half; ++i) {
        s[t] = t + i;
        asm volatile("bar.sync %0, 64;" :: "r"(half + 1) : "memory");
        out[t] = s[t ^ 63];
        asm volatile("bar.sync %0, 64;" :: "r"(half + 1) : "memory");
    }
}"""
PRODUCER = """
extern "C" __global__ void f(int* out) {
    __shared__ int s[32];
    const int t = threadIdx.x % 32;
    for (int i = 0; i < 5; ++i)
        if (threadIdx.x < 32) {
            asm volatile("bar.sync 1, 64;" ::: "memory");
            s[t] = 10 * i + t;
            asm volatile("bar.arrive 2, 64;" ::: "memory");
        } else {
            asm volatile("bar.arrive 1, 64;" ::: "memory");
            asm volatile("bar.sync 2, 64;" ::: "memory");
            out[t] += s[31 - t];
        }
}"""
POLLING = """
__device__ volatile int flag[4];
extern "C" __global__ void f(int* out) {
    if (threadIdx.x == 0 && blockIdx.x > 0)
        while (flag[blockIdx.x - 1] == 0)
            ;
    __syncthreads();
    out[blockIdx.x * blockDim.x + threadIdx.x] = blockIdx.x ? out[(blockIdx.x - 1) * blockDim.x + threadIdx.x] + 1 : 7;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) flag[blockIdx.x] = 1;
}"""


def kinds(run: Emulated) -> set[str]:
    return {violation.kind for violation in run.violations}


def only(run: Emulated) -> Violation:
    (violation,) = run.violations
    return violation


def ints(count: int) -> NDArray[np.int32]:
    return np.zeros(count, np.int32)


def test_halves_of_a_block_have_barriers_of_their_own() -> None:
    run = emulate(HALVES, ints(128), block=(128,))
    assert run.violations == []
    assert run.arrays[0].tolist() == [(t ^ 63) + 2 * (t // 64) for t in range(128)]


def test_who_arrives_does_not_wait() -> None:
    run = emulate(PRODUCER, ints(32), block=(64,))
    assert run.violations == []
    assert run.arrays[0].tolist() == [5 * (31 - t) + 100 for t in range(32)]


def test_barriers_at_different_places_meet_as_one() -> None:
    source = """
    extern "C" __global__ void f(int* out) {
        __shared__ int s[64];
        if (threadIdx.x < 32) { s[threadIdx.x] = 1; __syncthreads(); out[threadIdx.x] = s[threadIdx.x + 32]; }
        else { s[threadIdx.x] = 2; __syncthreads(); out[threadIdx.x] = s[threadIdx.x - 32]; }
    }"""
    run = emulate(source, ints(64), block=(64,))
    assert run.violations == []
    assert run.arrays[0].tolist() == [2] * 32 + [1] * 32


def test_a_warp_that_is_torn_between_aligned_barriers_is_told() -> None:
    source = """
    extern "C" __global__ void f(int* out) {{
        if (threadIdx.x % 2) {{ asm volatile("{0}" ::: "memory"); out[threadIdx.x] = 1; }}
        else {{ asm volatile("{0}" ::: "memory"); out[threadIdx.x] = 2; }}
    }}"""
    assert kinds(emulate(source.format("bar.sync 0;"), ints(32))) == {"divergent-barrier"}
    assert kinds(emulate(source.format("barrier.sync 0;"), ints(32))) == set()


@pytest.mark.parametrize("guard", ["@%%p1", "@!%%p1"])
def test_a_guarded_barrier_is_only_for_those_whom_the_guard_lets(guard: str) -> None:
    source = f"""
    extern "C" __global__ void f(int* out) {{
        __shared__ int s[64];
        s[threadIdx.x] = threadIdx.x;
        asm volatile("{{{{ .reg .pred %%p1; setp.lt.u32 %%p1, %0, 32; {guard} bar.sync 3, 32; }}}}"
            :: "r"(threadIdx.x) : "memory");
        out[threadIdx.x] = s[threadIdx.x ^ 1];
    }}"""
    run = emulate(source, ints(64), block=(64,))
    assert run.violations == []
    assert run.arrays[0].tolist() == [t ^ 1 for t in range(64)]


def test_of_more_threads_than_a_barrier_counts_the_first_go_on() -> None:
    source = """
    extern "C" __global__ void f(int* out) {
        asm volatile("bar.sync 1, 64;" ::: "memory");
        out[threadIdx.x] = 1;
    }"""
    run = emulate(source, ints(96), block=(96,))
    assert run.arrays[0].tolist() == [1] * 64 + [0] * 32
    found = only(run)
    assert (found.kind, found.thread) == ("deadlock", (64, 0, 0))
    assert "waits at barrier 1 for 64 threads; 32 have come, and no others will" in found.message


def test_who_waits_for_more_threads_than_there_are_waits_for_ever() -> None:
    source = """
    extern "C" __global__ void f(int* out) {
        if (threadIdx.x < 40) asm volatile("bar.sync 2, 96;" ::: "memory");
        out[threadIdx.x] = 1;
    }"""
    found = only(emulate(source, ints(64), block=(64,)))
    assert (found.kind, found.line, found.thread) == ("deadlock", 3, (0, 0, 0))
    assert "40 have come" in found.message


def test_threads_that_only_arrive_may_end_a_barrier_without_those_who_wait() -> None:
    source = r"""
    extern "C" __global__ void f(int* out) {
        if (threadIdx.x >= 32) asm volatile("bar.arrive 1, 64;" ::: "memory");
        else asm volatile("bar.sync 1, 64;" ::: "memory");
        out[threadIdx.x] = 1;
    }"""
    found = only(emulate(source, ints(96), block=(96,)))
    assert found.kind == "deadlock"
    text = (
        "for 64 threads; 96 have come, more than that: the 64 that only arrive end the barrier without those who wait"
    )
    assert text in found.message


@pytest.mark.parametrize(
    ("registers", "least", "most", "found"), [(168, 88, 248, 0), (168, 96, 248, 1), (167, 88, 248, 0), (0, 96, 248, 0)]
)
def test_who_asks_for_more_registers_than_its_block_has_waits_for_ever(
    registers: int, least: int, most: int, found: int
) -> None:
    body = f"""
    setp.ge.u32 %p1, %r1, 128; @%p1 bra MORE;
    setmaxnreg.dec.sync.aligned.u32 {least}; bra.uni END;
    MORE: setmaxnreg.inc.sync.aligned.u32 {most};
    END:"""
    text, data = ptx_kernel(body), np.zeros(256, np.uint32)
    violations = emulate("", data, block=(256,), text=text, architecture="90a", registers=registers).violations
    assert [each.kind for each in violations] == ["deadlock"] * found
    said = "waits for 248 registers: its block has 43008, 168 a thread at the launch"
    assert all(said in each.message for each in violations)


@pytest.mark.parametrize("directives", ["", ".maxntid 384", ".maxntid 384 .minnctapersm 1", ".maxnreg 168"])
def test_the_registers_of_a_launch_are_known_where_the_source_bounds_them(directives: str) -> None:
    bounded = "minnctapersm" in directives or "maxnreg" in directives
    assert function_of(ptx_kernel("", directives=directives)).bounds_registers == bounded


def test_blocks_that_poll_let_the_others_run() -> None:
    run = emulate(POLLING, ints(64), grid=(4,), block=(16,))
    assert run.violations == []
    assert run.arrays[0].tolist() == [7 + block for block in range(4) for _ in range(16)]


def test_a_block_may_wait_for_a_later_one_as_long_as_both_are_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks wait for those of higher numbers, which begin when there is room for them."""
    monkeypatch.setattr(kernel_launch, "LANES_PER_BATCH", 512)
    source = POLLING.replace("blockIdx.x - 1", "blockIdx.x + 1").replace("blockIdx.x > 0", "blockIdx.x < 3")
    source = source.replace("blockIdx.x ? out", "blockIdx.x < 3 ? out")
    run = emulate(source, ints(2048), grid=(4,), block=(512,), resident_blocks=4)
    assert run.violations == []
    assert run.arrays[0].reshape(4, 512)[:, 0].tolist() == [10, 9, 8, 7]
    run = emulate(source, ints(2048), grid=(4,), block=(512,), resident_blocks=3)
    found = [violation for violation in run.violations if "nobody is left to write" in violation.message]
    assert {violation.kind for violation in run.violations} == {"deadlock"}
    assert [(violation.line, violation.thread) for violation in found] == [(5, (0, 0, 0))]


def test_warps_and_lanes_take_a_lock_one_after_the_other() -> None:
    source = """
    __device__ int lock;
    extern "C" __global__ void f(int* out) {
        bool done = false;
        while (!done)
            if (atomicCAS(&lock, 0, 1) == 0) {
                *(volatile int*)out += 1;
                __threadfence();
                atomicExch(&lock, 0);
                done = true;
            }
    }"""
    run = emulate(source, ints(1), grid=(3,), block=(40,))
    assert run.violations == []
    assert run.arrays[0].tolist() == [120]


def test_threads_that_wait_for_each_others_flags_are_told_with_their_lines() -> None:
    source = """
    __device__ volatile int flag[2];
    extern "C" __global__ void f(int* out) {
        const int warp = threadIdx.x / 32;
        if (warp == 0) {
            while (flag[1] == 0);
            flag[0] = 1;
        } else {
            while (flag[0] == 0);
            flag[1] = 1;
        }
        out[threadIdx.x] = 1;
    }"""
    run = emulate(source, ints(64), block=(64,))
    assert {(found.kind, found.line) for found in run.violations} == {("deadlock", 6), ("deadlock", 9)}
    assert run.arrays[0].tolist() == [0] * 64


def test_who_counts_its_tries_does_not_wait_for_ever() -> None:
    source = """
    __device__ volatile int flag;
    extern "C" __global__ void f(int* out) {
        int tries = 0;
        while (flag == 0 && ++tries < 100) __nanosleep(10);
        out[threadIdx.x] = tries;
    }"""
    run = emulate(source, ints(32))
    assert run.violations == []
    assert run.arrays[0].tolist() == [100] * 32


@pytest.mark.parametrize(
    ("call", "start", "found", "left"),
    [
        ("atomicAdd(p, 3)", 5, {5 + 3 * t for t in range(32)}, 101),
        ("atomicSub(p, 1)", 5, {5 - t for t in range(32)}, -27),
        ("atomicExch(p, t)", 99, None, None),
        ("atomicMin(p, t - 3)", 7, None, -3),
        ("atomicMax(p, t - 3)", 7, None, 28),
        ("(int)atomicMax((unsigned*)p, t - 3)", 7, None, -1),
        ("(int)atomicInc((unsigned*)p, 20)", 18, {18, 19, 20, *range(21)}, 8),
        ("(int)atomicDec((unsigned*)p, 20)", 2, {2, 1, 0, *range(21)}, 12),
        ("atomicAnd(p, ~(1 << t % 4))", 31, None, 16),
        ("atomicOr(p, 1 << t % 4)", 16, None, 31),
        ("atomicXor(p, 1)", 4, {4, 5}, 4),
        ("atomicCAS(p, t, t + 1)", 0, set(range(32)), 32),
    ],
)
def test_atomics_are_made_one_after_the_other(call: str, start: int, found: set[int] | None, left: int | None) -> None:
    source = f"""
    extern "C" __global__ void f(int* out, int* p) {{
        const int t = threadIdx.x;
        out[t] = {call};
    }}"""
    run = emulate(source, ints(32), np.array([start], np.int32))
    old, (after,) = run.arrays[0].tolist(), run.arrays[1].tolist()
    assert run.violations == []
    if found is not None:
        assert set(old) == found
    if left is not None:
        assert after == left
    else:  # each finds what another left, or what was there at first
        assert sorted([*old, after]) == sorted([*range(32), start])


def test_an_atomic_addition_of_floats_tells_what_was_there() -> None:
    source = """
    extern "C" __global__ void f(float* out, float* p, double* q) {
        out[threadIdx.x] = atomicAdd(p, 0.5f) + (float)atomicAdd(q, 2.0);
    }"""
    run = emulate(source, np.zeros(32, np.float32), np.zeros(1, np.float32), np.zeros(1))
    assert sorted(run.arrays[0].tolist()) == [2.5 * t for t in range(32)]
    assert (run.arrays[1].item(), run.arrays[2].item()) == (16.0, 64.0)
