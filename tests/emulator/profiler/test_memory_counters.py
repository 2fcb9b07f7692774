"""Counters of arithmetic and memory: by hand, and by counting one thread after the other."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from mmcore_emulator.profiler.counters import Counters, total
from tests.emulation import ptx_of
from tests.emulator.kernels import kernel_source
from tests.emulator.profiler.counting import assert_counts, counters_of, lines_of
from tests.tables import table

KINDS = {"float": "f4", "double": "f8", "unsigned char": "u1", "short": "i2", "float4": "(4,)f4"}


def loading(index: str, kind: str = "float", put: str = "0") -> str:
    """Return a kernel of threads that load one element each and store to one place."""
    return f"""
    extern "C" __global__ void f(const {kind}* in, {kind}* out) {{
        const int x = threadIdx.x, y = threadIdx.y, z = threadIdx.z, b = blockIdx.x;
        const {kind} value = in[{index}];
        out[{put}] = value;
    }}"""


def loaded(index: str, kind: str = "float", put: str = "0", **launch: Any) -> Counters:
    arrays = [np.zeros(1024, KINDS[kind]) for _ in range(2)]
    return counters_of(loading(index, kind, put), *arrays, **launch)


@table(
    "kind grid block index put expected",
    """
    float  5 128   128*b+x     128*b+x global_loads=640 global_load_bytes=2560 global_load_requests=20 \
       global_load_sectors=80 global_stores=640 global_store_bytes=2560 global_store_requests=20 global_store_sectors=80
    float  1 32    x           0       global_store_sectors=1
    # Of 50 threads the first 32 load bytes 0 to 127 of the block's 200, the other 18 bytes 128 to 199. Block 1 begins
    # at byte 200, 8 bytes into a sector: 200 to 327 are 5 sectors, and 328 to 399, again so, are 3.
    float  2 50    50*b+x      0       global_load_requests=4 global_load_sectors=4+3+5+3
    # 4×4×4 threads are two warps. In the order x, y, z each loads 128 bytes; in the order z, y, x, a warp (all x and y,
    # two z) takes two neighbours out of every four.
    float  1 4,4,4 x+4*y+16*z  0       global_load_requests=2 global_load_sectors=8
    float  1 4,4,4 z+4*y+16*x  0       global_load_requests=2 global_load_sectors=16
    float4 1 32    x           x       global_loads=32 global_load_requests=1 global_load_bytes=512 \
        global_load_sectors=16 global_stores=32 global_store_requests=1 global_store_sectors=16
    """,
)
def test_loads_and_stores(kind: str, grid: str, block: str, index: str, put: str, expected: str) -> None:
    shape = tuple(map(int, block.split(",")))
    counters = loaded(index, kind, put, grid=(int(grid),), block=shape)
    assert_counts(counters, expected)
    per_warp = 25 if block == "50" else 32  # 4 warps have 100 threads
    assert counters.warp_instructions * per_warp == counters.thread_instructions


@table(
    "kind sectors transactions index",
    """
    # Sectors count once for a warp in any order of its threads. Of compute capability 1.2, 64 bytes for each half-warp.
    float  1  2  0;       float  4  2  x;      float  5  3  x + 1;        float  8  2  2 * x;  float  32 8  8 * x
    float  4  2  31 - x;  float  2  2  x % 9;  float  4  4  x / 8 * 100
    # Bytes 32 to 95, then 96 to 159, which are in two segments.
    float  4  3  x + 8
    # The same word for both halves.
    float  1  2  3;  float  1  2  x / 16;  float  16 4  4 * x;  float  32 32 32 * x;  double  8  2  x
    # 16 bytes each, in segments of 32.
    unsigned_char  1  2  x;  unsigned_char  2  2  2 * x;  unsigned_char  4  4  4 * x
    # 32 bytes each, in segments of 64.
    short  2  2  x;  short  2  2  x + 16;  short  8  4  4 * x
    """,
)
def test_sectors_and_transactions_of_a_warp(kind: str, sectors: str, transactions: str, index: str) -> None:
    expected = f"global_load_sectors={sectors} global_load_transactions_cc1x={transactions}"
    assert_counts(loaded(index, kind.replace("_", " ")), expected)


@table(
    "kind threads sectors index",
    """
    # A word of each thread of a warp is beside the next thread's.
    float  32  4  b;    float  33  5  b;   double  32  8  b;   float4  32  16  b;  unsigned_char  32  4  b
    # Neighbours at different offsets: 4 words of each group of 8 threads, or 2 words of bytes.
    float  32  16  x % 4;  float  32  32  x;  unsigned_char  32  8  x;  double  32  32  x % 4
    """,
)
def test_sectors_of_local_memory(kind: str, threads: str, sectors: str, index: str) -> None:
    kind = kind.replace("_", " ")
    source = f"""
    extern "C" __global__ void f(const {kind}* in, {kind}* out) {{
        const int x = threadIdx.x, b = blockIdx.x;
        {kind} own[32];
        for (int i = 0; i < 32; i++)
            own[i] = in[i];
        out[x] = own[{index}];
    }}"""
    counters = counters_of(source, *(np.zeros(64, KINDS[kind]) for _ in range(2)), grid=(1,), block=(int(threads),))
    nbytes, groups = np.dtype(KINDS[kind]).itemsize, -(-int(threads) // 8)
    expected = f"""local_loads={threads} local_load_bytes={nbytes}*{threads} local_load_requests=-(-{threads}//32)
    local_load_sectors={sectors} local_store_bytes=32*{nbytes}*{threads}"""
    assert_counts(counters, expected)
    assert counters.local_store_sectors == 8 * nbytes * groups
    assert counters.global_sectors == counters.global_load_sectors + counters.global_store_sectors


@table(
    "kind wavefronts conflicts index",
    """
    float  1  0  x;       float  1  0  7;       float  1  0  31 - x;      float  2  1  2 * x;  float  4  3  4 * x
    float  32 31 32 * x;  float  1  0  33 * x;  float  16 15 x / 2 * 32
    # Half a warp at a time: 16 doubles are all of the banks.
    double  2  0  x;  double  32 30 32 * x;  double  32 30 16 * x;  double  2  0  33 * x
    # All the threads of both halves want the same.
    double  1  0  7;  double  1  0  x % 16
    # The second half wants 12 of what the first does, and 4 others that are in the same banks as those.
    double  3  1  x % 20
    # A quarter at a time; two quarters of a half that want the same are served together.
    float4  4  0  x;  float4  2  0  5;  float4  2  0  x % 8;  float4  32 28 8 * x
    """,
)
def test_wavefronts_of_shared_memory(kind: str, wavefronts: str, conflicts: str, index: str) -> None:
    source = f"""
    extern "C" __global__ void f({kind}* out) {{
        __shared__ __align__(16) {kind} tile[1056];
        const int x = threadIdx.x;
        tile[x] = out[x];
        __syncwarp();
        out[x] = tile[{index}];
    }}"""
    expected = f"""shared_loads=32 shared_load_requests=1 shared_load_wavefronts={wavefronts}
    shared_bank_conflicts={conflicts} shared_stores=32 shared_store_requests=1 shared_store_wavefronts=stored
    shared_store_bytes=128*stored shared_load_bytes=128*stored"""
    stored = {"float": 1, "double": 2, "float4": 4}[kind]
    assert_counts(counters_of(source, np.zeros(32, KINDS[kind])), expected, stored=stored)


FLOATS = np.ones(96, np.float32)


def test_counters_belong_to_lines_and_add_up() -> None:
    lines = lines_of(loading("32 * x", put="x"), np.ones(1024, np.float32), FLOATS)
    loads = [(line, counters.global_load_sectors) for line, counters in lines.items() if counters.global_loads]
    stores = [(line, counters.global_store_sectors) for line, counters in lines.items() if counters.global_stores]
    assert (loads, stores) == ([(("test.cu", 4), 32)], [(("test.cu", 5), 4)])
    one, two = Counters(fmas=1, barriers=3), Counters(fmas=10, global_loads=4)
    assert one + two == Counters(fmas=11, barriers=3, global_loads=4)
    assert two * 3 == Counters(fmas=30, global_loads=12)
    assert total([one, one, two]) == one * 2 + two


NUMBERS = st.integers(0, 9)


@settings(max_examples=25)
@given(
    st.tuples(st.integers(1, 20), st.integers(1, 6), st.integers(1, 3)),
    st.tuples(NUMBERS, NUMBERS, NUMBERS, NUMBERS, NUMBERS),
    st.integers(1, 25),
)
def test_counting_agrees_with_one_thread_after_the_other(
    block: tuple[int, int, int], factors: tuple[int, int, int, int, int], limit: int
) -> None:
    """Random patterns, masks and partial warps, against sets of what each warp touches."""
    grid, steps = (3, 2), 3
    arguments = [np.ones(2048, np.float32), FLOATS, *(np.int32(value) for value in (*factors, steps, limit))]
    found = counters_of("", *arguments, grid=grid, block=block, text=ptx_of(kernel_source("strided_steps")))
    loads = requests = sectors = transactions = passes = conflicts = 0
    for by, bx, step in itertools.product(range(grid[1]), range(grid[0]), range(steps)):
        order = itertools.product(range(block[2]), range(block[1]), range(block[0]))
        indices = [
            sum(a * b for a, b in zip(factors, (x, y, z, bx, by), strict=True)) + 5 * step
            if x + y * by + z < limit
            else None
            for z, y, x in order
        ]
        for warp in (indices[first : first + 32] for first in range(0, len(indices), 32)):
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
    expected = f"""global_loads={loads} global_load_requests={requests} global_load_sectors={sectors}
    global_load_transactions_cc1x={transactions} shared_load_wavefronts={passes} shared_store_wavefronts={passes}
    shared_bank_conflicts={2 * conflicts}"""
    assert_counts(found, expected)
