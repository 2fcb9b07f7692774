"""Profiles of the lectures' kernels: exact, or from a sample that says so and tells the same."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

import mmcore
from mmcore import Dim3, Kernel, Profile
from mmcore.devices.base import Device
from mmcore.kernel.geometry import dim3
from mmcore_emulator.profiler.counters import NAMES, total
from mmcore_emulator.profiler.profile import profile_kernel
from tests.modern import SPLIT_K
from tests.own_kernel import own
from tests.test_kernels import KERNELS


def profile(kernel: str | Kernel, size: int, block: int, *, exact: bool = False, force: bool = False) -> Profile:
    return mmcore.profile(kernel, size, block=block, device="emulator", exact=exact, force=force)


@pytest.fixture
def sampling(monkeypatch: pytest.MonkeyPatch) -> None:
    """No launch is small enough to run all of its blocks."""
    monkeypatch.setattr("mmcore_emulator.profiler.sampling.ALL_BLOCKS_INSTRUCTIONS", 0)


@pytest.mark.parametrize(
    ("kernel", "requests", "sectors"),
    [("upc.kernel01", 16_384_000, 40_960_000), ("upc.kernel10", 512_000, 2_048_000)],
)
def test_at_640_the_counters_are_what_ncu_reads_on_a_gpu(kernel: str, requests: int, sectors: int) -> None:
    found = profile(kernel, 640, 32)
    assert found.exact
    counters = found.counters
    assert (counters.global_load_requests, counters.global_load_sectors) == (requests, sectors)
    assert (counters.global_store_requests, counters.global_store_sectors) == (12_800, 51_200)
    assert (counters.fmas, counters.flops) == (262_144_000, 524_288_000)


@pytest.mark.usefixtures("sampling")
def test_with_x_along_the_rows_the_loads_of_the_product_make_the_sectors_that_ncu_reads() -> None:
    found = profile("lezione9.kernel1", 640, 32)
    assert found.blocks_run < found.blocks == 400
    text = found.plan.kernel.source_text().splitlines()
    (product,) = (at for line, at in found.lines.items() if "A[row * k + p]" in text[line.number - 1])
    assert (product.global_load_requests, product.global_load_sectors) == (16_384_000, 270_336_000)
    assert product.fmas == 262_144_000
    # C's own value besides: 32 rows, 32 sectors, for each of 12800 warps.
    assert found.counters.global_load_sectors == 270_336_000 + 32 * 12_800


def test_kernel11_at_640_takes_less_than_20_seconds() -> None:
    begin = time.perf_counter()
    assert profile("upc.kernel11", 640, 32).exact
    assert time.perf_counter() - begin < 20


@pytest.mark.usefixtures("sampling")
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
def test_a_sample_tells_what_all_blocks_tell(kernel: Kernel) -> None:
    smallest = min(map(dim3, kernel.blocks))
    size = kernel.square_problem(12 * smallest.x - 3, smallest).n
    sampled, all_of_them = profile(kernel, size, smallest.x), profile(kernel, size, smallest.x, exact=True)
    assert all_of_them.exact
    assert sampled.lines == all_of_them.lines
    assert sampled.counters == all_of_them.counters
    assert sampled.blocks == all_of_them.blocks


@pytest.mark.usefixtures("sampling")
def test_a_sample_is_said_to_be_one() -> None:
    found = profile("upc.kernel11", 96, 8)
    assert (found.blocks, found.blocks_run, found.exact) == (144, 36, False)
    assert profile("upc.kernel11", 96, 8, exact=True).exact


def test_a_launch_that_does_not_take_long_is_not_sampled() -> None:
    assert profile("upc.kernel11", 96, 8).exact


@pytest.mark.usefixtures("sampling")
def test_blocks_that_differ_are_all_run() -> None:
    """Rows of 85 floats begin anywhere in a sector, and so do blocks of 5 columns."""
    found = profile("unsa.traditional", 85, 5)
    assert found.exact
    assert found.blocks == 17 * 17


@pytest.mark.usefixtures("sampling")
@pytest.mark.parametrize("x", [0, 1, 2, 49, 98, 99])
def test_a_block_that_does_more_is_counted_once(cu_file: Path, x: int) -> None:
    body = f"if (blockIdx.x == {x}) C[threadIdx.x] = A[threadIdx.x] + B[threadIdx.x];"
    found = profile(own(cu_file, body, grid=(100,)), 32, 32)
    assert found.counters.global_load_requests == 2
    assert found.exact == (x != 99), "only the last block may differ from the others of a sample"


@pytest.mark.usefixtures("sampling")
def test_blocks_that_do_what_the_data_say_are_all_run(cu_file: Path) -> None:
    body = "if (A[blockIdx.x] != A[57]) C[threadIdx.x] = B[0];"
    found = profile(own(cu_file, body, grid=(100,)), 32, 32)
    assert found.exact
    assert found.counters.global_store_requests == 99


@pytest.mark.usefixtures("sampling")
def test_a_third_axis_is_sampled_too(cu_file: Path) -> None:
    body = "C[threadIdx.x] = A[threadIdx.x] + B[threadIdx.x];"
    found = profile(own(cu_file, body, grid=(1, 2, 40)), 32, 32)
    assert (found.blocks, found.blocks_run) == (80, 12)
    assert found.counters.global_load_sectors == 80 * 8


def test_several_launches_are_counted_each_and_together() -> None:
    found = mmcore.profile(SPLIT_K, 64, device="emulator")
    first, second = found.counted.launches
    assert found.counters == first.counters + second.counters
    assert first.counters.fmas == 64**3
    assert second.counters.global_loads == 4 * 64 * 64
    assert found.threads == 64 * 64 * 4 + 64 * 64
    entries = [launch["entry"] for launch in found.to_json()["launches"]]
    assert entries == ["partial", "add_parts"]


def test_lines_make_up_the_whole() -> None:
    found = profile("upc.kernel11", 65, 32)
    assert total(found.lines.values()) == found.counters
    assert {line.source for line in found.lines} == {"kernel11.cu"}
    assert list(found.lines) == sorted(found.lines)


def test_what_a_forced_launch_does_wrong_is_told_with_its_counters() -> None:
    found = profile("upc.kernel10", 65, 32, force=True)
    assert {violation.kind for violation in found.violations} == {"out-of-bounds-read", "out-of-bounds-write"}
    assert found.to_json()["violations"]


@pytest.mark.usefixtures("sampling")
def test_a_fault_of_many_blocks_of_a_sample_is_told_once(cu_file: Path) -> None:
    found = profile(own(cu_file, "C[threadIdx.x + n * n] = A[0];", grid=(50,)), 32, 32)
    assert found.blocks_run < found.blocks
    assert [(violation.kind, violation.block) for violation in found.violations] == [("out-of-bounds-write", (0, 0, 0))]


def test_json_has_every_counter_and_ratio() -> None:
    found = profile("poznan.v3", 64, 8)
    document = json.loads(json.dumps(found.to_json(), allow_nan=False))
    assert {name: document[name] for name in NAMES} == {name: getattr(found.counters, name) for name in NAMES}
    assert document["cgma_cc1x"] == 128
    assert document["cgma"] == found.counters.fmas / found.counters.global_load_sectors
    assert document["global_accesses_per_thread"] == 2 * 64 / 8 + 1
    assert document["per_thread"]["fmas"] == 64
    assert document["per_block"]["barriers"] == 2 * 64 / 8
    assert [(line["source"], line["line"]) for line in document["lines"]] == list(found.lines)


def test_what_a_device_does_not_count_is_null_and_so_is_what_follows_from_it() -> None:
    """A device that reads hardware counters knows nothing of compute capability 1.2, nor of lines."""
    found = profile("poznan.v3", 16, 8)
    counted = replace(
        found.counted, uncounted=frozenset({"global_load_transactions_cc1x", "barriers", "global_stores"})
    )
    document = replace(found, counted=counted).to_json()
    unknown = {"global_load_transactions_cc1x", "barriers", "global_stores", "cgma_cc1x", "global_accesses_per_thread"}
    measured = {name for name in found.rates() if document[name] is None}
    assert measured == set(found.rates()), "what only a GPU's clock tells"
    assert {name for name, value in document.items() if value is None} == unknown | measured
    assert document["per_thread"]["barriers"] is None
    assert document["per_block"]["fmas"] == 1024


def test_a_single_block_is_not_multiplied_by_four() -> None:
    one, several = profile("poznan.v1", 16, 8), profile("poznan.v2", 16, 8)
    assert one.counters.fmas / one.counters.global_load_transactions_cc1x == one.cgma_cc1x
    assert several.cgma_cc1x == 4 * (several.counters.fmas / several.counters.global_load_transactions_cc1x)


def test_a_device_that_cannot_count_is_refused_in_a_sentence() -> None:
    kernel = mmcore.kernels()["upc.kernel01"]
    device = cast(Device, SimpleNamespace(name="cuda:0"))
    with pytest.raises(mmcore.NoDevice, match=r"^cuda:0 does not count what a kernel does"):
        profile_kernel(kernel, kernel.problem(8, 8, 8), Dim3(8, 8), device)


def test_auto_is_the_first_device_that_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    assert mmcore.profile("upc.kernel01", 8, block=8).device == "emulator"
    opened: list[str] = []

    def useless(spec: str) -> Any:
        opened.append(spec)
        return SimpleNamespace(name=spec)

    monkeypatch.setattr("mmcore.api._open", useless)
    with pytest.raises(mmcore.NoDevice, match="no device here counts what a kernel does"):
        mmcore.profile("upc.kernel01", 8, block=8)
    assert "emulator" in opened
