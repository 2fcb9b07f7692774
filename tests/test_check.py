"""What a check finds, and what it finds nothing wrong with."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

import mmcore
import mmcore_emulator
from mmcore import Cell, Config, Dim3, Kernel
from mmcore.devices.base import Device
from mmcore.devices.violations import Violation
from mmcore.errors import TimeLimit
from mmcore_emulator import Check
from mmcore_emulator.adapter.check import check_cell
from tests.modern import BF16_PANEL, SPLIT_K
from tests.own_kernel import FIRST_LINE, own
from tests.test_kernels import KERNELS


def check(kernel: str | Kernel, size: int = 32, **options: Any) -> Check:
    return mmcore_emulator.check(kernel, size, device="emulator", **options)


def found(cu_file: Path, body: str, *, size: int = 32, **declared: Any) -> list[Violation]:
    """What is wrong with a kernel of the test's own, but for elements of C that it leaves unwritten."""
    violations = check(own(cu_file, body, **declared), size).violations
    return [violation for violation in violations if violation.kind != "unwritten-output"]


def only(violations: list[Violation], kind: str) -> Violation:
    (violation,) = violations
    assert violation.kind == kind
    return violation


def line_with(kernel: Kernel, text: str) -> int:
    (number,) = (number for number, line in enumerate(kernel.source_text().splitlines(), 1) if text in line)
    return number


