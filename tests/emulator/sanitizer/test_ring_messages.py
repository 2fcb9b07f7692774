"""Hazards of a ring of buffers in shared memory name the arrivals, the bytes and the waits that are wrong."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from mmcore_emulator import Report, launch
from tests.emulator.kernels import kernel_source
from tests.emulator.sanitizer.corpus import FOLDER, cases

RING = """
__device__ void arrive(unsigned long long* bar)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"((unsigned)__cvta_generic_to_shared(bar)) : "memory");
}
__device__ void wait(unsigned long long* bar, int parity)
{
    asm volatile("{ .reg .pred p; again: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1; @!p bra again; }"
                 :: "r"((unsigned)__cvta_generic_to_shared(bar)), "r"(parity) : "memory");
}
extern "C" __global__ void f(float* out)
{
    __shared__ float tile[64];
    __shared__ unsigned long long full, empty;
    if (threadIdx.x == 0)
        for (auto bar : {&full, &empty})
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 64;" :: "r"((unsigned)__cvta_generic_to_shared(bar)));
    __syncthreads();
    for (int step = 0; step < 4; ++step) {
        if (step)
            wait(&empty, (step - 1) % 2);
        tile[threadIdx.x] = step;
        arrive(&full);
        wait(&full, step % 2);
        EARLY
        out[threadIdx.x] += tile[63 - threadIdx.x];
        LATE
    }
}
"""


@pytest.mark.parametrize("early", ["arrive(&empty);", "if (threadIdx.x % 2) arrive(&empty); else arrive(&empty);"])
def test_a_race_behind_an_early_arrival_names_the_lines_of_both(early: str) -> None:
    lines = RING.splitlines()
    arrival, read = (next(n for n, text in enumerate(lines, 1) if word in text) for word in ("EARLY", "out[thr"))
    report = launch(RING.replace("EARLY", early).replace("LATE", ""), "f", grid=1, block=64, args=(np.zeros(64, "f4"),))
    hint = f"the arrival at the mbarrier of line {arrival} behind line {read}, not before it"
    assert [each.hint for each in report.hazards] == [hint]
    right = launch(RING.replace("EARLY", "").replace("LATE", early), "f", grid=1, block=64, args=(np.zeros(64, "f4"),))
    assert not right.hazards


def test_a_race_without_an_early_arrival_asks_for_an_arrival_and_a_wait() -> None:
    source = RING.replace("EARLY", "").replace("LATE", "arrive(&empty);").replace("if (step)", "if (step > 4)")
    report = launch(source, "f", grid=1, block=64, args=(np.zeros(64, "f4"),))
    assert report.hazards
    assert not any("arrival at the mbarrier of line" in each.hint for each in report.hazards)


def test_an_arrival_before_both_accesses_of_a_race_is_not_named() -> None:
    end = "    tile[threadIdx.x] = 4;\n    out[threadIdx.x] += tile[63 - threadIdx.x];\n}\n"
    ring = RING.replace("EARLY", "").replace("LATE", "if (threadIdx.x < 64) arrive(&empty);")
    report = launch(ring.removesuffix("}\n") + end, "f", grid=1, block=64, args=(np.zeros(64, "f4"),))
    assert report.hazards
    assert not any("arrival at the mbarrier of line" in each.hint for each in report.hazards)


_BEHIND = r"the arrival at the mbarrier of line (\d+) behind wgmma\.wait_group in line \1, not before it"
_BEFORE = r"wgmma\.wait_group 0 by the whole warpgroup before every arrival at the mbarrier of line \d+"


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("a thread arrives before its wait", _BEHIND),
        ("a thread arrives, and its warpgroup waits behind the loop", _BEFORE),
        ("a thread arrives, and its warpgroup waits for no group", _BEFORE),
        ("a refill by another warp", ""),
    ],
)
def test_an_arrival_before_the_wait_for_wgmma_is_named(name: str, hint: str, tmp_path: Path) -> None:
    (case,) = (case for case in cases(FOLDER / "wgmma_refills.cu") if case.name == name)
    (hazard,), _ = case.check(tmp_path)
    assert re.fullmatch(hint, hazard.hint), hazard.hint


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("the other parity", "the other parity"),
        ("the other parity of a refill", "a parity that changes with each round"),
    ],
)
def test_a_wait_that_ends_at_once_has_the_parity_of_a_consumer_or_producer(
    name: str, hint: str, tmp_path: Path
) -> None:
    (case,) = (case for case in cases(FOLDER / "producer_and_consumers.cu") if case.name == name)
    hazards, _ = case.check(tmp_path)
    (early,) = (each for each in hazards if each.kind == "early-wait")
    assert early.hint.startswith(hint)


FILLING = """
#define ADDRESS(p) ((unsigned)__cvta_generic_to_shared(p))
extern "C" __global__ void f(float* out)
{
    __shared__ alignas(16) float tile[64];
    __shared__ unsigned long long full;
    if (threadIdx.x == 0)
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1; fence.mbarrier_init.release.cluster;"
                     :: "r"(ADDRESS(&full)));
    __syncthreads();
    if (threadIdx.x == 0)
        for (int i = 0; i < TIMES; ++i) {
            asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(ADDRESS(&full)), "r"(BYTES));
            for (int part = 0; part < 64; part += 32)
                asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 128, [%2];"
                             :: "r"(ADDRESS(tile + part)), "l"(out + part), "r"(ADDRESS(&full)) : "memory");
        }
    asm volatile("{ .reg .pred p; again: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0; @!p bra again; }"
                 :: "r"(ADDRESS(&full)) : "memory");
    out[threadIdx.x + 64] = tile[threadIdx.x];
}
"""

# The thread waits for another mbarrier before it expects bytes, as a producer does until a buffer is empty.
WAITING_FILLING = (
    FILLING.replace("long full;", "long full, empty;")
    .replace('fence.mbarrier_init.release.cluster;"', 'mbarrier.init.shared::cta.b64 [%1], 1;"')
    .replace('"r"(ADDRESS(&full)));\n    __sync', '"r"(ADDRESS(&full)), "r"(ADDRESS(&empty)));\n    __sync')
    .replace(
        "++i) {\n",
        """++i) {
            asm volatile("{ .reg .pred p; more: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], 1; @!p bra more; }"
                         :: "r"(ADDRESS(&empty)) : "memory");
""",
    )
)


def _filled(times: int, nbytes: int) -> Report:
    source = FILLING.replace("TIMES", str(times)).replace("BYTES", str(nbytes))
    return launch(source, "f", grid=1, block=64, args=(np.zeros(128, np.float32),))


def test_an_mbarrier_that_expects_fewer_bytes_than_come_is_named_with_both_numbers() -> None:
    line = next(n for n, text in enumerate(FILLING.splitlines(), 1) if "expect_tx" in text)
    (hazard,) = _filled(1, 128).hazards
    assert hazard.kind == "unfinished-copy"
    assert re.search(rf"its mbarrier expects 128 bytes at \S+:{line}, and 256 come", hazard.message), hazard.message
    assert not _filled(1, 256).hazards


def test_an_mbarrier_that_expects_a_part_of_a_copy_is_the_cause_of_a_deadlock() -> None:
    (hazard,) = (each for each in _filled(1, 192).hazards if each.kind == "deadlock")
    line = next(n for n, text in enumerate(FILLING.splitlines(), 1) if "expect_tx" in text)
    assert re.fullmatch(rf"to expect all bytes that the copies of a phase bring at \S+:{line}", hazard.hint)


def test_an_mbarrier_that_expects_more_bytes_than_come_is_the_cause_of_a_deadlock() -> None:
    hazards = _filled(1, 512).hazards
    assert {each.kind for each in hazards} == {"deadlock"}
    assert hazards[0].hint.startswith("to expect 256 bytes less in that phase at ")


def test_copies_that_bring_their_bytes_to_another_mbarrier_are_named_with_it() -> None:
    astray = '"r"(ADDRESS(part ? &empty : &full)) : "memory"'
    source = WAITING_FILLING.replace('"r"(ADDRESS(&full)) : "memory");\n        }', f"{astray});\n        }}")
    source = source.replace("TIMES", "1").replace("BYTES", "256")
    (deadlock,) = launch(source, "f", grid=1, block=64, args=(np.zeros(128, np.float32),)).hazards
    line = next(n for n, text in enumerate(source.splitlines(), 1) if "cp.async.bulk" in text)
    expected = (
        rf"this mbarrier for the copy at \S+:{line}, instead of that in empty \(shared\) \(byte 0\) \(initialised .*\)"
    )
    assert re.fullmatch(rf"{expected}, which expects 128 bytes less than come", deadlock.hint), deadlock.hint


def test_a_multicast_whose_mask_leaves_out_a_block_that_waits_is_named() -> None:
    source = kernel_source("multicast_of_floats", MASK="0xb").replace("if (0xb >> rank & 1)", "if (true)")
    arrays = np.zeros(64, np.float32), np.zeros(512, np.float32)
    (deadlock,) = launch(source, "f", grid=4, block=32, args=arrays).hazards  # that other blocks wait, too, follows
    line = next(n for n, text in enumerate(source.splitlines(), 1) if "multicast::cluster" in text)
    assert "0 of 1 arrivals and 256 bytes are missing" in deadlock.message
    expected = rf"a mask of the multicast at \S+:{line} that names the block of rank 2, too, which 0xb leaves out"
    assert re.fullmatch(expected, deadlock.hint)


def test_a_multicast_from_each_block_to_itself_alone_is_named_where_more_is_awaited() -> None:
    source = kernel_source("multicast_of_floats", MASK="(1 << rank)").replace(
        "if ((1 << rank) >> rank & 1)", "if (true)"
    )
    source = source.replace("threadIdx.x == 0 && rank == 1", "threadIdx.x == 0").replace("[%0], 256;", "[%0], 1024;")
    arrays = np.zeros(64, np.float32), np.zeros(512, np.float32)
    hints = [each.hint for each in launch(source, "f", grid=4, block=32, args=arrays).hazards if each.hint]
    line = next(n for n, text in enumerate(source.splitlines(), 1) if "multicast::cluster" in text)
    assert len(hints) == 1
    expected = rf"a mask of the multicast at \S+:{line} that names more blocks than the one that sends it"
    assert re.fullmatch(expected, hints[0]), hints


@pytest.mark.parametrize(
    ("source", "times", "hinted"),
    [
        (FILLING, 2, True),
        (FILLING.replace("== 0)\n        for", "< 2)\n        for"), 1, False),
        (WAITING_FILLING, 2, False),
    ],
    ids=["again", "other thread", "after a wait"],
)
def test_a_phase_that_its_thread_begins_again_asks_for_a_wait(source: str, times: int, hinted: bool) -> None:
    source = source.replace("TIMES", str(times)).replace("BYTES", "256")
    report = launch(source, "f", grid=1, block=64, args=(np.zeros(128, np.float32),))
    misuse = next(each for each in report.hazards if each.kind == "mbarrier-misuse")
    assert "more arrivals come than the phase waits for" in misuse.message
    assert ("a wait until the buffer is empty" in misuse.hint) == hinted
