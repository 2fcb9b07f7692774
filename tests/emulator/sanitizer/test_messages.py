"""A hazard names the calls that lead to its line, and what to try."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from mmcore import Kernel
from mmcore.cell import Cell
from mmcore.measure import measure
from mmcore_emulator import launch
from mmcore_emulator.adapter.device import Emulator
from mmcore_emulator.adapter.proof import prove_cell
from mmcore_emulator.adapter.prove_command import answer

WAITING = """
__device__ void wait(unsigned long long* bar, int parity)
{
    asm volatile("{ .reg .pred p; again: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1; @!p bra again; }"
                 :: "r"((unsigned)__cvta_generic_to_shared(bar)), "r"(parity) : "memory");
}
extern "C" __global__ void f(float* out)
{
    __shared__ unsigned long long full, empty;
    if (threadIdx.x == 0)
        for (auto bar : {&full, &empty})
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 32;" :: "r"((unsigned)__cvta_generic_to_shared(bar)));
    __syncthreads();
    if (threadIdx.x < 32)
        wait(&empty, 0);
    else
        wait(&full, 0);
}
"""
CLUSTER = """
extern "C" __global__ void __cluster_dims__(2) f(int steps)
{
    __shared__ int tile[64];
    __shared__ unsigned long long bar;
    unsigned rank, own = (unsigned)__cvta_generic_to_shared(&bar);
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    if (threadIdx.x == 0) asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(own) : "memory");
    BARRIER
    for (int i = 0; i < steps; i++) { if (threadIdx.x < 2)
        ARRIVE
    }
    __cluster_barrier_arrive(); __cluster_barrier_wait();
}
"""
COPYING = """
extern "C" __global__ void f(const float* from)
{
    __shared__ alignas(128) float tile[32];
    __shared__ unsigned long long full;
    unsigned bar = (unsigned)__cvta_generic_to_shared(&full), to = (unsigned)__cvta_generic_to_shared(tile);
    if (threadIdx.x == 0) asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(bar) : "memory");
    __syncthreads();
    for (int p = 0; p < 2; p++) {
        ISSUE
        asm volatile("{ .reg .pred p; again: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1; @!p bra again; }"
                     :: "r"(bar), "r"(p) : "memory");
    }
}
"""
EXPECT = 'asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 128;" :: "r"(bar) : "memory");'
COPY = """asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 128, [%2];"
    :: "r"(to), "l"(from), "r"(bar) : "memory");"""
ARRIVE = """asm volatile("{ .reg .b32 to; mapa.shared::cluster.u32 to, %0, %1;"
    "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [to]; }" :: "r"(own), "r"(threadIdx.x) : "memory");"""
READ = """{ int x; asm volatile("{ .reg .b32 to; mapa.shared::cluster.u32 to, %1, %2;"
    "ld.shared::cluster.u32 %0, [to]; }"
    : "=r"(x) : "r"((unsigned)__cvta_generic_to_shared(tile + threadIdx.x)), "r"(rank ^ 1) : "memory"); }"""
RACE = """
__device__ void store(float* to, float x) { *to = x; }
extern "C" __global__ void f(float* out)
{
    __shared__ QUALIFIER float tile[64];
    store((float*)tile + threadIdx.x, threadIdx.x);
    GUARD out[threadIdx.x] = tile[threadIdx.x ^ OTHER];
}
"""


def test_each_mbarrier_that_is_waited_for_is_reported_with_its_call() -> None:
    report = launch(WAITING, "f", grid=1, block=64, args=(np.zeros(64, np.float32),))
    lines = WAITING.splitlines()
    waits = {each.message.split()[12]: lines[each.callers[0][1] - 1].strip() for each in report.hazards}
    assert waits == {"empty": "wait(&empty, 0);", "full": "wait(&full, 0);"}
    assert all("a first wait for parity 1" in each.hint for each in report.hazards)


def test_a_first_wait_for_parity_1_is_no_hint_where_there_was_one() -> None:
    source = WAITING.replace("wait(&empty, 0);", "wait(&empty, 1), wait(&empty, 0);").replace(
        "wait(&full, 0)", "return"
    )
    (hazard,) = launch(source, "f", grid=1, block=64, args=(np.zeros(64, np.float32),)).hazards
    assert (hazard.kind, hazard.hint) == ("deadlock", "")


def test_threads_that_use_an_mbarrier_before_it_is_initialised_lack_a_barrier_of_the_block() -> None:
    source = WAITING.replace("    __syncthreads();\n", "")
    report = launch(source, "f", grid=1, block=64, args=(np.zeros(64, np.float32),))
    line = source[: source.index("wait(&full")].count("\n") + 1
    hints = {each.hint for each in report.hazards if each.kind == "shared-race"}
    assert hints == {f"__syncthreads() before line {line}, where all threads of the block reach it"}


def _cluster(barrier: str, access: str) -> str:
    """Return the source of two blocks that access the shared memory of each other in a loop."""
    return CLUSTER.replace("BARRIER", barrier).replace("ARRIVE", access)


@pytest.mark.parametrize(
    ("barrier", "place"),
    [
        ("__syncthreads();", "instead of the block's barrier in line 9"),
        ("", "behind line 8, where all threads of the cluster reach it"),
    ],
)
def test_a_cluster_that_uses_an_mbarrier_in_a_loop_lacks_a_barrier_before_the_loop(barrier: str, place: str) -> None:
    report = launch(_cluster(barrier, ARRIVE), "f", grid=2, block=64, args=(2,))
    hints = {each.hint for each in report.hazards if "with no order between them" in each.message}
    assert hints == {f"cluster.sync() {place}"}


def test_a_race_in_a_loop_of_all_threads_of_a_cluster_has_its_barrier_there() -> None:
    source = _cluster("__cluster_barrier_arrive(); __cluster_barrier_wait();", READ)
    source = source.replace("if (threadIdx.x < 2)", "tile[threadIdx.x] = i;")
    hints = {each.hint for each in launch(source, "f", grid=2, block=64, args=(2,)).hazards}
    assert "cluster.sync() before line 11" in hints


@pytest.mark.parametrize("change", ["EXPECT COPY", "if (threadIdx.x == 0) { EXPECT } COPY"])
def test_copies_that_all_threads_issue_are_left_to_one_thread(change: str) -> None:
    source = COPYING.replace("ISSUE", change).replace("EXPECT", EXPECT).replace("COPY", COPY)
    report = launch(source, "f", grid=1, block=32, args=(np.zeros(64, np.float32),))
    hints = {each.kind: each.hint for each in report.hazards}
    one, *others = [each for each in hints.values() if each]
    assert (others, one.startswith("one thread alone that "), "32 threads" in one) == ([], True, True)


def test_parity_is_no_cause_where_more_threads_arrive_than_an_mbarrier_counts() -> None:
    arrival = (
        'asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"((unsigned)__cvta_generic_to_shared(&full)));'
    )
    source = WAITING.replace("    if (threadIdx.x < 32)", f"    {arrival}\n    if (threadIdx.x < 32)")
    report = launch(source, "f", grid=1, block=64, args=(np.zeros(64, np.float32),))
    assert {each.message.split()[12]: "parity" in each.hint for each in report.hazards} == {
        "empty": True,
        "full": False,
    }


def test_the_wait_of_the_producer_comes_first_and_has_the_hint() -> None:
    report = launch(_with_a_producer(), "f", grid=1, block=64, args=(np.zeros(64, np.float32),))
    assert [each.message.split()[12] for each in report.hazards] == ["empty", "full"]
    assert ["parity 1" in each.hint for each in report.hazards] == [True, False]


def test_run_and_prove_list_the_wait_of_the_producer_first(tmp_path: Path) -> None:
    (tmp_path / "hang.cu").write_text(_with_a_producer())
    kernel = Kernel(
        name="tests.hang",
        source=tmp_path / "hang.cu",
        entry="f",
        configs=[{"block": (64,)}],
        grid=lambda *_: (1,),
        architecture="90a",
        min_compute_capability=(9, 0),
        arguments=("C",),
    )
    cell = Cell(kernel.name, 8, 8, 8, device="emulator")
    proof = prove_cell(cell, Emulator(), kernel)
    for violations in (measure(cell, Emulator(), kernel).violations, proof.reasons):
        waits = [each for each in violations if each.kind == "deadlock"]
        assert ["parity 1" in each.hint for each in waits] == [True, False]
    console = Console(width=200)
    with console.capture() as capture:
        console.print(*answer(proof, kernel))
    assert "try a first wait for parity 1" in capture.get()


def _with_a_producer() -> str:
    """Return the source of a consumer that waits before the producer in the code, which waits for a wrong parity."""
    expected = 'asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 4;"'
    expected += ':: "r"((unsigned)__cvta_generic_to_shared(&full)));'
    begin, _, _ = WAITING.partition("    if (threadIdx.x < 32)")
    return f"{begin}    if (threadIdx.x >= 32) wait(&full, 0);\n    else {{ wait(&empty, 0); {expected} }}\n}}\n"


@pytest.mark.parametrize("count", [16, 8])
def test_an_mbarrier_that_counts_fewer_threads_than_arrive_is_named_with_both_numbers(count: int) -> None:
    arrival = (
        'asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"((unsigned)__cvta_generic_to_shared(&full)));'
    )
    source = WAITING.replace(
        "    if (threadIdx.x < 32)", f"    if (threadIdx.x < 32) {arrival}\n    if (threadIdx.x < 32)"
    )
    report = launch(source.replace(", 32;", f", {count};"), "f", grid=1, block=64, args=(np.zeros(64, np.float32),))
    hints = {each.message.split()[12]: each.hint for each in report.hazards}
    assert f"32 threads arrive with no wait between, and it counts {count}" in hints["full"]
    assert "threads arrive" not in hints["empty"]


def test_an_mbarrier_that_a_helper_initialises_is_named_with_its_call() -> None:
    source = WAITING.replace("extern", "__device__ void make(unsigned long long* bar) { MAKE }\nextern").replace(
        'asm volatile("mbarrier.init', "make(bar); //"
    )
    make = 'asm volatile("mbarrier.init.shared::cta.b64 [%0], 32;" :: "r"((unsigned)__cvta_generic_to_shared(bar)));'
    source = source.replace("MAKE", make)
    report = launch(source, "f", grid=1, block=64, args=(np.zeros(64, np.float32),))
    line = next(number for number, text in enumerate(source.splitlines(), 1) if "make(bar); //" in text)
    assert len(report.hazards) == 2
    assert all(re.search(rf"\(initialised at \S+:\d+, called at \S+:{line}\)", each.message) for each in report.hazards)


BARRIERS = """
__device__ void meet(int threads) { asm volatile("bar.sync 1, %0;" :: "r"(threads)); }
extern "C" __global__ void f(float* out)
{
    if (threadIdx.x < 32)
        meet(64);
    else
        meet(32);
    if (threadIdx.x < 32)
        meet(64);
    else
        meet(32);
}
"""


def test_barriers_in_a_helper_are_reported_for_each_of_its_calls() -> None:
    report = launch(BARRIERS, "f", grid=1, block=64, args=(np.zeros(64, np.float32),))
    lines = BARRIERS.splitlines()
    assert {each.kind for each in report.hazards} == {"barrier-count"}
    called = sorted(each.callers[0][1] for each in report.hazards)
    assert len(called) > 1
    assert all("meet(32)" in lines[line - 1] for line in called)


@pytest.mark.parametrize(
    ("qualifier", "guard", "other", "block", "hint"),
    [
        ("", "", 32, 64, "__syncthreads() before line 7"),
        ("", "", 1, 32, "__syncwarp() before line 7"),
        ("", "if (threadIdx.x < 32)", 1, 64, "__syncwarp() before line 7"),
        ("", "if (threadIdx.x % 2)", 1, 64, "__syncthreads() before line 7, where all threads of the block reach it"),
        ("volatile", "if (threadIdx.x % 2)", 1, 32, "a barrier before line 7 that all threads of the warp reach"),
        ("", "if (threadIdx.x % 2)", 32, 64, "__syncthreads() before line 7, where all threads of the block reach it"),
        (
            "",
            'if (threadIdx.x < 32) asm volatile("bar.sync 1, 32;"); if (threadIdx.x < 32)',
            32,
            64,
            "an arrival behind line 6 at a barrier or mbarrier that is waited for before line 7",
        ),
        ("volatile", "", 1, 64, "__syncwarp() before line 7"),
    ],
)
def test_a_race_within_a_block_suggests_a_barrier(
    qualifier: str, guard: str, other: int, block: int, hint: str
) -> None:
    source = RACE.replace("QUALIFIER", qualifier).replace("GUARD", guard).replace("OTHER", str(other))
    report = launch(source, "f", grid=1, block=block, args=(np.zeros(64, np.float32),))
    assert [each.hint for each in report.hazards] == [hint]


@pytest.mark.parametrize(
    ("threads", "end", "hint"), [(24, 64, "__syncthreads()"), (32, 64, "__syncthreads()"), (32, 32, "__syncwarp()")]
)
def test_a_race_of_several_warps_is_reported_rather_than_an_earlier_one_of_a_warp(
    threads: int, end: int, hint: str
) -> None:
    loop = f"if (threadIdx.x < {threads}) for (int i = 0; i < {end}; i++) out[threadIdx.x] += tile[i]; //"
    source = RACE.replace("QUALIFIER", "").replace("GUARD", loop)
    (race,) = launch(source, "f", grid=1, block=64, args=(np.zeros(64, np.float32),)).hazards
    assert race.hint.partition(" before line 7")[0] == hint
