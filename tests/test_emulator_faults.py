"""What the emulator says of accesses that must not happen, and how a kernel goes on after them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from mmcore.compile.compiled_module import CompiledFunction, CompiledModule
from mmcore.devices.base import BoundLaunch
from mmcore.devices.violations import Violation
from mmcore.kernel.launch import Launch
from mmcore.verify.elements import is_poison
from mmcore_emulator.adapter.device import EmulatedBuffer, Emulator
from tests.emulation import emulate, ptx_kernel, ptx_of, words


def on(
    emulator: Emulator, source: str, *buffers: EmulatedBuffer, grid: Sequence[int] = (1,), block: Sequence[int] = (1,)
) -> list[Violation]:
    """What a kernel ``f`` does wrong with buffers that outlive it."""
    program = emulator.load(CompiledModule("sm_90", "test.cu", {}, b"", ptx_of(source)))
    return program.run(
        [BoundLaunch(CompiledFunction("f", 16, 0, 0), Launch(grid=tuple(grid), block=tuple(block)), buffers)]
    )


def content(buffer: EmulatedBuffer, count: int, dtype: Any = np.float32) -> NDArray[Any]:
    out = np.empty(count, dtype)
    buffer.download(out)
    return out


def test_the_thread_named_is_the_first_that_did_it_not_the_first_of_its_block() -> None:
    run = words("setp.eq.u32 %p1, %r1, 5; @%p1 ld.global.u32 %r2, [%d1+4096];")
    (violation,) = run.violations
    assert (violation.block, violation.thread) == ((0, 0, 0), (5, 0, 0))
    assert violation.message == "thread (5, 0) of block (0, 0) reads 3968 bytes past the end of P"


def test_the_place_named_is_where_the_thread_named_went() -> None:
    """Block (1, 0) comes before block (0, 1), whose thread (0, 0) goes elsewhere."""
    source = """
    extern "C" __global__ void f(int* out) {
        const bool wrong = (blockIdx.x == 1 && blockIdx.y == 0 && threadIdx.y == 1) || blockIdx.y == 1;
        if (wrong) out[8 + 100 * blockIdx.y + 10 * threadIdx.y] = 1;
    }"""
    (violation,) = emulate(source, np.zeros(8, np.int32), grid=(2, 2), block=(1, 2)).violations
    assert violation.message == "thread (0, 1) of block (1, 0) writes 40 bytes past the end of P at test.cu:4"


@pytest.mark.parametrize(
    ("index", "where"),
    [
        ("8", "the first byte past the end of P"),
        ("10", "8 bytes past the end of P"),
        ("-1", "4 bytes before the start of P"),
        ("(1 << 28)", "1073741792 bytes past the end of P"),
    ],
)
def test_a_message_says_how_far_outside(index: str, where: str) -> None:
    source = f'extern "C" __global__ void f(int* out) {{ out[{index} + (int)threadIdx.z] = 1; }}'
    (violation,) = emulate(source, np.zeros(8, np.int32), block=(1,)).violations
    assert violation.message == f"thread (0, 0) of block (0, 0) writes {where} at test.cu:1"


def test_an_access_across_the_end_is_outside() -> None:
    source = 'extern "C" __global__ void f(double* out) { out[1] = out[0]; }'
    assert {violation.kind for violation in emulate(source, np.zeros(3, np.float32), block=(1,)).violations} == {
        "out-of-bounds-write"
    }


@pytest.mark.parametrize("address", ["0", "64", "1ull << 63", "~7ull"])
def test_an_address_that_is_nowhere_near_an_array_is_said_to_be(address: str) -> None:
    source = f'extern "C" __global__ void f(int* out) {{ *(volatile int*)({address}) = 1; }}'
    (violation,) = emulate(source, np.zeros(8, np.int32), block=(1,)).violations
    assert (violation.kind, violation.array) == ("out-of-bounds-write", None)
    assert "far from every array" in violation.message


def test_every_thread_may_go_somewhere_else() -> None:
    """Two arrays, both wrong and right, and a wild address: each is told apart in one instruction."""
    source = """
    extern "C" __global__ void f(float* out, const float* in) {
        const float* places[] = {out + 1, in + 2, out - 3, in + 99, (const float*)8, out + 8};
        const float* place = out;
        for (int i = 0; i < 6; ++i) if (i == threadIdx.x) place = places[i];
        out[2 + threadIdx.x] = *place;
    }"""
    run = emulate(source, np.arange(8, dtype=np.float32), np.arange(10, 18, dtype=np.float32), block=(6,))
    assert {
        (violation.array, violation.thread) for violation in run.violations if violation.kind == "out-of-bounds-read"
    } == {("P", (2, 0, 0)), ("Q", (3, 0, 0)), (None, (4, 0, 0))}
    assert run.arrays[0][2:4].tolist() == [1, 12]
    assert np.isnan(run.arrays[0][4:]).all()


def test_a_fault_is_told_once_for_each_kind_array_and_line() -> None:
    source = """
    extern "C" __global__ void f(int* out, int* in, int n) {
        for (int i = 0; i < n; ++i) {
            out[threadIdx.x + 32 + i] = in[-1 - i];
            out[-1] += 1;
        }
    }"""
    run = emulate(source, np.zeros(32, np.int32), np.zeros(4, np.int32), np.int32(3), grid=(9,))
    assert sorted((violation.kind, violation.array or "", violation.line or 0) for violation in run.violations) == [
        ("out-of-bounds-read", "P", 5),
        ("out-of-bounds-read", "Q", 4),
        ("out-of-bounds-write", "P", 4),
        ("out-of-bounds-write", "P", 5),
    ]


def test_the_room_behind_a_matrix_is_nan_and_may_be_read_but_not_written() -> None:
    emulator = Emulator()
    a, c = emulator.allocate("A", 32, over_read_bytes=16), emulator.allocate("C", 64)
    a.upload(np.arange(8, dtype=np.float32))
    read = 'extern "C" __global__ void f(const float* a, float* c) { c[threadIdx.x] = a[threadIdx.x]; }'
    assert on(emulator, read, a, c, block=(12,)) == []
    values = content(c, 16)
    np.testing.assert_array_equal(values[:8], np.arange(8))
    assert np.isnan(values[8:12]).all()
    (violation,) = on(emulator, read, a, c, block=(13,))
    assert (violation.kind, violation.array, violation.thread) == ("out-of-bounds-read", "A", (12, 0, 0))
    assert "16 bytes past the end of A" in violation.message
    (violation,) = on(emulator, 'extern "C" __global__ void f(float* a) { a[8] = 1; }', a)
    assert (violation.kind, violation.array) == ("out-of-bounds-write", "A")


def test_memory_that_was_freed_is_nobodys() -> None:
    emulator = Emulator()
    gone, kept = emulator.allocate("A", 32), emulator.allocate("C", 32)
    gone.close()
    source = 'extern "C" __global__ void f(const int* a, int* c) { c[0] = a[0]; }'
    (violation,) = on(emulator, source, gone, kept)
    assert (violation.kind, violation.array) == ("out-of-bounds-read", None)
    again = emulator.allocate("B", 32)
    again.upload(np.full(8, 7, np.int32))
    assert on(emulator, source, again, kept) == []
    assert content(kept, 1, np.int32)[0] == 7


def test_arithmetic_on_a_nan_that_was_read_out_of_bounds_is_not_what_nobody_wrote() -> None:
    """Otherwise an element computed from an over-read would be taken for one that the kernel never wrote."""
    emulator = Emulator()
    c = emulator.allocate("C", 32)
    source = """
    extern "C" __global__ void f(float* c) {
        c[0] = c[8] + 1; c[1] = c[9] * c[1]; c[2] = fmaf(c[8], c[8], 1.0f); c[3] = c[4] / 3; c[5] = sqrtf(c[5]);
    }"""
    assert {violation.kind for violation in on(emulator, source, c)} == {"out-of-bounds-read"}
    assert is_poison(content(c, 8)).tolist() == [False] * 4 + [True, False, True, True]


def test_a_threads_own_array_has_bounds() -> None:
    source = """
    extern "C" __global__ void f(int* out, int n) {
        int mine[8];
        for (int i = 0; i < 8; ++i) mine[(i * 3) % 8] = i + n;
        out[threadIdx.x] = mine[threadIdx.x + n];
    }"""
    (violation,) = emulate(source, np.zeros(32, np.int32), np.int32(2), block=(7,)).violations
    assert (violation.kind, violation.array, violation.line, violation.thread) == (
        "out-of-bounds-read",
        "local",
        5,
        (6, 0, 0),
    )


def test_parameters_have_bounds() -> None:
    text = ptx_kernel("mov.b64 %d3, f_param_0; ld.param.u32 %r2, [%d3+4]; ld.param.u32 %r3, [%d3+8];")
    (violation,) = emulate("", np.zeros(1, np.int32), text=text).violations
    assert (violation.kind, violation.array) == ("out-of-bounds-read", "parameters")


def test_before_a_shared_array_is_outside_it() -> None:
    source = """
    extern "C" __global__ void f(int* out) {
        __shared__ int first[32];
        __shared__ int second[32];
        first[threadIdx.x] = second[threadIdx.x] = out[threadIdx.x];
        __syncthreads();
        out[threadIdx.x] = second[(int)threadIdx.x - 2] + first[31 - threadIdx.x];
    }"""
    (violation,) = emulate(source, np.zeros(32, np.int32)).violations
    assert (violation.kind, violation.array, violation.thread) == ("out-of-bounds-read", "shared", (0, 0, 0))
    assert "8 bytes before the start of second (shared)" in violation.message


def test_dynamic_shared_memory_ends_with_what_the_launch_asked_for() -> None:
    source = """
    extern __shared__ int dynamic[];
    extern "C" __global__ void f(int* out) {
        __shared__ int fixed[4];
        fixed[threadIdx.x % 4] = 5;
        dynamic[threadIdx.x] = threadIdx.x;
        __syncthreads();
        out[threadIdx.x] = dynamic[threadIdx.x] + fixed[threadIdx.x % 4];
    }"""
    run = emulate(source, np.zeros(32, np.int32), shared_bytes=128)
    assert run.violations == []
    assert run.arrays[0].tolist() == [thread + 5 for thread in range(32)]
    violation, _ = emulate(source, np.zeros(32, np.int32), shared_bytes=120).violations
    assert (violation.kind, violation.array, violation.thread) == ("out-of-bounds-write", "shared", (30, 0, 0))


def test_threads_with_much_memory_of_their_own_run_fewer_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mmcore_emulator.machine.lanes.COPIED_BYTES_PER_BATCH", 100_000)
    source = """
    extern "C" __global__ void f(int* out) {
        __shared__ int shared[256];
        int mine[64];
        const int i = blockIdx.x * blockDim.x + threadIdx.x;
        for (int j = 0; j < 64; ++j) mine[(j * 7 + i) % 64] = i + j;
        shared[threadIdx.x] = mine[i % 64];
        __syncthreads();
        out[i] = shared[threadIdx.x ^ 1];
    }"""
    run = emulate(source, np.zeros(1024, np.int32), grid=(16,), block=(64,))
    assert run.violations == []
    mine = [i + next(j for j in range(64) if (j * 7 + i) % 64 == i % 64) for i in range(1024)]
    assert run.arrays[0].tolist() == [mine[i ^ 1] for i in range(1024)]
