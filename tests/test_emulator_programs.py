"""CUDA C on the emulator: control flow, geometry, memories, and what is refused."""

from __future__ import annotations

import contextlib
import random
import re
import struct
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mmcore
from mmcore.cell import Cell
from mmcore.measure import measure
from mmcore_emulator.adapter.device import Emulator
from mmcore_emulator.errors import EmulatorError, UnsupportedInstruction
from mmcore_emulator.executor.translate import translate
from mmcore_emulator.machine import lanes
from mmcore_emulator.machine.dim3 import Dim3
from mmcore_emulator.ptx.reader import parse
from mmcore_nvrtc.cuda_headers import cuda_headers
from tests.emulation import emulate, function_of, ptx_of
from tests.lectures import lecture_kernels

INDEX = "(blockIdx.x * blockDim.x + threadIdx.x)"


def ints(*shape: int) -> Any:
    return np.zeros(shape, np.int32)


# Control flow.


def test_threads_that_leave_a_loop_at_different_times_keep_their_values() -> None:
    """Collatz: the number of steps differs from thread to thread, and each uses what it counted afterwards."""
    source = f"""
    extern "C" __global__ void f(int* steps, int* sums) {{
        const int i = {INDEX};
        unsigned x = i + 1;
        int count = 0, sum = 0;
        while (x != 1) {{
            sum += x;
            x = x % 2 ? 3 * x + 1 : x / 2;
            ++count;
        }}
        steps[i] = count;
        sums[i] = sum;
    }}"""
    steps, sums = emulate(source, ints(96), ints(96), grid=(3,)).arrays
    for i in range(96):
        x, count, total = i + 1, 0, 0
        while x != 1:
            total += x
            x = 3 * x + 1 if x % 2 else x // 2
            count += 1
        assert (steps[i], sums[i]) == (count, total)


def test_nested_divergence_with_break_continue_and_early_return() -> None:
    source = f"""
    extern "C" __global__ void f(int* out, const int* in) {{
        const int i = {INDEX};
        if (in[i] < 0) return;
        int total = 0;
        for (int a = 0; a < in[i] % 7; ++a) {{
            if (a == 3) continue;
            for (int b = 0;; ++b) {{
                if (b > a + in[i] % 3) break;
                if ((a + b) % 2) total += a * b; else total -= b;
                if (total > 40) {{ out[i] = -total; return; }}
            }}
        }}
        out[i] = total;
    }}"""
    values = np.arange(-20, 108, dtype=np.int32)
    out = emulate(source, ints(128), values, grid=(2,), block=(64,)).arrays[0]

    def scalar(x: int) -> int:
        if x < 0:
            return 0
        total = 0
        for a in range(x % 7):
            if a == 3:
                continue
            for b in range(a + x % 3 + 1):
                total = total + a * b if (a + b) % 2 else total - b
                if total > 40:
                    return -total
        return total

    assert out.tolist() == [scalar(int(x)) for x in values]


def test_a_switch_with_fall_through() -> None:
    source = f"""
    extern "C" __global__ void f(int* out) {{
        const int i = {INDEX};
        int x = 1;
        switch (i % 6) {{
            case 0: x += 10;
            case 1: x *= 3; break;
            case 4: x = -x;
            case 5: x -= 7; break;
            default: x = 99;
        }}
        out[i] = x;
    }}"""
    expected = [33, 3, 99, 99, -8, -6]
    assert emulate(source, ints(32)).arrays[0].tolist() == [expected[i % 6] for i in range(32)]