@pytest.mark.parametrize(
    ("kernel", "config"),
    [(kernel, config) for kernel in KERNELS for config in kernel.usual_configs],
    ids=lambda value: value.name if isinstance(value, Kernel) else value.id,
)
def test_nothing_is_wrong_with_a_lectures_kernel_where_its_rule_allows_it(kernel: Kernel, config: Config) -> None:
    size = kernel.square_problem(config.block.x + config.block.x // 2, config).n
    assert check(kernel, size, config=config.to_json()).violations == ()


@pytest.mark.parametrize("sizes", [(33, 17, 9), (1, 40, 70), (65, 1, 33)])
def test_nothing_is_wrong_with_kernel11_at_sizes_with_remainders(sizes: tuple[int, int, int]) -> None:
    m, n, k = sizes
    assert mmcore_emulator.check("upc.kernel11", m=m, n=n, k=k, block=16, device="emulator").violations == ()


@pytest.mark.parametrize(
    # CUDA's headers of bfloat16 take seconds to compile.
    "kernel",
    [SPLIT_K, pytest.param(BF16_PANEL, marks=pytest.mark.slow)],
    ids=lambda kernel: kernel.name,
)
def test_nothing_is_wrong_with_several_launches_and_leading_dimensions(kernel: Kernel) -> None:
    leading: dict[str, Any] = {"lda": 50, "ldb": 60, "ldc": 70} if kernel.strided else {}
    assert mmcore_emulator.check(kernel, m=33, n=52, k=40, device="emulator", **leading).violations == ()


def test_a_check_at_128_takes_less_than_10_seconds() -> None:
    begin = time.perf_counter()
    assert check("upc.kernel11", 128).violations == ()
    assert time.perf_counter() - begin < 10


def test_kernel10_forced_to_65_reads_beyond_a_and_writes_beyond_c() -> None:
    kernel = mmcore.kernels()["upc.kernel10"]
    violations = check(kernel, 65, block=32, force=True).violations
    load, store = line_with(kernel, "= A[row * k"), line_with(kernel, "C[row * n + column] = sum;")
    assert {(violation.kind, violation.array, violation.source, violation.line) for violation in violations} == {
        ("out-of-bounds-read", "A", "kernel10.cu", load),
        ("out-of-bounds-write", "C", "kernel10.cu", store),
        # Columns beyond C are the next row's, which has threads of its own.
        ("global-race", "C", "kernel10.cu", store),
    }
    by_kind = {violation.kind: violation for violation in violations}
    # The grid has 96 rows of threads. Two steps read columns 0 to 63 of A's 65. Row 65 lies behind A, and of row 64
    # everything inside: 31 rows of 96 threads lie outside.
    assert by_kind["out-of-bounds-read"].count == 31 * 96
    # C ends with element 65·65 - 1 = 64·65 + 64. Of row 64, columns 65 to 95 lie behind it, and all of the rows below.
    assert by_kind["out-of-bounds-write"].count == 31 + 31 * 96
    assert by_kind["out-of-bounds-read"].block == Dim3(0, 2, 0)
    assert by_kind["out-of-bounds-read"].thread == Dim3(0, 1, 0)


def test_kernel11_naive_guard_forced_to_65_reads_what_threads_that_have_left_should_have_loaded() -> None:
    kernel = mmcore.kernels()["upc.kernel11_naive_guard"]
    checked = check(kernel, 65, block=32, force=True)
    assert {violation.kind for violation in checked.violations} == {"uninitialized-read"}
    text = kernel.source_text().splitlines()
    assert {text[(warning.line or 0) - 1].strip() for warning in checked.warnings} == {"__syncthreads();"}
    # Blocks at the edge: 2 of 32 × 1 threads, 2 of 1 × 32 and the corner of 1 × 1 come to the barriers, the others do
    # not.
    assert {(warning.kind, warning.count) for warning in checked.warnings} == {
        ("skipped-barrier", 4 * (1024 - 32) + 1024 - 1)
    }


def without(kernel: Kernel, path: Path, number: int) -> Kernel:
    """The kernel with one line of its source left empty."""
    lines = kernel.source_text().splitlines()
    assert "__syncthreads();" in lines[number - 1]
    path.write_text("\n".join([*lines[: number - 1], "", *lines[number:]]))
    return replace(kernel, source=path)


@pytest.mark.parametrize("name", ["poznan.v3", "poznan.v5"])
@pytest.mark.parametrize("block", [8, 16])
def test_a_missing_barrier_is_a_race_between_the_lines_that_store_a_tile_and_those_that_read_it(
    name: str, block: int, cu_file: Path
) -> None:
    kernel = mmcore.kernels()[name]
    text = kernel.source_text().splitlines()
    first, second = (number for number, line in enumerate(text, 1) if "__syncthreads();" in line)
    stores = {number for number, line in enumerate(text, 1) if line.strip().startswith("tile_") and "] = " in line}
    sums = {number for number, line in enumerate(text, 1) if line.strip().startswith("sum") and "+=" in line}
    for barrier, later, earlier in ((first, sums, stores), (second, stores, sums)):
        violations = check(without(kernel, cu_file, barrier), 4 * block, block=block).violations
        assert {(violation.kind, violation.array, violation.source) for violation in violations} == {
            ("shared-race", "shared", "kernel.cu")
        }
        assert {violation.line for violation in violations} <= later
        if barrier == second:
            assert {violation.line for violation in violations} == stores
        named = {int(violation.message.partition(" at kernel.cu:")[2].partition(",")[0]) for violation in violations}
        assert named <= earlier
        assert all("with no barrier between them" in violation.message for violation in violations)
        assert any("tile_a" in violation.message for violation in violations)
        assert any("tile_b" in violation.message for violation in violations)


NEIGHBOURS = """
    __shared__ float tile[64];
    tile[threadIdx.x] = A[threadIdx.x];
    {barrier}
    C[threadIdx.x] = tile[threadIdx.x ^ {distance}];
"""


@pytest.mark.parametrize(
    ("barrier", "distance", "races"),
    [
        ("", 0, False),
        ("", 1, True),  # of one warp, but nothing says that it stays together
        ("__syncwarp();", 1, False),
        ("__syncwarp();", 32, True),
        ("__syncthreads();", 1, False),
        ("__syncthreads();", 32, False),
    ],
)
def test_shared_memory_wants_a_barrier_between_threads(cu_file: Path, barrier: str, distance: int, races: bool) -> None:
    violations = found(cu_file, NEIGHBOURS.format(barrier=barrier, distance=distance), block=(64,))
    if races:
        violation = only(violations, "shared-race")
        assert (violation.line, violation.count) == (FIRST_LINE + 4, 64)
        assert f"at kernel.cu:{FIRST_LINE + 2}, with no barrier" in violation.message
        assert "reads element" in violation.message
    else:
        assert violations == []


HALVES = "threadIdx.x % 32 < 16 ? 0x0000ffffu : 0xffff0000u"


@pytest.mark.parametrize(
    ("barrier", "distance", "races"),
    [
        (f"__syncwarp({HALVES});", 15, 0),
        (f"__syncwarp({HALVES});", 16, 64),
        ("if (threadIdx.x % 32 < 16) __syncwarp(0xffff); else __syncwarp(0xffff0000);", 15, 0),
        ("if (threadIdx.x % 32 < 16) __syncwarp(0xffff); else __syncwarp(0xffff0000);", 31, 64),
        ("if (threadIdx.x % 32 < 16) __syncwarp(); else __syncwarp();", 31, 0),
        ("if (threadIdx.x < 16) __syncwarp(0xffff);", 1, 48),
        ("if (threadIdx.x % 32 < 16) __syncwarp(0xffff); __syncwarp();", 31, 0),
        (f"__syncwarp(); __syncwarp({HALVES});", 31, 0),
        (f"__syncwarp({HALVES}); __syncthreads();", 63, 0),
        (f"__syncwarp({HALVES});", 32, 64),
    ],
)
def test_a_warps_barrier_orders_only_those_whom_its_mask_names(
    cu_file: Path, barrier: str, distance: int, races: int
) -> None:
    violations = found(cu_file, NEIGHBOURS.format(barrier=barrier, distance=distance), block=(64,))
    if races:
        violation = only(violations, "shared-race")
        assert (violation.line, violation.count) == (FIRST_LINE + 4, races)
    else:
        assert violations == []


def test_a_thread_that_a_warps_barrier_has_put_in_order_is_not_said_to_race(cu_file: Path) -> None:
    """Element 0 is read by all, and written by thread 5, which has waited for threads 0 to 15."""
    body = """
    __shared__ volatile float s[1];
    if (threadIdx.x == 0) s[0] = A[0];
    __syncthreads();
    C[threadIdx.x] = s[0];
    if (threadIdx.x < 16) __syncwarp(0xffff);
    if (threadIdx.x == 5) s[0] = A[1];
    """
    violation = only(found(cu_file, body), "shared-race")
    assert (violation.line, violation.thread, violation.count) == (FIRST_LINE + 6, Dim3(5, 0, 0), 1)
    assert f"which thread (16, 0) of block (0, 0) reads at kernel.cu:{FIRST_LINE + 4}" in violation.message


def test_a_warps_barrier_in_a_last_warp_that_is_not_full(cu_file: Path) -> None:
    body = NEIGHBOURS.format(barrier="__syncwarp();", distance=1)
    assert found(cu_file, body, block=(40,)) == []
    body = NEIGHBOURS.format(barrier="if (threadIdx.x >= 38) return; __syncwarp();", distance=1)
    assert found(cu_file, body, block=(40,)) == []


def test_who_comes_to_a_warps_barrier_must_be_named_by_its_mask(cu_file: Path) -> None:
    violations = found(cu_file, NEIGHBOURS.format(barrier="__syncwarp(0x0000ffff);", distance=1), block=(64,))
    barrier, race = sorted(violations, key=lambda violation: violation.kind)
    assert (barrier.kind, barrier.line, barrier.count) == ("divergent-barrier", FIRST_LINE + 3, 32)
    assert barrier.thread == Dim3(16, 0, 0)
    assert "with the mask 0x0000ffff, which does not name it" in barrier.message
    assert (race.kind, race.thread, race.count) == ("shared-race", Dim3(16, 0, 0), 32)


def test_whom_the_mask_of_a_warps_barrier_names_must_come_to_it(cu_file: Path) -> None:
    barrier = "if (threadIdx.x < 8) __syncwarp(0x1ff);\n__syncthreads();"
    violations = found(cu_file, NEIGHBOURS.format(barrier=barrier, distance=1))
    violation = next(each for each in violations if "mask" in each.message)
    assert {each.kind for each in violations} >= {"deadlock"}
    assert (violation.line, violation.thread, violation.count) == (FIRST_LINE + 3, Dim3(0, 0, 0), 8)
    assert "with the mask 0x000001ff, and not all whom that names come" in violation.message


def test_neighbouring_bytes_are_no_race(cu_file: Path) -> None:
    body = """
    __shared__ unsigned char bytes[32];
    bytes[threadIdx.x] = threadIdx.x;
    C[threadIdx.x] = bytes[threadIdx.x];
    """
    assert found(cu_file, body) == []


def test_a_vector_races_with_any_of_its_elements(cu_file: Path) -> None:
    body = """
    __shared__ __align__(16) float tile[128];
    ((float4*)tile)[threadIdx.x] = ((const float4*)A)[threadIdx.x];
    C[threadIdx.x] = tile[threadIdx.x + 3];
    """
    violation = only(found(cu_file, body), "shared-race")
    # Thread 0 reads element 3 and thread 1 element 4, which they have written themselves.
    assert (violation.count, violation.thread) == (30, Dim3(2, 0, 0))
    assert "reads element 5 of tile, which thread (1, 0) of block (0, 0) writes" in violation.message


def test_a_shared_element_that_nobody_wrote_is_not_read_in_silence(cu_file: Path) -> None:
    body = """
    __shared__ float tile[64];
    if (threadIdx.x < 30) tile[threadIdx.x] = A[threadIdx.x];
    __syncthreads();
    C[threadIdx.x + 32 * blockIdx.x] = tile[threadIdx.x];
    """
    violation = only(found(cu_file, body, grid=(3,)), "uninitialized-read")
    assert (violation.array, violation.thread, violation.count) == ("shared", Dim3(30, 0, 0), 2 * 3)
    assert "reads element 30 of tile, where nothing has been written" in violation.message


def test_shared_memory_is_new_in_every_block(cu_file: Path) -> None:
    body = """
    __shared__ float tile[32];
    if (blockIdx.x == 0) tile[threadIdx.x] = A[0];
    __syncthreads();
    C[threadIdx.x + 32 * blockIdx.x] = tile[threadIdx.x];
    """
    assert only(found(cu_file, body, grid=(2,)), "uninitialized-read").block == Dim3(1, 0, 0)


def test_beyond_a_shared_array_nobody_may_go(cu_file: Path) -> None:
    body = """
    __shared__ float tile[32];
    tile[threadIdx.x] = A[0];
    tile[threadIdx.x + n - 31] = A[1];
    C[threadIdx.x] = tile[threadIdx.x];
    """
    violations = found(cu_file, body)
    (outside,) = (violation for violation in violations if violation.kind == "out-of-bounds-write")
    assert (outside.array, outside.thread, outside.count) == ("shared", Dim3(31, 0, 0), 1)


def test_c_is_not_there_before_it_is_written_unless_the_kernel_adds_to_it(cu_file: Path) -> None:
    body = "C[threadIdx.x] += A[threadIdx.x];"
    violation = only(found(cu_file, body), "uninitialized-read")
    assert (violation.array, violation.line, violation.count) == ("C", FIRST_LINE, 32)
    assert found(cu_file, body, beta=1) == []


def test_the_room_behind_a_matrix_may_be_read_as_long_as_nothing_comes_of_it(cu_file: Path) -> None:
    body = "float value = A[threadIdx.x + n * n - 16]; C[threadIdx.x] = threadIdx.x < {limit} ? 2.0f * value : 0.0f;"
    assert found(cu_file, body.format(limit=16), over_read={"A": 16}) == []
    violation = only(found(cu_file, body.format(limit=18), over_read={"A": 16}), "uninitialized-read")
    assert (violation.array, violation.count, violation.line) == ("C", 2, 3)
    assert "thread (16, 0) of block (0, 0) reads a value that was never set" in violation.message
    both = found(cu_file, body.format(limit=18), over_read={"A": 15})
    assert {each.kind: each.count for each in both} == {"out-of-bounds-read": 1, "uninitialized-read": 2}


def test_what_was_read_behind_a_matrix_and_copied_as_it_is_has_reached_c(cu_file: Path) -> None:
    kernel = own(cu_file, "int i = threadIdx.x + n * blockIdx.x; C[i] = A[i + 4];", grid=(32,), over_read={"A": 4})
    violation = only(list(check(kernel).violations), "uninitialized-read")
    assert (violation.array, violation.count, violation.line) == ("C", 4, 3)
    assert "thread (28, 0) of block (31, 0) reads a value that was never set" in violation.message


def test_a_sum_that_begins_with_nothing_has_reached_c(cu_file: Path) -> None:
    body = """
    float sum{begin};
    for (int p = 0; p < n; ++p) sum += A[blockIdx.x * n + p] * B[p * n + threadIdx.x];
    C[blockIdx.x * n + threadIdx.x] = sum;
    """
    assert found(cu_file, body.format(begin=" = 0"), grid=(32,)) == []
    violation = only(found(cu_file, body.format(begin=""), grid=(32,)), "uninitialized-read")
    assert (violation.array, violation.count, violation.line) == ("C", 32 * 32, 6)
    assert "stores to C a value that depends on one that was never set" in violation.message


def test_threads_of_different_blocks_race_whatever_barriers_they_pass(cu_file: Path) -> None:
    body = "C[blockIdx.x] = A[0]; __syncthreads(); C[64 + 32 * blockIdx.x + threadIdx.x] = C[{index}];"
    violation = only(found(cu_file, body.format(index="blockIdx.x ^ 1"), grid=(2,), block=(1,)), "global-race")
    assert "with no order between them" in violation.message
    assert found(cu_file, body.format(index="blockIdx.x"), grid=(2,), block=(1,)) == []


def test_threads_of_one_block_do_not_race_across_a_barrier(cu_file: Path) -> None:
    body = "C[threadIdx.x] = A[0]; {barrier} C[threadIdx.x + 32] = C[threadIdx.x ^ 1];"
    assert found(cu_file, body.format(barrier="__syncthreads();")) == []
    violation = only(found(cu_file, body.format(barrier="")), "global-race")
    assert "with no barrier between them" in violation.message
    assert violation.count == 32


NON_COHERENT = """
    const int i = threadIdx.x;
    float value = A[i];
    {before}
    asm volatile("ld.global.nc.f32 %0, [%1];" : "=f"(value) : "l"({address}));
    C[i] = value + 2.0f;
"""


@pytest.mark.parametrize(
    ("before", "writer", "count"),
    [
        ("C[i] = value;", "thread (0, 0) of block (0, 0) writes", 32),
        ("C[i ^ 1] = value; __syncthreads();", "thread (1, 0) of block (0, 0) writes", 32),
        ("if (i == 7) C[i] = value;", "thread (7, 0) of block (0, 0) writes", 1),
        ("atomicAdd(C + i, value);", "thread (0, 0) of block (0, 0) adds to", 32),
    ],
)
def test_what_the_launch_has_written_is_not_read_through_the_non_coherent_cache(
    cu_file: Path, before: str, writer: str, count: int
) -> None:
    violations = found(cu_file, NON_COHERENT.format(before=before, address="C + i"), beta=1)
    violation = only(violations, "global-race")
    assert (violation.array, violation.line, violation.count) == ("C", FIRST_LINE + 4, count)
    assert f"(ld.global.nc.f32), which {writer} at kernel.cu:{FIRST_LINE + 3}, in the same launch" in violation.message


@pytest.mark.parametrize(
    ("before", "address"),
    [("", "C + i"), ("C[i + n] = value;", "C + i"), ("C[i] = value;", "A + i")],
    ids=["before it is written", "beside what is written", "of an input"],
)
def test_what_the_launch_has_not_written_may_be_read_through_the_non_coherent_cache(
    cu_file: Path, before: str, address: str
) -> None:
    violations = found(cu_file, NON_COHERENT.format(before=before, address=address), beta=1)
    assert violations == []


def test_a_store_races_with_an_earlier_read(cu_file: Path) -> None:
    body = "float value = ((volatile float*)C)[threadIdx.x ^ 1]; C[threadIdx.x] = value + 1.0f;"
    violation = only(found(cu_file, body, beta=1), "global-race")
    assert " writes element 0 of C, which thread (1, 0) of block (0, 0) reads" in violation.message


def test_a_thread_is_not_said_to_race_with_itself(cu_file: Path) -> None:
    """All threads read element 0; thread 0, which stores there, is one of them, and the first."""
    body = "float value = ((volatile float*)C)[0];\nif (threadIdx.x == 0) C[0] = value + 1.0f;"
    violation = only(found(cu_file, body, beta=1), "global-race")
    assert (violation.thread, violation.count) == (Dim3(0, 0, 0), 1)
    assert "thread (0, 0) of block (0, 0) reads" not in violation.message


def test_threads_that_write_one_element_at_once_race(cu_file: Path) -> None:
    violation = only(found(cu_file, "C[threadIdx.x / 2] = A[threadIdx.x];"), "global-race")
    assert violation.count == 32
    assert "as other threads do at once" in violation.message


def test_atomics_do_not_race_with_each_other_but_with_all_else(cu_file: Path) -> None:
    add = "atomicAdd(C + threadIdx.x % 4, A[threadIdx.x]);"
    assert found(cu_file, add, grid=(3,), beta=1) == []
    read = found(cu_file, f"{add} C[threadIdx.x + 4] = C[0];", beta=1)
    assert "adds to" in only(read, "global-race").message
    write = found(cu_file, f"if (threadIdx.x == 9) C[3] = 0.0f;\n{add}", beta=1)
    assert only(write, "global-race").line == FIRST_LINE + 1


def test_an_atomic_races_with_an_earlier_read(cu_file: Path) -> None:
    body = "float value = ((volatile float*)C)[threadIdx.x ^ 1];\natomicAdd(C + threadIdx.x, value);"
    violation = only(found(cu_file, body, beta=1), "global-race")
    assert violation.line == FIRST_LINE + 1
    assert "adds to element 0 of C, which thread (1, 0) of block (0, 0) reads" in violation.message


def test_a_warps_barrier_orders_only_those_who_come_to_it(cu_file: Path) -> None:
    body = NEIGHBOURS.format(barrier="if (threadIdx.x < 32) __syncwarp();", distance=1)
    violation = only(found(cu_file, body, block=(64,)), "shared-race")
    assert (violation.thread, violation.count) == (Dim3(32, 0, 0), 32)


def test_a_result_that_another_thread_may_store_over_is_a_race_and_no_more(cu_file: Path) -> None:
    body = "C[threadIdx.x] = A[0];\nC[threadIdx.x ^ 1] = A[1];"
    violation = only(found(cu_file, body), "global-race")
    assert (violation.line, violation.count) == (FIRST_LINE + 1, 32)


def test_adding_to_what_nobody_wrote_is_reading_it(cu_file: Path) -> None:
    assert only(found(cu_file, "atomicAdd(C + threadIdx.x, 1.0f);"), "uninitialized-read").array == "C"


def test_what_is_added_to_zeros_is_not_read_unwritten(cu_file: Path) -> None:
    assert not found(cu_file, "atomicAdd(C + threadIdx.x, 1.0f);", initial_c="zeros")


def test_a_misaligned_access(cu_file: Path) -> None:
    body = "float2 pair = ((const float2*)(A + 1))[threadIdx.x]; C[threadIdx.x] = pair.x + pair.y;"
    violation = only(found(cu_file, body), "misaligned")
    assert (violation.array, violation.count) == ("A", 32)


def test_elements_that_nobody_writes_are_counted_and_the_first_is_named(cu_file: Path) -> None:
    kernel = own(cu_file, "for (int row = 1; row < n; ++row) C[row * n + threadIdx.x] = A[0];")
    violation = only(list(check(kernel).violations), "unwritten-output")
    assert (violation.array, violation.count, violation.line, violation.thread) == ("C", 32, None, None)
    assert "element (0, 0) of C" in violation.message


def test_a_result_that_is_stored_over_unread_is_lost(cu_file: Path) -> None:
    body = "volatile float* c = C + threadIdx.x;\nc[0] = A[0];\nc[0] = {again};"
    checked = check(own(cu_file, body.format(again="A[1]")))
    violation = only(list(checked.warnings), "overwritten-output")
    assert (violation.line, violation.count) == (FIRST_LINE + 2, 32)
    assert {violation.kind for violation in checked.violations} == {"unwritten-output"}
    assert found(cu_file, body.format(again="c[0] + A[1]")) == [], "a sum that grows in its place"


def test_every_thread_that_does_it_is_counted_once_in_any_number_of_batches(cu_file: Path) -> None:
    body = "for (int i = 0; i < 5; ++i) C[threadIdx.x] += A[n * n + i + blockIdx.x % 2];"
    violations = found(cu_file, body, grid=(100,), block=(512,), beta=1, size=32)
    (outside,) = (
        violation for violation in violations if violation.kind == "out-of-bounds-read" and violation.array == "A"
    )
    assert outside.count == 100 * 512
    assert (outside.block, outside.thread) == (Dim3(0, 0, 0), Dim3(0, 0, 0))


def test_launches_come_one_after_the_other() -> None:
    """The second reads what other blocks of the first have written."""
    assert mmcore_emulator.check(SPLIT_K, 32, device="emulator").violations == ()


def test_json_is_a_kernel_and_its_findings() -> None:
    document = json.loads(json.dumps(check("upc.kernel00", 65, block=32, force=True).to_json(), allow_nan=False))
    assert document["kernel"] == "upc.kernel00"
    (violation,) = document["violations"]
    assert violation.keys() == {"kind", "array", "source", "line", "block", "thread", "count", "message", "fatal"}
    assert (violation["kind"], violation["count"], violation["line"]) == ("unwritten-output", 129, None)


def test_a_check_is_a_value_that_goes_through_json() -> None:
    found = check("upc.kernel10", 65, block=32, force=True)
    assert Check.from_json(json.loads(json.dumps(found.to_json(), allow_nan=False))) == found
    assert found.violations


def test_a_device_that_cannot_look_is_refused_in_a_sentence() -> None:
    device = cast(Device, SimpleNamespace(name="cuda:0"))
    with pytest.raises(mmcore.NoDevice, match=r"^cuda:0 cannot look for hazards"):
        check_cell(Cell("upc.kernel01", 8, 8, 8), device)


def test_a_time_limit_is_an_error_that_says_how_long_the_whole_would_take() -> None:
    pattern = r"^thread .* was still running after 0.3 s at kernel01.cu:\d+; .* would take (about|at least) [\d.]+ s$"
    with pytest.raises(TimeLimit, match=pattern):
        check("upc.kernel01", 1500, block=32, timeout=0.3)


def test_an_input_that_is_written_and_restored_is_told(cu_file: Path) -> None:
    body = "float* a = const_cast<float*>(A) + threadIdx.x;\nconst float kept = *a;\n*a = 0.0f;\n*a = kept;"
    violations = found(cu_file, body.replace("*a = 0.0f;", "*(volatile float*)a = 0.0f;"))
    assert {(each.kind, each.array, each.line) for each in violations} == {
        ("input-overwritten", "A", FIRST_LINE + 2),
        ("input-overwritten", "A", FIRST_LINE + 3),
    }
