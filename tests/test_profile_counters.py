"""What the emulator counts, against arithmetic done by hand and against a count of one thread after the other."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mmcore_emulator.profiler.by_line import Counting
from mmcore_emulator.profiler.counters import Counters, Line, total
from tests.emulation import emulate, ptx_kernel, ptx_of


def lines_of(
    source: str, *arguments: Any, grid: Sequence[int] = (1,), block: Sequence[int] = (32,), text: str = ""
) -> dict[Line, Counters]:
    watching: list[Counting] = []

    def observers(translation: Any) -> tuple[Counting, ...]:
        watching.append(Counting(translation.blocks))
        return tuple(watching)

    emulated = emulate(source, *arguments, grid=grid, block=block, text=text, observers=observers)
    assert emulated.violations == []
    lines = watching[0].lines
    assert total(lines.values()).thread_instructions == emulated.run.thread_instructions
    return lines


def counters_of(source: str, *arguments: Any, **geometry: Any) -> Counters:
    return total(lines_of(source, *arguments, **geometry).values())


def loading(index: str, kind: str = "float", put: str = "0") -> str:
    """A kernel whose every thread loads one element and stores to one place."""
    return f"""
    extern "C" __global__ void f(const {kind}* in, {kind}* out) {{
        const int x = threadIdx.x, y = threadIdx.y, z = threadIdx.z, b = blockIdx.x;
        const {kind} value = in[{index}];
        out[{put}] = value;
    }}"""


def floats(count: int) -> np.ndarray[Any, Any]:
    return np.ones(count, np.float32)


def test_a_warp_that_loads_its_neighbours_loads_four_sectors() -> None:
    counters = counters_of(loading("128 * b + x", put="128 * b + x"), floats(640), floats(640), grid=(5,), block=(128,))
    assert (counters.global_loads, counters.global_load_bytes) == (640, 2560)
    assert (counters.global_load_requests, counters.global_load_sectors) == (20, 80)
    assert (counters.global_stores, counters.global_store_bytes) == (640, 2560)
    assert (counters.global_store_requests, counters.global_store_sectors) == (20, 80)


@pytest.mark.parametrize(
    ("index", "sectors"),
    [("0", 1), ("x", 4), ("x + 1", 5), ("2 * x", 8), ("8 * x", 32), ("31 - x", 4), ("x % 9", 2), ("x / 8 * 100", 4)],
)
def test_sectors_are_counted_once_for_a_warp_however_its_threads_lie(index: str, sectors: int) -> None:
    assert counters_of(loading(index), floats(400), floats(1)).global_load_sectors == sectors


def test_threads_that_store_to_one_place_make_one_sector() -> None:
    assert counters_of(loading("x"), floats(32), floats(1)).global_store_sectors == 1


def test_the_last_warp_of_a_block_may_be_short() -> None:
    # Of 50 threads the first 32 load bytes 0 to 127 of the block's 200, the other 18 load bytes 128 to 199.
    # Block 0 begins on a sector; block 1 begins at byte 200, 8 bytes into one: 200 to 327 are 5 sectors, and
    # 328 to 399, again 8 bytes into one, are 3.
    counters = counters_of(loading("50 * b + x"), floats(100), floats(1), grid=(2,), block=(50,))
    assert counters.global_load_requests == 4
    assert counters.global_load_sectors == (4 + 3) + (5 + 3)
    assert counters.warp_instructions * 25 == counters.thread_instructions, "4 warps, 100 threads"


def test_threads_of_a_block_follow_each_other_along_x_then_y_then_z() -> None:
    # 4×4×4 threads are two warps. In memory order x, y, z each loads 128 bytes; in the order z, y, x, a warp (all x and
    # y, two z) takes two neighbours out of every four.
    ordered = counters_of(loading("x + 4 * y + 16 * z"), floats(64), floats(1), block=(4, 4, 4))
    assert (ordered.global_load_requests, ordered.global_load_sectors) == (2, 8)
    turned = counters_of(loading("z + 4 * y + 16 * x"), floats(64), floats(1), block=(4, 4, 4))
    assert (turned.global_load_requests, turned.global_load_sectors) == (2, 16)


def test_a_vector_is_one_access_of_all_its_bytes() -> None:
    counters = counters_of(loading("x", "float4", "x"), np.ones((32, 4), np.float32), np.ones((32, 4), np.float32))
    assert (counters.global_loads, counters.global_load_requests) == (32, 1)
    assert (counters.global_load_bytes, counters.global_load_sectors) == (512, 16)
    assert (counters.global_stores, counters.global_store_requests, counters.global_store_sectors) == (32, 1, 16)


def test_what_diverged_threads_do_apart_is_counted_apart() -> None:
    source = """
    extern "C" __global__ void f(const float* in, float* out) {
        if (threadIdx.x % 2) out[threadIdx.x] = in[threadIdx.x] * 3.0f;
        else out[threadIdx.x + 32] = in[threadIdx.x + 64] + 1.0f;
    }"""
    counters = counters_of(source, floats(96), floats(64))
    assert (counters.global_loads, counters.global_load_requests, counters.global_load_sectors) == (32, 2, 8)
    assert (counters.flops, counters.fmas) == (32, 0)


def test_the_same_address_costs_each_group_of_threads_its_own_accesses() -> None:
    body = """
        setp.lt.u32 %p1, %r1, 9; @%p1 ld.global.u32 %r2, [%d1];
        setp.ge.u32 %p2, %r1, 20; @%p2 ld.global.u32 %r3, [%d1];"""
    counters = counters_of("", np.zeros(32, np.uint32), text=ptx_kernel(body))
    assert (counters.global_loads, counters.global_load_requests, counters.global_load_sectors) == (9 + 12, 2, 2)


def test_batches_of_fewer_blocks_count_for_fewer() -> None:
    source = 'extern "C" __global__ void f(const volatile float* in, float* out) { out[0] = in[0]; }'
    counters = counters_of(source, floats(1), floats(1), grid=(41,), block=(1024,))
    assert counters.global_loads == counters.global_stores == 41 * 1024
    assert counters.global_load_requests == counters.global_load_sectors == 41 * 32


def test_a_fused_multiply_add_is_two_operations_and_counted_once_per_thread() -> None:
    source = """
    extern "C" __global__ void f(const float* in, float* out, const double* more, double* sum) {
        const int x = threadIdx.x;
        out[x] = fmaf(in[x], in[x], 1.0f) * 3.0f + 2.0f * in[x];
        sum[x] = more[x] - 1.0;
    }"""
    counters = counters_of(source, floats(40), floats(40), np.ones(40), np.ones(40), block=(40,))
    # The product and the sum behind the first fma become another and a product, or the other way round.
    assert counters.fmas == 2 * 40
    assert counters.flops == (2 + 2 + 1 + 1) * 40


def test_of_guarded_arithmetic_only_what_is_executed_counts() -> None:
    body = "setp.lt.u32 %p1, %r1, 5; @%p1 fma.rn.f32 %f1, %f1, %f1, %f1; @!%p1 add.f32 %f1, %f1, %f1;"
    counters = counters_of("", np.zeros(32, np.uint32), text=ptx_kernel(body))
    assert (counters.fmas, counters.flops) == (5, 2 * 5 + 27)


def test_of_a_guarded_load_only_what_is_executed_counts() -> None:
    body = "setp.lt.u32 %p1, %r1, 9; @%p1 ld.global.u32 %r2, [%d2];"
    counters = counters_of("", np.zeros(32, np.uint32), text=ptx_kernel(body))
    assert (counters.global_loads, counters.global_load_requests, counters.global_load_sectors) == (9, 1, 2)


def test_atomics_are_neither_loads_nor_stores() -> None:
    source = 'extern "C" __global__ void f(int* out) { atomicAdd(out + threadIdx.x / 16 * 8, 1); }'
    counters = counters_of(source, np.zeros(40, np.int32), block=(64,))
    assert (counters.global_atomics, counters.global_atomic_requests, counters.global_atomic_sectors) == (64, 2, 4)
    assert counters.global_loads == counters.global_stores == 0
    assert counters.global_accesses == 64


def test_barriers_are_counted_once_per_block() -> None:
    source = """
    extern "C" __global__ void f(float* out, int n) {
        for (int i = 0; i < n; ++i) __syncthreads();
        __syncwarp();
        out[0] = 1;
    }"""
    assert counters_of(source, floats(1), np.int32(3), grid=(7,), block=(96,)).barriers == 21


def shared(index: str, kind: str) -> Counters:
    """A warp stores to shared memory in order, and loads by ``index``."""
    source = f"""
    extern "C" __global__ void f({kind}* out) {{
        __shared__ __align__(16) {kind} tile[1056];
        const int x = threadIdx.x;
        tile[x] = out[x];
        __syncwarp();
        out[x] = tile[{index}];
    }}"""
    data = np.zeros((32, 4), np.float32) if kind == "float4" else np.zeros(32, {"float": "f4", "double": "f8"}[kind])
    return counters_of(source, data)


@pytest.mark.parametrize(
    ("index", "kind", "wavefronts", "conflicts"),
    [
        ("x", "float", 1, 0),
        ("7", "float", 1, 0),
        ("31 - x", "float", 1, 0),
        ("2 * x", "float", 2, 1),
        ("4 * x", "float", 4, 3),
        ("32 * x", "float", 32, 31),
        ("33 * x", "float", 1, 0),
        ("x / 2 * 32", "float", 16, 15),
        # Half a warp at a time: 16 doubles are all of the banks.
        ("x", "double", 2, 0),
        ("32 * x", "double", 32, 30),
        ("16 * x", "double", 32, 30),
        ("33 * x", "double", 2, 0),
        # All the threads of both halves want the same.
        ("7", "double", 1, 0),
        ("x % 16", "double", 1, 0),
        # The second half wants 12 of what the first does, and 4 others that lie in the same banks as those.
        ("x % 20", "double", 3, 1),
        # A quarter at a time.
        ("x", "float4", 4, 0),
        # Two quarters of a half that want the same are served together.
        ("5", "float4", 2, 0),
        ("x % 8", "float4", 2, 0),
        ("8 * x", "float4", 32, 28),
    ],
)
def test_wavefronts_of_shared_memory(index: str, kind: str, wavefronts: int, conflicts: int) -> None:
    counters = shared(index, kind)
    assert (counters.shared_loads, counters.shared_load_requests) == (32, 1)
    assert (counters.shared_load_wavefronts, counters.shared_bank_conflicts) == (wavefronts, conflicts)
    stored = {"float": 1, "double": 2, "float4": 4}[kind]
    assert (counters.shared_stores, counters.shared_store_requests) == (32, 1)
    assert counters.shared_store_wavefronts == stored, "in order, without conflicts"
    assert counters.shared_store_bytes == counters.shared_load_bytes == 128 * stored


@pytest.mark.parametrize(
    ("index", "kind", "transactions"),
    [
        ("x", "float", 2),  # 64 bytes for each half-warp
        ("x + 8", "float", 3),  # bytes 32 to 95, then 96 to 159, which lie in two segments
        ("3", "float", 2),  # the same word for both halves
        ("x / 16", "float", 2),
        ("2 * x", "float", 2),  # 128 bytes each
        ("4 * x", "float", 4),
        ("32 * x", "float", 32),
        ("x", "double", 2),
        ("x", "unsigned char", 2),  # 16 bytes each, in segments of 32
        ("2 * x", "unsigned char", 2),
        ("4 * x", "unsigned char", 4),
        ("x", "short", 2),  # 32 bytes each, in segments of 64
        ("x + 16", "short", 2),
        ("4 * x", "short", 4),
    ],
)
def test_transactions_of_compute_capability_1_2(index: str, kind: str, transactions: int) -> None:
    kinds = {"float": np.float32, "double": np.float64, "unsigned char": np.uint8, "short": np.int16}
    data = np.zeros(1024, kinds[kind])
    counters = counters_of(loading(index, kind), data, np.zeros(1, kinds[kind]))
    assert counters.global_load_transactions_cc1x == transactions


def test_counters_are_those_of_the_line_that_does_it() -> None:
    lines = lines_of(loading("32 * x", put="x"), floats(1024), floats(32))
    loads = {line: counters for line, counters in lines.items() if counters.global_loads}
    stores = {line: counters for line, counters in lines.items() if counters.global_stores}
    assert [(line, counters.global_load_sectors) for line, counters in loads.items()] == [(("test.cu", 4), 32)]
    assert [(line, counters.global_store_sectors) for line, counters in stores.items()] == [(("test.cu", 5), 4)]


def test_counters_add_up() -> None:
    one, two = Counters(fmas=1, barriers=3), Counters(fmas=10, global_loads=4)
    assert one + two == Counters(fmas=11, barriers=3, global_loads=4)
    assert two * 3 == Counters(fmas=30, global_loads=12)
    assert total([one, one, two]) == one * 2 + two


BRUTE = """
extern "C" __global__ void f(const float* in, float* out, int ax, int ay, int az, int abx, int aby, int n, int limit) {
    const int x = threadIdx.x, y = threadIdx.y, z = threadIdx.z;
    if (x + y * blockIdx.y + z >= limit) return;
    volatile __shared__ float tile[2048];
    int i = ax * x + ay * y + az * z + abx * blockIdx.x + aby * blockIdx.y;
    for (int step = 0; step < n; ++step, i += 5) {
        tile[i] = in[i];
        out[0] = tile[i];
    }
}"""
NUMBERS = st.integers(0, 9)


@functools.cache
def brute() -> str:
    return ptx_of(BRUTE)


@settings(max_examples=25, deadline=None)
@given(
    st.tuples(st.integers(1, 20), st.integers(1, 6), st.integers(1, 3)),
    st.tuples(NUMBERS, NUMBERS, NUMBERS, NUMBERS, NUMBERS),
    st.integers(1, 25),
)
def test_counting_agrees_with_one_thread_after_the_other(
    block: tuple[int, int, int], factors: tuple[int, int, int, int, int], limit: int
) -> None:
    """Patterns, masks and partial warps that nobody thought of, against sets of what each warp touches."""
    grid, steps = (3, 2), 3
    arguments = [np.int32(value) for value in (*factors, steps, limit)]
    found = counters_of("", floats(2048), floats(1), *arguments, grid=grid, block=block, text=brute())
    loads = requests = sectors = transactions = passes = conflicts = 0
    for by, bx, step in itertools.product(range(grid[1]), range(grid[0]), range(steps)):
        order = itertools.product(range(block[2]), range(block[1]), range(block[0]))
        indices = [
            sum(a * b for a, b in zip(factors, (x, y, z, bx, by), strict=True)) + 5 * step
            if x + y * by + z < limit
            else None
            for z, y, x in order
        ]
        for first in range(0, len(indices), 32):
            warp = indices[first : first + 32]
            halves = [{i // 32 for i in warp[at : at + 16] if i is not None} for at in (0, 16)]
            words = {i for i in warp if i is not None}
            if not words:
                continue
            loads += sum(i is not None for i in warp)
            requests += 1
            sectors += len({i // 8 for i in words})
            transactions += sum(map(len, halves))
            needed = max(sum(word % 32 == bank for word in words) for bank in range(32))
            passes, conflicts = passes + needed, conflicts + needed - 1
    assert (found.global_loads, found.global_load_requests) == (loads, requests)
    assert (found.global_load_sectors, found.global_load_transactions_cc1x) == (sectors, transactions)
    assert (found.shared_load_wavefronts, found.shared_store_wavefronts) == (passes, passes)
    assert found.shared_bank_conflicts == 2 * conflicts
