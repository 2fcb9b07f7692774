"""The lectures' claims as tests, with the numbers of the list of claims."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mmcore
import mmcore_emulator
from mmcore import Dim3
from mmcore.kernel.properties import DeviceProperties
from mmcore.planning.plan import plan
from tests.command_line import mmcore as command

MEASURED = list(
    csv.DictReader((Path(__file__).parents[1] / "published" / "poznan_measured.csv").read_text().splitlines())
)
Row = dict[str, str]


def profile(name: str, size: int, block: int) -> Any:
    return mmcore_emulator.profile(name, size, block=block, device="emulator", seed=1)


def grid(name: str, size: int, block: int, *, force: bool = False) -> Dim3:
    kernel = mmcore.kernels()[name]
    planned = plan(kernel, kernel.problem(size, size, size), kernel.config(block), DeviceProperties(), force=force)
    return planned.launches[0].grid_dim


def test_claim_1_kernel00_covers_640_and_leaves_a_last_column_of_one_unwritten() -> None:
    assert grid("upc.kernel00", 640, 32) == Dim3(20, 20)
    assert grid("upc.kernel00", 641, 32, force=True) == Dim3(20, 20)
    assert mmcore.run("upc.kernel00", 64, block=32, device="emulator", hazards=False).verified
    result = mmcore.run("upc.kernel00", 65, block=32, device="emulator", force=True)
    assert result.verification is not None
    assert result.verification.mismatch is not None
    mismatch = result.verification.mismatch
    assert (mismatch.row, mismatch.column, mismatch.unwritten) == (0, 64, True)


def test_claim_2_kernel01_takes_641_and_kernel10_leaves_its_memory() -> None:
    assert grid("upc.kernel01", 641, 32) == grid("upc.kernel10", 641, 32, force=True) == Dim3(21, 21)
    assert mmcore.run("upc.kernel01", 65, block=32, device="emulator", hazards=False).verified
    result = mmcore.run("upc.kernel10", 65, block=32, device="emulator", force=True)
    assert {(violation.kind, violation.array) for violation in result.violations} == {
        ("out-of-bounds-read", "A"),
        ("out-of-bounds-write", "C"),
    }


def test_claim_3_kernel11s_first_try_drops_the_remainder_of_k() -> None:
    result = mmcore.run("upc.kernel11_naive_guard", m=64, n=64, k=65, block=32, device="emulator", force=True)
    assert result.violations == ()
    assert not result.verified
    counters = mmcore_emulator.profile("upc.kernel11_naive_guard", m=64, n=64, k=65, block=32, force=True).counters
    assert counters.fmas == 64 * 64 * 64, "one of 65 products of each element is left out"
    assert mmcore.run("upc.kernel11", m=64, n=64, k=65, block=32, device="emulator", hazards=False).verified


def test_claim_3_kernel11s_first_try_has_its_barrier_in_a_divergent_branch() -> None:
    found = mmcore_emulator.check("upc.kernel11_naive_guard", 65, block=32, force=True)
    assert "skipped-barrier" in {warning.kind for warning in found.warnings}
    clean = mmcore_emulator.check("upc.kernel11", 65, block=32)
    assert clean.violations == clean.warnings == ()


@pytest.mark.parametrize("block", [8, 16, 32])
def test_claim_4_element_by_element_a_thread_makes_2n_flops_and_2n_plus_1_global_accesses(block: int) -> None:
    for name in ("upc.kernel00", "upc.kernel01"):
        counters = profile(name, 96, block).counters
        threads = 96 * 96
        assert counters.flops == 2 * 96 * threads
        assert counters.global_accesses == (2 * 96 + 1) * threads
        assert counters.shared_loads == 0


@pytest.mark.parametrize("block", [8, 16, 32])
def test_claim_4_in_tiles_a_thread_makes_2n_over_b_plus_1_global_accesses_and_2n_shared_reads(block: int) -> None:
    found = profile("upc.kernel10", 96, block)
    threads = 96 * 96
    assert found.counters.flops == 2 * 96 * threads
    assert found.ratios()["global_accesses_per_thread"] == 2 * 96 / block + 1
    assert found.counters.shared_load_bytes == 2 * 96 * 4 * threads


@pytest.mark.parametrize(("block", "loads", "operations", "shared"), [(16, 512, 8192, 2048), (32, 2048, 65536, 8192)])
def test_claim_5_loads_and_operations_of_a_tile_step(block: int, loads: int, operations: int, shared: int) -> None:
    # n = b is one step of one block; n = 2b is two steps of each of four blocks.
    for steps in (1, 2):
        found = profile("hpsee.tiled", steps * block, block)
        assert found.counters.global_loads == loads * steps * found.blocks
        assert found.counters.flops == operations * steps * found.blocks
    assert mmcore.run("hpsee.tiled", block, block=block, device="emulator", hazards=False).shared_bytes == shared


@pytest.mark.parametrize("name", ["unsa.traditional", "unsa.tiled"])
def test_claim_6_a_block_of_2500_threads_is_refused_and_the_four_that_ran_are_right(name: str) -> None:
    for edge, threads in ((50, 2500), (40, 1600)):
        with pytest.raises(mmcore.ConstraintViolation) as refusal:
            mmcore.run(name, 500, block=edge, device="emulator", force=True)
        assert f"a {edge}×{edge} block has {threads} threads; the device allows 1024" in str(refusal.value)
        for verb in ("profile", "run"):
            refused = command(verb, name, "--size", "500", "--block", str(edge), "--device", "emulator")
            assert (refused.exit_code, refused.stdout) == (2, "")
            assert f"{threads} threads" in refused.stderr
    for edge in (5, 10, 20, 25):
        assert mmcore.run(name, 100, block=edge, device="emulator", hazards=False).verified


def test_claim_7_kernel1_makes_2k_global_accesses_for_2k_flops_and_kernel2_a_32nd_of_them() -> None:
    k, threads = 96, 64 * 128
    for name, inputs in (("lezione9.kernel1", 2 * k), ("lezione9.kernel2", 2 * k // 32)):
        found = mmcore_emulator.profile(name, m=64, n=128, k=k, device="emulator")
        assert found.counters.flops == 2 * k * threads
        assert found.counters.global_loads == (inputs + 1) * threads, "C's own value is read once"
        assert found.counters.global_stores == threads


def arithmetic_cgma_of_v1(n: int, block: int) -> float:
    """Return the CGMA of v1's loads on compute capability 1.2, computed thread by thread.

    A's addresses depend only on a stamp's row, and B's only on its column.
    """
    thread = np.arange(-(-block * block // 16) * 16)
    absent = thread >= block * block
    ty, tx = thread // block, thread % block
    stamp, p = np.arange(n // block)[:, None, None], np.arange(n)[None, :, None]
    down = ((stamp * block + ty) * n + p) // 32
    across = (p * n + stamp * block + tx) // 32
    transactions = 0
    for segments in (down, across):
        half_warps = np.where(absent, -1, segments).reshape(-1, 16)
        half_warps.sort(axis=1)
        distinct = (np.diff(half_warps, axis=1) != 0).sum() + len(half_warps)
        transactions += int(distinct - (half_warps[:, 0] < 0).sum()) * (n // block)
    return n**3 / transactions


def _cgma(version: str, size: int, block: int) -> float:
    if version == "v1" and size > 176:
        return arithmetic_cgma_of_v1(size, block)
    value = profile(f"poznan.{version}", size, block).cgma_cc1x
    assert value is not None
    return float(value)


@pytest.mark.parametrize("block", [8, 16, 22])
def test_claim_9_the_arithmetic_in_place_of_v1_is_what_is_counted(block: int) -> None:
    for size in (2 * block, 4 * block):
        assert profile("poznan.v1", size, block).cgma_cc1x == arithmetic_cgma_of_v1(size, block)


def _close(rows: list[Row]) -> int:
    """Return how many of our CGMA are within 3 % of the published ones."""
    ours = [_cgma(row["version"], int(row["size"]), int(row["block"])) for row in rows]
    return sum(abs(value / float(row["cgma"]) - 1) <= 0.03 for row, value in zip(rows, ours, strict=True))


@pytest.mark.slow
def test_claim_9_38_of_the_57_published_cgma_come_out_within_3_percent() -> None:
    assert len(MEASURED) == 57
    assert _close(MEASURED) >= 38


def test_claim_9_published_cgma_of_blocks_of_8_come_out_within_3_percent() -> None:
    small = [row for row in MEASURED if int(row["size"]) <= 176 and row["block"] == "8" and row["version"] != "v1"]
    assert (len(small), _close(small)) == (5, 4)


@pytest.mark.parametrize(
    ("version", "block", "size", "published"),
    [("v3", 8, 352, "128.0"), ("v4a", 8, 128, "120.47"), ("v4b", 16, 256, "481.882"), ("v5", 8, 128, "240.94")],
)
def test_claim_9_some_come_out_to_the_last_digit(version: str, block: int, size: int, published: str) -> None:
    asked = (version, str(block), str(size))
    (row,) = [row for row in MEASURED if (row["version"], row["block"], row["size"]) == asked]
    ours = _cgma(version, size, block)
    digits = len(published.partition(".")[2])
    assert f"{ours:.{digits}f}" == published == f"{float(row['cgma']):.{digits}f}"