class LoadedModule:
    """A random program of bounded loops and branches over a few ints, as CUDA C and as Python."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._loops = 0
        self.c, self.python = self._block(3)

    def _expression(self) -> str:
        names = ["a", "b", "c", "i"]
        left, right = self._random.choice(names), self._random.choice([*names, str(self._random.randint(-9, 9))])
        return f"({left} {self._random.choice('+-*&|^')} {right})"

    def _block(self, depth: int) -> tuple[list[str], list[str]]:
        c: list[str] = []
        python: list[str] = []
        for _ in range(self._random.randint(1, 3)):
            kind = self._random.choice(["assign", "assign", "if", "loop"]) if depth else "assign"
            if kind == "assign":
                target, value = self._random.choice("abc"), self._expression()
                c.append(f"{target} = (int)((unsigned){value} & 0xffff);")
                python.append(f"{target} = {value} & 0xffff")
                continue
            inner_c, inner_python = self._block(depth - 1)
            condition = f"({self._expression()} & {self._random.choice([1, 2, 3, 7])})"
            if kind == "if":
                other_c, other_python = self._block(depth - 1)
                c += [f"if ({condition}) {{", *inner_c, "} else {", *other_c, "}"]
                python += [f"if {condition}:", *indented(inner_python), "else:", *indented(other_python)]
            else:
                self._loops += 1
                counter = f"n{self._loops}"
                c += [f"for (int {counter} = 0; {counter} < {condition}; ++{counter}) {{", *inner_c, "}"]
                python += [f"{counter} = 0", f"while {counter} < {condition}:", *indented(inner_python)]
                python += [f"    {counter} += 1"]
                if self._random.random() < 0.5:
                    # Loops whose condition moves with the body are bounded here.
                    c[-1] = f"if ({counter} > 20) break; }}"
                    python[-1:] = [f"    if {counter} > 20: break", python[-1]]
                else:
                    c[-1] = f"if ({counter} > 5) return; }}"
                    python[-1:] = [f"    if {counter} > 5: return a, b, c", python[-1]]
        return c, python


def indented(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines]


@settings(max_examples=30, deadline=None, derandomize=True)
@given(seed=st.integers(0, 2**32))
def test_random_programs_do_what_python_does(seed: int) -> None:
    program = LoadedModule(seed)
    store = "out[3 * t] = a; out[3 * t + 1] = b; out[3 * t + 2] = c;"
    statements = "\n".join(program.c).replace("return;", f"{{ {store} return; }}")
    source = f"""
    extern "C" __global__ void f(int* out) {{
        const int t = {INDEX};
        int a = t & 15, b = t >> 3, c = 5, i = t;
        {statements}
        {store}
    }}"""
    namespace: dict[str, Any] = {}
    body = ["a, b, c = i & 15, i >> 3, 5", *program.python, "return a, b, c"]
    exec("\n".join(["def scalar(i):", *indented(body)]), namespace)
    run = emulate(source, ints(3 * 80), grid=(2,), block=(40,))
    assert run.violations == []
    assert [tuple(each) for each in run.arrays[0].reshape(80, 3).tolist()] == [
        namespace["scalar"](i) for i in range(80)
    ]


# Geometry.


@pytest.mark.parametrize(
    ("grid", "block"),
    [
        ((1,), (1,)),
        ((3, 2, 4), (5, 3, 2)),
        ((70,), (1024,)),
        ((1, 50), (32, 31)),
        ((41, 3), (16, 16)),
        ((2, 2, 30), (33,)),
    ],
    ids=str,
)
def test_every_thread_runs_once_and_knows_where_it_is(grid: tuple[int, ...], block: tuple[int, ...]) -> None:
    """Also where the grid is cut into several batches, the last of them ragged."""
    source = """
    extern "C" __global__ void f(int* count, int* where) {
        const int block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
        const int thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
        const int i = block * blockDim.x * blockDim.y * blockDim.z + thread;
        count[i] += 1;
        where[i] = i * 8 + threadIdx.x % 8;
    }"""
    threads = int(np.prod(grid) * np.prod(block))
    run = emulate(source, ints(threads), ints(threads), grid=grid, block=block)
    count, where = run.arrays
    assert run.violations == []
    assert (count == 1).all()
    index = np.arange(threads)
    np.testing.assert_array_equal(where, index * 8 + index % np.prod(block) % block[0] % 8)


def test_batches_cover_the_grid_once() -> None:
    for grid, block in (((3, 2, 4), (5, 3, 2)), ((200, 7), (32, 32)), ((1, 100), (1024,))):
        boxes = list(lanes.batches(Dim3(*grid), Dim3(*block)))
        covered = [
            (box.first.x + x, box.first.y + y, box.first.z + z)
            for box in boxes
            for z in range(box.extent.z)
            for y in range(box.extent.y)
            for x in range(box.extent.x)
        ]
        assert len(covered) == len(set(covered)) == int(np.prod(grid))


# Memories.


def test_shared_memory_is_a_blocks_own_and_barriers_order_it() -> None:
    source = f"""
    extern __shared__ int dynamic[];
    extern "C" __global__ void f(int* out) {{
        __shared__ int fixed[64];
        __shared__ double other[3];
        const int t = threadIdx.x, i = {INDEX};
        fixed[t] = i;
        dynamic[blockDim.x - 1 - t] = 10 * i;
        if (t < 3) other[t] = t + 0.5;
        for (int round = 0; round < 3; ++round) {{
            __syncthreads();
            const int x = fixed[(t + 1) % blockDim.x] + dynamic[t];
            __syncthreads();
            fixed[t] = x + (int)(2 * other[round]);
        }}
        out[i] = fixed[t];
    }}"""
    out = emulate(source, ints(5 * 64), grid=(5,), block=(64,), shared_bytes=256).arrays[0].reshape(5, 64)
    for number, block in enumerate(out):
        fixed = np.arange(64) + 64 * number
        dynamic = 10 * fixed[::-1]
        for extra in (1, 3, 5):
            fixed = np.roll(fixed, -1) + dynamic + extra
        np.testing.assert_array_equal(block, fixed)


def test_a_threads_own_array_indexed_at_run_time() -> None:
    source = f"""
    extern "C" __global__ void f(int* out, const int* order) {{
        const int i = {INDEX};
        int mine[16];
        for (int j = 0; j < 16; ++j) mine[order[j] % 16] = i * j;
        int x = 0;
        for (int j = 0; j < 16; ++j) x = 31 * x + mine[order[(j + i) % 16]];
        out[i] = x;
    }}"""
    order = np.array([3, 7, 0, 15, 2, 1, 9, 4, 8, 6, 5, 14, 11, 10, 13, 12], np.int32)
    out = emulate(source, ints(70), order, grid=(2,), block=(35,)).arrays[0]
    for i in range(70):
        mine = {int(slot): i * j for j, slot in enumerate(order)}
        x = 0
        for j in range(16):
            x = (31 * x + mine[int(order[(j + i) % 16])]) & 0xFFFFFFFF
        assert out[i] == np.uint32(x).view(np.int32)


def test_a_pointer_may_lead_to_shared_memory_in_one_thread_and_to_global_in_the_next() -> None:
    source = """
    extern "C" __global__ void f(int* out, int* data) {
        __shared__ int near[32];
        near[threadIdx.x] = 100 + threadIdx.x;
        __syncthreads();
        int* chosen = data[threadIdx.x] % 3 ? &near[31 - threadIdx.x] : &data[threadIdx.x];
        out[threadIdx.x] = *(volatile int*)chosen;
        *(volatile int*)chosen = 7;
        __syncthreads();
        out[32 + threadIdx.x] = near[threadIdx.x];
    }"""
    out, data = emulate(source, ints(64), np.arange(32, dtype=np.int32)).arrays
    for t in range(32):
        assert out[t] == (100 + 31 - t if t % 3 else t)
        assert data[t] == (t if t % 3 else 7)
        assert out[32 + t] == (7 if (31 - t) % 3 else 100 + t)


def test_vector_loads_and_stores() -> None:
    source = """
    extern "C" __global__ void f(float4* out, const float4* in, const double2* wide) {
        float4 x = in[threadIdx.x];
        double2 y = wide[threadIdx.x];
        out[threadIdx.x] = make_float4(x.w, x.z + (float)y.x, x.y, x.x * (float)y.y);
    }"""
    values, wide = np.arange(128, dtype=np.float32).reshape(32, 4), np.arange(64.0).reshape(32, 2)
    out = emulate(source, np.zeros((32, 4), np.float32), values, wide).arrays[0]
    x, y, z, w = values.T
    np.testing.assert_array_equal(out.T, [w, z + wide[:, 0], y, x * wide[:, 1]])


def test_a_misaligned_vector_is_a_fault() -> None:
    source = """
    extern "C" __global__ void f(float* out) {
        *(float4*)(out + 4 * threadIdx.x + (threadIdx.x == 5 ? 1 : 0)) = make_float4(1, 2, 3, 4);
    }"""
    (violation,) = emulate(source, np.zeros(200, np.float32)).violations
    assert (violation.kind, violation.array, violation.line) == ("misaligned", "P", 3)
    assert violation.thread == (5, 0, 0)


def test_narrow_types_extend_and_wrap() -> None:
    source = """
    struct Pair { short low; unsigned char high; };
    extern "C" __global__ void f(int* out, const signed char* s8, const unsigned char* u8, const short* s16, Pair pair,
                                 unsigned char c, long long big, float x) {
        const int t = threadIdx.x;
        out[t] = s8[t] * 1000000 + u8[t] * 1000 + s16[t] + pair.low + pair.high + c + (int)(big >> 40) + (int)x;
    }"""
    s8, s16 = np.arange(-16, 16, dtype=np.int8), np.arange(-5000, 5000, 313, dtype=np.int16)
    u8 = np.arange(224, 256).astype(np.uint8)
    pair = struct.pack("<hBx", -300, 250)
    out = emulate(source, ints(32), s8, u8, s16, pair, np.uint8(200), np.int64(7 << 40), np.float32(2.75)).arrays[0]
    expected = s8.astype(int) * 1_000_000 + u8.astype(int) * 1000 + s16.astype(int)[:32] - 300 + 250 + 200 + 7 + 2
    np.testing.assert_array_equal(out, expected)


def test_half_precision_intrinsics_run_in_their_inline_assembly() -> None:
    source = """
    #include <cuda_fp16.h>
    #include <cuda_bf16.h>
    extern "C" __global__ void f(float* out, const __half* h, const __nv_bfloat16* b) {
        const int t = threadIdx.x;
        out[t] = __half2float(__float2half(__half2float(h[t]) * 3.1f)) + __bfloat162float(b[t]);
    }"""
    h = np.linspace(-2, 2, 32).astype(np.float16)
    b = (np.linspace(-9, 9, 32).astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    text = ptx_of(source, *cuda_headers().options)
    out = emulate("", np.zeros(32, np.float32), h, b, text=text).arrays[0]
    product = (h.astype(np.float32) * np.float32(3.1)).astype(np.float16).astype(np.float32)
    np.testing.assert_array_equal(out, product + (b.astype(np.uint32) << 16).view(np.float32))


def test_atomic_additions_all_count() -> None:
    source = f"""
    extern "C" __global__ void f(int* total, float* sums) {{
        atomicAdd(total, {INDEX});
        atomicAdd(&sums[threadIdx.x % 4], 0.5f);
    }}"""
    total, sums = emulate(source, ints(1), np.zeros(4, np.float32), grid=(50,), block=(64,)).arrays
    assert total[0] == sum(range(3200))
    assert sums.tolist() == [400.0] * 4


# Faults.


def one_thread(statement: str, *, line: int = 3) -> tuple[Any, ...]:
    source = f'extern "C" __global__ void f(float* P, const float* Q, int n)\n{{\n    {statement}\n}}'
    run = emulate(source, np.zeros(8, np.float32), np.ones(8, np.float32), np.int32(8), block=(4,), grid=(2,))
    return tuple(
        (violation.kind, violation.array, violation.block, violation.thread)
        for violation in run.violations
        if violation.line == line
    )


@pytest.mark.parametrize(
    ("statement", "kind", "array"),
    [
        ("P[threadIdx.x] = Q[8];", "out-of-bounds-read", "Q"),
        ("P[threadIdx.x] = Q[-1];", "out-of-bounds-read", "Q"),
        ("P[8] = 1;", "out-of-bounds-write", "P"),
        ("P[-1] = 1;", "out-of-bounds-write", "P"),
        ("P[1 << 30] = 1;", "out-of-bounds-write", "P"),
        ("*(float*)16 = 1;", "out-of-bounds-write", None),
        ("P[threadIdx.x] = *(const float*)(1ull << 62);", "out-of-bounds-read", None),
        ("*(float*)((char*)P + 2) = 1;", "misaligned", "P"),
    ],
)
def test_an_access_outside_is_reported_with_its_array_and_line(statement: str, kind: str, array: str | None) -> None:
    assert one_thread(statement) == ((kind, array, (0, 0, 0), (0, 0, 0)),)


@pytest.mark.parametrize("statement", ["P[7] = Q[7];", "P[0] = Q[0];", "if (n < 0) P[99999] = Q[-99999];",
                                       "if (threadIdx.x > 7) P[threadIdx.x * 1000] = 1;"])  # fmt: skip
def test_an_access_inside_or_not_made_is_no_fault(statement: str) -> None:
    assert one_thread(statement) == ()


def test_the_first_thread_that_goes_wrong_is_named() -> None:
    assert one_thread("if (blockIdx.x == 1 && threadIdx.x >= 2) P[n + threadIdx.x] = 1;") == (
        ("out-of-bounds-write", "P", (1, 0, 0), (2, 0, 0)),
    )


def test_shared_memory_has_bounds_too() -> None:
    source = """
    extern "C" __global__ void f(int* out) {
        __shared__ int s[32];
        s[threadIdx.x + (out[0] == 0)] = 1;
        __syncthreads();
        out[threadIdx.x] = s[threadIdx.x];
    }"""
    (violation,) = emulate(source, ints(32)).violations
    assert (violation.kind, violation.array, violation.line, violation.thread) == (
        "out-of-bounds-write",
        "shared",
        4,
        (31, 0, 0),
    )


def test_a_shared_array_ends_where_it_ends_and_not_where_the_next_does() -> None:
    source = """
    extern "C" __global__ void f(int* out) {
        __shared__ int first[32];
        __shared__ int second[32];
        first[threadIdx.x] = second[threadIdx.x] = 1;
        __syncthreads();
        out[threadIdx.x] = first[threadIdx.x + out[0] + 8];
    }"""
    (violation,) = emulate(source, ints(32)).violations
    assert (violation.kind, violation.array, violation.line, violation.thread) == (
        "out-of-bounds-read",
        "shared",
        7,
        (24, 0, 0),
    )


def test_one_bad_access_in_many_leaves_the_others_alone() -> None:
    source = f"""
    extern "C" __global__ void f(int* out, const int* in) {{
        const int i = {INDEX};
        out[i == 37 ? 5000 : i] = in[i == 11 ? -3 : i] + 1;
    }}"""
    run = emulate(source, ints(64), np.arange(64, dtype=np.int32), grid=(2,))
    assert {(violation.kind, violation.array) for violation in run.violations} == {
        ("out-of-bounds-read", "Q"),
        ("out-of-bounds-write", "P"),
    }
    expected = np.arange(1, 65)
    right = np.array([i not in (11, 37) for i in range(64)])
    np.testing.assert_array_equal(run.arrays[0][right], expected[right])
    assert run.arrays[0][37] == 0


def test_threads_that_have_left_the_kernel_are_not_waited_for() -> None:
    source = f"""
    extern "C" __global__ void f(int* out) {{
        const int i = {INDEX};
        if (i < 40) {{
            out[i] = 1;
            __syncthreads();
            out[i] += 1;
        }}
    }}"""
    run = emulate(source, ints(64), grid=(2,))
    assert run.violations == []
    assert run.arrays[0].tolist() == [2] * 40 + [0] * 24


def test_a_whole_block_may_leave_before_a_barrier() -> None:
    source = f"""
    extern "C" __global__ void f(int* out) {{
        if (blockIdx.x == 1) return;
        out[{INDEX}] = 1;
        __syncthreads();
        out[{INDEX}] += 1;
    }}"""
    run = emulate(source, ints(96), grid=(3,))
    assert run.violations == []
    assert run.arrays[0].tolist() == [2] * 32 + [0] * 32 + [2] * 32


# What is refused.


@pytest.mark.parametrize(
    ("statement", "mnemonic"),
    [
        ('asm("multimem.red.relaxed.sys.global.add.u32 [%0], 1;" :: "l"(out));', "multimem.red"),
        ("out[0] = tex1Dfetch<int>((cudaTextureObject_t)out, 0);", "tex.1d"),
    ],
)
def test_an_unknown_instruction_is_refused_by_name_and_line_before_anything_runs(statement: str, mnemonic: str) -> None:
    source = f'extern "C" __global__ void f(int* out)\n{{\n    {statement}\n}}'
    with pytest.raises(UnsupportedInstruction) as refusal:
        translate(function_of(ptx_of(source)))
    found = re.fullmatch(
        r"the emulator does not know the instruction ([\w.:]+)(?: of %\w+)?( \(test\.cu:3\)| \([\w_]+\.h\w*:\d+\))?",
        str(refusal.value),
    )
    assert found, str(refusal.value)
    assert found[1].startswith(mnemonic)


def test_clocks_count_what_has_been_executed() -> None:
    source = """extern "C" __global__ void f(long long* out) {
        const long long begin = clock64(); out[1] = clock(); __syncthreads(); out[0] = clock64() - begin; }"""
    elapsed, clock = emulate(source, np.zeros(2, np.int64), block=(1,)).arrays[0].tolist()
    assert elapsed > 0
    assert clock >= 0


# PTX as other compilers write it.


@pytest.mark.parametrize("number", range(6))
def test_the_lectures_kernels_run_from_every_architectures_ptx(number: int) -> None:
    """Each from that of two architectures."""
    architectures = ["75", "80", "86", "90", "100", "120"]
    emulator = Emulator()
    emulator.architecture = architectures[number]
    for place, kernel in enumerate(lecture_kernels().values()):
        if number in (place % 6, (5 * place + 2) % 6):
            config = kernel.usual_configs[0]
            n = kernel.square_problem(17, config).n
            assert measure(Cell(kernel.name, n, n, n, config=config.to_json()), emulator).verified, kernel.name


HAND_WRITTEN = """
.version 8.8
.target sm_100
.address_size 64
.file 1 "/somewhere/else.cu"
.visible .entry f(.param .u64 .ptr .global .align 4 f_param_0, .param .u64 f_param_1)
.maxntid 1024, 1, 1
.reqntid 32
{
    .reg .pred %p<3>;
    .reg .b32 %r<8>; .reg .b64 %rd<8>;
    ld.param.b64 %rd1, [f_param_0]; // a comment
    ld.param.b64 %rd2, [f_param_1];
    cvta.to.global.u64 %rd3, %rd1;
    .loc 1 7 3, function_name $L__info_string0, inlined_at 1 9 2
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd4, %r1, 4; /* another */
    add.s64 %rd5, %rd3, %rd4;
    ld.global.b32 %r2, [%rd5+0];
    { .reg .b32 t; mov.b32 t, 0f3F000000; fma.rn.f32 %r3, %r2, t, 0f40000000; }
    setp.gt.f32 %p1, %r3, 0f40800000;
@%p1 mov.b32 %r3, 0fC0000000;
    @!%p1 bra $L__done;
    add.rn.f32 %r3, %r3, 0fBF800000;
$L__done:
    st.global.b32 [%rd5], %r3;
    ret;
}
.section .debug_str { $L__info_string0: .b8 102,0 }
"""


def test_untyped_registers_hold_floats() -> None:
    values = np.arange(32, dtype=np.float32)
    halved = values / 2 + 2
    expected = np.where(halved > 4, np.float32(-3), halved)
    out = emulate("", values, np.uint64(0), text=HAND_WRITTEN).arrays[0]
    np.testing.assert_array_equal(out, expected)


DAMAGED = ptx_of(mmcore.kernels()["upc.kernel11"].source.read_text(encoding="utf-8"), "-DTILE=8")


def read(text: str) -> None:
    """Damaged PTX may be refused in words or still mean something; it must not crash the reader."""
    with contextlib.suppress(EmulatorError):
        for function in parse(text).values():
            translate(function)


def test_truncated_ptx_is_refused_in_words() -> None:
    for end in range(0, len(DAMAGED), 397):
        read(DAMAGED[:end])


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_damaged_ptx_is_refused_in_words(data: st.DataObject) -> None:
    lines = DAMAGED.splitlines()
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(lines) - 1))
        damage = data.draw(st.sampled_from(["drop", "double", "swap", "edit"]))
        if damage == "drop":
            del lines[at]
        elif damage == "double":
            lines.insert(at, lines[at])
        elif damage == "swap":
            other = data.draw(st.integers(0, len(lines) - 1))
            lines[at], lines[other] = lines[other], lines[at]
        else:
            column = data.draw(st.integers(0, len(lines[at])))
            text = data.draw(st.text("%r0123[]{}(),;.+-@abfdsux_ ", max_size=3))
            lines[at] = lines[at][:column] + text + lines[at][column + data.draw(st.integers(0, 2)) :]
    read("\n".join(lines))


# Options of the compiler.


@pytest.mark.parametrize("options", [(), ("-ftz=true",), ("-use_fast_math",)])
def test_options_of_fast_arithmetic_make_zeros_of_subnormal_numbers(options: tuple[str, ...]) -> None:
    source = """
    extern "C" __global__ void f(float* a, float* b) {
        const int i = threadIdx.x;
        float sum = 0;
        for (int p = 0; p < 4; ++p) sum += a[i] * b[p];
        __syncthreads();
        b[i] = a[i] < 1 ? ceilf(fmaxf(-fabsf(a[i]), a[i])) : floorf(0.5f * a[i]);
        a[i] = sum;
    }"""
    sums, bounds = np.array([6.0, 2.0**-100, 2.0**-130, 0.0], np.float32), np.full(4, 2.0**-40, np.float32)
    sums, bounds = emulate(source, sums, bounds, block=(4,), options=options).arrays
    assert sums.tolist() == [6 * 2.0**-38, 0.0 if options else 2.0**-138, 0.0, 0.0]
    assert bounds.tolist()[:1] == [3.0]
    assert bounds.tolist()[1:] == [1.0, 0.0 if options else 1.0, 0.0]
