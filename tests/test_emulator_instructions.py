"""Instructions in their PTX, as inline assembly may have them: guards, widths, vectors, barriers, atomics."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mmcore.verify.elements import is_poison
from mmcore_emulator.errors import UnsupportedInstruction
from mmcore_emulator.executor.translate import translate
from tests.emulation import emulate, function_of, ptx_kernel, words

THREADS = range(32)


# Guards.


def test_a_guarded_instruction_leaves_the_other_threads_registers_alone() -> None:
    body = """
    mov.u32 %r2, 5;
    setp.lt.u32 %p1, %r1, 10;
    @%p1 add.u32 %r2, %r1, 100;
    @!%p1 mul.lo.u32 %r2, %r2, 3;
    st.global.u32 [%d2], %r2;"""
    assert words(body).arrays[0].tolist() == [t + 100 if t < 10 else 15 for t in THREADS]


def test_a_guard_may_be_what_its_instruction_writes() -> None:
    body = """
    setp.lt.u32 %p1, %r1, 10;
    @%p1 setp.lt.u32 %p1, %r1, 5;
    selp.u32 %r2, 1, 0, %p1;
    st.global.u32 [%d2], %r2;"""
    assert words(body).arrays[0].tolist() == [int(t < 5) for t in THREADS]


def test_a_guarded_load_and_store_touch_only_what_their_threads_do() -> None:
    body = """
    setp.eq.u32 %p1, %r1, 4;
    mul.wide.u32 %d3, %r1, 1048576;
    add.s64 %d3, %d3, %d2;
    @!%p1 mov.u64 %d3, 0;
    @%p1 sub.s64 %d3, %d3, 4194304;
    mov.u32 %r2, 77;
    @%p1 ld.global.u32 %r2, [%d3];
    @%p1 st.global.v2.u32 [%d3], {%r2, %r1};
    @!%p1 st.global.u32 [%d2], %r2;"""
    run = words(body, range(100, 132))
    assert run.violations == []
    assert run.arrays[0].tolist() == [77] * 4 + [104, 77] + [77] * 26


def test_a_guarded_return_ends_its_threads_only() -> None:
    body = "setp.gt.u32 %p1, %r1, 20; @%p1 ret; st.global.u32 [%d2], 1;"
    assert words(body).arrays[0].tolist() == [int(t <= 20) for t in THREADS]


# Registers that nothing was written to.


@pytest.mark.parametrize(
    ("instruction", "dtype"),
    [
        ("st.global.f32 [%d1], %f9;", np.float32),
        ("fma.rn.f32 %f1, %f9, %f9, %f9; st.global.f32 [%d1], %f1;", np.float32),
        ("st.global.f64 [%d1], %g9;", np.float64),
        ("st.global.b16 [%d1], %h9;", np.float16),
        ("mov.b32 %f1, %r9; st.global.f32 [%d1], %f1;", np.float32),
        ("mov.b64 %g1, %d9; st.global.f64 [%d1], %g1;", np.float64),
        ("mov.b32 {%h1, %h2}, %r9; st.global.b16 [%d1], %h2;", np.float16),
    ],
)
def test_a_register_that_was_never_set_is_nan_and_not_what_nobody_wrote(instruction: str, dtype: Any) -> None:
    stored = words(instruction, block=(1,)).arrays[0].view(dtype)[:1]
    assert np.isnan(stored).all()
    assert not is_poison(stored).any()


@pytest.mark.parametrize(
    "address",
    [
        "shl.b32 %r9, %r9, 2; cvt.u64.u32 %d3, %r9; add.s64 %d3, %d3, %d1; st.global.u32 [%d3], %r1;",
        "mul.wide.s32 %d3, %r9, 4; add.s64 %d3, %d3, %d1; ld.global.u32 %r2, [%d3];",
        "mad.lo.s64 %d3, %d9, 4, %d1; ld.global.u32 %r2, [%d3];",
        "ld.global.u32 %r2, [%d9];",
        "ld.shared.u32 %r2, [%r9];",
    ],
)
def test_a_register_that_was_never_set_is_an_index_into_nothing(address: str) -> None:
    (violation,) = words(address).violations
    assert violation.kind in ("out-of-bounds-read", "out-of-bounds-write")


def test_a_register_of_8_bits_that_was_never_set_is_no_zero() -> None:
    run = words(".reg .b8 q; cvt.u32.u8 %r2, q; st.global.u32 [%d1], %r2;", block=(1,))
    assert run.arrays[0][0] != 0


def test_a_predicate_that_was_never_set_is_true() -> None:
    assert words("@!%p9 ret; st.global.u32 [%d2], 1;").arrays[0].tolist() == [1] * 32


def test_what_is_set_under_a_guard_or_in_a_branch_stays_unset_in_the_other_threads() -> None:
    guarded = "setp.lt.u32 %p1, %r1, 10; @%p1 mov.f32 %f1, 0f00000000; st.global.f32 [%d2], %f1;"
    branch = "setp.ge.u32 %p1, %r1, 10; @%p1 bra L; mov.f32 %f1, 0f00000000; L: st.global.f32 [%d2], %f1;"
    for body in (guarded, branch):
        stored = words(body).arrays[0].view(np.float32)
        assert np.isnan(stored).tolist() == [t >= 10 for t in THREADS]


# Registers wider than the instruction.


@pytest.mark.parametrize(
    ("load", "expected"),
    [
        ("ld.global.s8 %r2", 0xFFFFFF80),
        ("ld.global.u8 %r2", 0x80),
        ("ld.global.b8 %r2", 0x80),
        ("ld.global.s16 %r2", 0xFFFF9080),
        ("ld.global.u16 %r2", 0x9080),
        ("ld.global.s8 %d3", 0xFFFFFFFFFFFFFF80),
        ("ld.global.s32 %d3", 0xFFFFFFFFA1B29080),
        ("ld.global.u32 %d3", 0xA1B29080),
        ("ld.global.s8 %h1", 0xFF80),
        ("ld.global.u8 %h1", 0x80),
    ],
)
def test_a_narrow_load_extends_by_its_type(load: str, expected: int) -> None:
    register = load.split()[1]
    store = f"st.global.u{ {'h': 16, 'r': 32, 'd': 64}[register[1]] } [%d1+8], {register};"
    out = words(f"{load}, [%d1]; {store}", [0xA1B29080, 0, 0, 0], block=(1,)).arrays[0]
    assert int(out[2]) | int(out[3]) << 32 == expected


@pytest.mark.parametrize(
    ("conversion", "source", "expected"),
    [
        ("cvt.s8.s32 %r2, %r3", 0x1234_5680, 0xFFFFFF80),
        ("cvt.u8.u32 %r2, %r3", 0x1234_5680, 0x80),
        ("cvt.s32.s8 %r2, %r3", 0x1234_5680, 0xFFFFFF80),
        ("cvt.s32.s16 %r2, %r3", 0x1234_8000, 0xFFFF8000),
        ("cvt.u32.u16 %r2, %r3", 0x1234_8000, 0x8000),
        ("cvt.u16.u32 %r2, %r3", 0x1234_8000, 0x8000),
        ("cvt.s16.s32 %r2, %r3", 0x1234_8000, 0xFFFF8000),
    ],
)
def test_a_narrow_conversion_extends_by_its_type(conversion: str, source: int, expected: int) -> None:
    out = words(f"ld.global.u32 %r3, [%d1]; {conversion}; st.global.u32 [%d1], %r2;", [source], block=(1,)).arrays[0]
    assert out[0] == expected


# Memory.


def test_a_vector_load_may_overwrite_its_own_address() -> None:
    body = """
    mov.u64 %d3, %d1;
    ld.global.v2.u64 {%d3, %d4}, [%d3];
    st.global.u64 [%d1], %d4;"""
    assert words(body, [1, 0, 2, 0], block=(1,)).arrays[0].tolist() == [2, 0, 2, 0]


def test_a_vector_load_may_drop_elements() -> None:
    made = words("ld.global.v2.u32 {_, %r2}, [%d1]; st.global.u32 [%d1], %r2;", [1, 2], block=(1,))
    assert made.arrays[0].tolist() == [2, 2]


def test_addresses_of_32_bits_wrap_at_32_bits() -> None:
    body = """
    mov.u32 %r2, s;
    shl.b32 %r3, %r1, 2;
    sub.u32 %r3, %r3, 1024;
    add.u32 %r2, %r2, %r3;
    st.shared.u32 [%r2+1024], %r1;
    ld.shared.u32 %r4, [%r2+1024];
    st.global.u32 [%d2], %r4;"""
    run = words(body, module=".shared .align 4 .b8 s[128];")
    assert run.violations == []
    assert run.arrays[0].tolist() == list(THREADS)


def test_what_several_threads_store_in_one_place_is_what_one_of_them_stored() -> None:
    run = words("st.global.u32 [%d1], %r1; and.b32 %r2, %r1, 1; add.u32 %r2, %r2, 50; st.global.u32 [%d1+4], %r2;")
    assert run.arrays[0][0] in THREADS
    assert run.arrays[0][1] in (50, 51)


def test_fences_change_nothing() -> None:
    body = "membar.cta; membar.gl; membar.sys; fence.acq_rel.gpu; fence.sc.sys; st.volatile.global.u32 [%d2], %r1;"
    assert words(body).arrays[0].tolist() == list(THREADS)


# Barriers.


def test_a_warps_barrier_lets_diverged_threads_exchange() -> None:
    """Both halves store, then wait for each other at barriers of their own, then read what the other stored."""
    source = """
    extern "C" __global__ void f(int* out) {
        __shared__ volatile int s[64];
        const int t = threadIdx.x, lane = t % 32;
        int x;
        if (lane < 16) { s[t] = 100 + t; __syncwarp(); x = s[t + 16]; }
        else { s[t] = 200 + t; __syncwarp(); x = s[t - 16]; }
        out[t] = x;
    }"""
    out = emulate(source, np.zeros(64, np.int32), block=(64,)).arrays[0]
    assert out.tolist() == [216 + t if t % 32 < 16 else 84 + t for t in range(64)]


def test_a_part_of_a_warp_meets_while_the_rest_waits_for_it_further_on() -> None:
    """The first half hands on a value three times, and only then do the others, who wait for all, see it."""
    source = """
    extern "C" __global__ void f(int* out) {
        __shared__ volatile int s[64];
        const int t = threadIdx.x, lane = t % 32;
        s[t] = t;
        if (lane < 16)
            for (int i = 0; i < 3; ++i) {
                const int next = s[t - lane + (lane + 1) % 16];
                __syncwarp(0xffff);
                s[t] = next;
                __syncwarp(0xffff);
            }
        __syncwarp();
        out[t] = s[t ^ 16];
    }"""
    run = emulate(source, np.zeros(64, np.int32), block=(64,))
    assert run.violations == []
    expected = [t // 32 * 32 + ((t + 3) % 16 if t % 32 >= 16 else t % 32 + 16) for t in range(64)]
    assert run.arrays[0].tolist() == expected


def test_the_mask_of_a_warps_barrier_may_be_in_a_register_and_differ() -> None:
    body = """
    setp.lt.u32 %p1, %r1, 16; selp.b32 %r2, 65535, -65536, %p1;
    bar.warp.sync %r2;
    st.global.u32 [%d2], %r1;"""
    run = words(body)
    assert run.violations == []
    assert run.arrays[0].tolist() == list(THREADS)


def test_a_warps_barrier_that_is_never_complete_is_a_fault_and_no_end() -> None:
    body = """
    setp.lt.u32 %p1, %r1, 4;
    @%p1 bra L;
    bra M;
    L: bar.warp.sync 31;
    M: bar.sync 0;
    st.global.u32 [%d2], 1;"""
    run = words(body)
    assert run.arrays[0].tolist() == [0] * 32
    (violation,) = run.violations  # the block's barrier is on the same line: none
    assert (violation.kind, violation.thread) == ("deadlock", (0, 0, 0))
    assert "waits for its warp with the mask 0x0000001f, and not all whom that names come" in violation.message


def test_who_has_left_the_kernel_is_not_waited_for() -> None:
    run = words("setp.gt.u32 %p1, %r1, 20; @%p1 ret; bar.warp.sync -1; st.global.u32 [%d2], 1;")
    assert run.violations == []
    assert run.arrays[0].tolist() == [int(t <= 20) for t in THREADS]


@pytest.mark.parametrize("barrier", ["@%p1 bar.warp.sync -1;", "bar.warp.sync;", "bar.warp.sync -1, 32;"])
def test_a_warps_barrier_that_is_not_understood_is_refused(barrier: str) -> None:
    with pytest.raises(UnsupportedInstruction, match=r"the instruction bar\.warp\.sync"):
        translate(function_of(ptx_kernel(barrier)))


def test_warps_meet_at_their_own_barriers_while_others_wait_for_the_block() -> None:
    source = """
    extern "C" __global__ void f(int* out) {
        __shared__ int s[64];
        const int t = threadIdx.x;
        s[t] = t;
        if (t >= 32)
            for (int i = 0; i < 3; ++i) {
                const int next = s[32 + (t + 1) % 32];
                __syncwarp();
                s[t] = next;
                __syncwarp();
            }
        __syncthreads();
        out[t] = s[63 - t];
    }"""
    run = emulate(source, np.zeros(64, np.int32), block=(64,))
    assert run.violations == []
    final = [*range(32), *(32 + (t + 3) % 32 for t in range(32))]
    assert run.arrays[0].tolist() == final[::-1]


@pytest.mark.parametrize(
    "statement",
    [
        "bar.arrive 0;",
        "bar.sync 0, 64, 64;",
        "bar.sync;",
        "bar.red.popc.u32 %d2, 0, %p1;",
        "bar.red.or.pred %r2, 0, %p1;",
        "bar.red.xor.pred %p2, 0, %p1;",
        "@%p1 barrier.cluster.wait.aligned;",
    ],
)
def test_barriers_that_are_not_for_a_block_or_not_complete_are_refused(statement: str) -> None:
    with pytest.raises(UnsupportedInstruction, match=r"the instruction bar"):
        translate(function_of(ptx_kernel(statement)))


@pytest.mark.parametrize(
    "barrier", ["bar.sync 0;", "bar.cta.sync 0;", "barrier.sync 0;", "barrier.cta.sync.aligned 0;"]
)
def test_a_blocks_barrier_has_several_names(barrier: str) -> None:
    body = f"""
    mov.u32 %r2, s; shl.b32 %r3, %r1, 2; add.u32 %r2, %r2, %r3;
    st.shared.u32 [%r2], %r1;
    {barrier}
    xor.b32 %r3, %r3, 124; mov.u32 %r2, s; add.u32 %r2, %r2, %r3; ld.shared.u32 %r4, [%r2];
    st.global.u32 [%d2], %r4;"""
    assert words(body, module=".shared .align 4 .b8 s[128];").arrays[0].tolist() == list(THREADS)[::-1]


def test_the_threads_of_a_block_count_and_ask_at_a_barrier() -> None:
    source = """
    extern "C" __global__ void f(int* out, const int* limits, int exited) {
        const int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
        if (t >= blockDim.x - exited) return;
        __shared__ int last;
        if (t == 0) last = blockIdx.x;
        const bool above = t > limits[blockIdx.x];
        const int count = __syncthreads_count(above);
        out[i] = count + 100 * (__syncthreads_or(above) != 0) + 1000 * (__syncthreads_and(above) != 0) + 10000 * last;
    }"""
    limits = [4, 63, -1, 61]
    for exited in (0, 2):
        out = emulate(
            source, np.zeros(256, np.int32), np.array(limits, np.int32), np.int32(exited), grid=(4,), block=(64,)
        )
        assert {violation.kind for violation in out.violations} == set()
        threads = 64 - exited
        for block, limit in enumerate(limits):
            count = sum(t > limit for t in range(threads))
            told = count + 100 * (count > 0) + 1000 * (count == threads) + 10000 * block
            assert out.arrays[0][64 * block :][:64].tolist() == [told] * threads + [0] * exited


def test_what_is_counted_at_a_barrier_goes_only_to_who_was_there() -> None:
    """The second warp leaves the kernel without having been there, with what it had."""
    source = """
    extern "C" __global__ void f(int* out) {
        int told = -1;
        if (threadIdx.x < 32) told = __syncthreads_count(threadIdx.x < 3);
        out[threadIdx.x] = told;
    }"""
    run = emulate(source, np.zeros(64, np.int32), block=(64,))
    assert run.arrays[0].tolist() == [3] * 32 + [-1] * 32


@pytest.mark.parametrize(
    "barrier",
    [
        "bar.red.popc.u32 %r2, 0, %p1;",
        "bar.cta.red.popc.u32 %r2, 0, %p1;",
        "barrier.cta.red.popc.aligned.u32 %r2, 0, %p1;",
        "barrier.red.and.pred %p2, 0, %p1; selp.u32 %r2, 50, 10, %p2;",
        "barrier.red.or.pred %p1, 0, %p1; selp.u32 %r2, 10, 50, %p1;",
    ],
)
def test_a_barrier_that_counts_has_several_names(barrier: str) -> None:
    body = f"setp.lt.u32 %p1, %r1, 10; {barrier} st.global.u32 [%d2], %r2;"
    assert words(body).arrays[0].tolist() == [10] * 32


# Atomic additions.


def float32(bits: int) -> np.float32:
    return np.uint32(bits).view(np.float32)


@pytest.mark.parametrize(
    ("stored", "added", "global_sum", "shared_sum"),
    [
        (0x00000003, 0x00000001, 0x00000000, 0x00000004),  # subnormal numbers are zero in global memory
        (0x80000003, 0x80000001, 0x80000000, 0x80000004),
        (0x00800001, 0x80800000, 0x00000000, 0x00000001),  # and no sum is one
        (0x00800000, 0x00000001, 0x00800000, 0x00800001),
        (0x3F800000, 0x00000001, 0x3F800000, 0x3F800000),
        (0x3F800000, 0x3F800000, 0x40000000, 0x40000000),
    ],
)
def test_atomic_additions_flush_subnormals_in_global_memory_only(
    stored: int, added: int, global_sum: int, shared_sum: int
) -> None:
    body = f"""
    mov.b32 %f1, {added:#x}; mov.u32 %r2, s;
    ld.global.u32 %r3, [%d1]; st.shared.u32 [%r2], %r3;
    red.shared.add.f32 [%r2], %f1;
    red.global.add.f32 [%d1], %f1;
    ld.shared.u32 %r3, [%r2]; st.global.u32 [%d1+4], %r3;"""
    out = words(body, [stored, 0], block=(1,), module=".shared .align 4 .b8 s[4];").arrays[0]
    assert [hex(bits) for bits in out.tolist()] == [hex(global_sum), hex(shared_sum)]


def test_small_additions_are_made_one_after_the_other() -> None:
    """Three times the least normal number less a fourth of it, down to where a subnormal sum is flushed."""
    least = 2.0**-126
    body = f"mov.b32 %f1, {int(np.float32(-0.25 * least).view(np.uint32)):#x}; red.global.add.f32 [%d1], %f1;"
    assert words(body, [0x01400000], block=(1,)).arrays[0].view(np.float32)[0] == 3 * least
    body = f"mov.b32 %f1, {int(np.float32(-least).view(np.uint32)):#x}; red.global.add.f32 [%d1], %f1;"
    assert words(body, [0x01400000], block=(5,)).arrays[0].view(np.float32)[0] == -2 * least


def test_atomic_additions_of_each_type() -> None:
    body = """
    cvt.rn.f64.u32 %g1, %r1; cvt.u64.u32 %d3, %r1; neg.s32 %r2, %r1;
    red.global.add.f64 [%d1], %g1;
    red.relaxed.gpu.global.add.u64 [%d1+8], %d3;
    red.add.s32 [%d1+16], %r2;
    atom.global.add.u32 %r5, [%d1+20], %r1;"""
    out = words(body, [0] * 8).arrays[0]
    assert out[:2].view(np.float64)[0] == out[2:4].view(np.uint64)[0] == -out[4:5].view(np.int32)[0] == out[5] == 496


# Everything at once.


def bits_of(register: str) -> int:
    return {"h": 16, "r": 32, "d": 64}[register[1]]


def signed(value: int, bits: int) -> int:
    value &= 2**bits - 1
    return value - 2**bits if value >> (bits - 1) else value


def wide(value: int, kind: str) -> int:
    bits = int(kind[1:])
    return signed(value, bits) if kind[0] == "s" else value & (2**bits - 1)


ARITHMETIC: dict[str, Callable[[int, int], int]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul.lo": lambda a, b: a * b,
    "min": min,
    "max": max,
}
LOGIC: dict[str, Callable[[int, int], int]] = {
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
}
COMPARISONS: dict[str, Callable[[int, int], bool]] = {
    "lt": lambda a, b: a < b,
    "ge": lambda a, b: a >= b,
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
}


class Straight:
    """A random program without branches over registers of 16, 32 and 64 bits, run by Python as it is written."""

    def __init__(self, seed: int, threads: int) -> None:
        self.random = random.Random(seed)
        self.registers = [f"%{letter}{number}" for letter in "hrd" for number in range(10, 14)]
        self.values = {register: [0] * threads for register in self.registers}
        self.lines: list[str] = []
        for number, register in enumerate(self.registers):
            kind = f"u{bits_of(register)}"
            begin = "mov.u32 %r3, %r1;" if kind == "u32" else f"cvt.{kind}.u32 %{register[1]}3, %r1;"
            factor = self.random.getrandbits(bits_of(register))
            self.lines += [begin, f"mad.lo.{kind} {register}, %{register[1]}3, {factor}, {number};"]
            self.values[register] = [wide(thread * factor + number, kind) for thread in range(threads)]
        for _ in range(30):
            self.step()

    def step(self) -> None:
        target = self.random.choice(self.registers)
        bits = bits_of(target)
        kind = f"{self.random.choice('us')}{bits}"
        alike = [register for register in self.registers if bits_of(register) == bits]
        a, b = self.random.choices(alike, k=2)
        choice = self.random.choice(["arithmetic", "logic", "shift", "convert", "select"])
        if choice == "arithmetic":
            name = self.random.choice(list(ARITHMETIC))
            self.compute(f"{name}.{kind} {target}, {a}, {b};", target, kind, (a, b), ARITHMETIC[name])
        elif choice == "logic":
            name = self.random.choice(list(LOGIC))
            self.compute(f"{name}.b{bits} {target}, {a}, {b};", target, f"u{bits}", (a, b), LOGIC[name])
        elif choice == "shift":
            amount = self.random.choice([0, 1, bits - 1, bits, bits + 1, 200, self.random.randrange(bits)])
            self.compute(f"shr.{kind} {target}, {a}, {amount};", target, kind, (a,), lambda x: x >> amount)
        elif choice == "convert":
            origin = self.random.choice(self.registers)
            narrow = [size for size in (8, 16, 32, 64) if size <= bits_of(origin)]
            source_kind = f"{self.random.choice('us')}{self.random.choice(narrow)}"
            if source_kind[1:] == kind[1:]:
                return
            self.compute(f"cvt.{kind}.{source_kind} {target}, {origin};", target, source_kind, (origin,), lambda x: x)
        else:
            name, guard = self.random.choice(list(COMPARISONS)), self.random.choice(["@%p1", "@!%p1"])
            self.lines.append(f"setp.{name}.{kind} %p1, {a}, {b};")
            wanted = [
                COMPARISONS[name](wide(x, kind), wide(y, kind)) == (guard == "@%p1")
                for x, y in zip(self.values[a], self.values[b], strict=True)
            ]
            before = self.values[target]
            self.compute(f"{guard} sub.{kind} {target}, {b}, {a};", target, kind, (b, a), lambda x, y: x - y)
            after = self.values[target]
            self.values[target] = [new if do else old for do, new, old in zip(wanted, after, before, strict=True)]

    def compute(
        self, text: str, target: str, kind: str, sources: tuple[str, ...], function: Callable[..., int]
    ) -> None:
        self.lines.append(text)
        columns = [[wide(value, kind) for value in self.values[source]] for source in sources]
        self.values[target] = [function(*row) & (2 ** bits_of(target) - 1) for row in zip(*columns, strict=True)]


@settings(max_examples=150, deadline=None, derandomize=True, database=None)
@given(seed=st.integers(0, 2**32))
def test_random_programs_without_branches_do_what_python_does(seed: int) -> None:
    threads = 5
    program = Straight(seed, threads)
    place = f"mul.wide.u32 %d3, %r1, {8 * len(program.registers)}; add.s64 %d3, %d3, %d1;"
    stores = [
        f"st.global.u{bits_of(register)} [%d3+{8 * number}], {register};"
        for number, register in enumerate(program.registers)
    ]
    out = np.zeros((threads, len(program.registers)), np.uint64)
    text = ptx_kernel("\n".join([*program.lines, place, *stores]))
    result = emulate("", out, block=(threads,), text=text).arrays[0]
    expected = [[program.values[register][thread] for register in program.registers] for thread in range(threads)]
    assert result.tolist() == expected
