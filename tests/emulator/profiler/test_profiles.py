"""Profiles of kernels: their counters launch by launch and line by line, and the ratios that follow."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

import mmcore
import mmcore_emulator
from mmcore import Cell, Kernel
from mmcore.devices.base import Device
from mmcore.devices.loaded_kernel import LoadedKernel
from mmcore.planning.plan import plan
from mmcore_emulator.adapter.device import EmulatedModule, Emulator
from mmcore_emulator.adapter.profile import Profile, profile_cell
from mmcore_emulator.profiler.counters import NAMES
from tests.emulator.modern import PANELS, SPLIT_K, TENSOR_MAP
from tests.emulator.profiler.counting import assert_counts, assert_figures
from tests.own_kernel import own


def profile(kernel: str | Kernel, size: int, block: int, *, force: bool = False) -> Profile:
    return mmcore_emulator.profile(kernel, size, block=block, device="emulator", force=force)


@pytest.mark.parametrize(
    ("kernel", "loads"), [("upc.kernel01", "n**3//16 n**3*5//32"), ("upc.kernel10", "n**3//512 n**3//128")]
)
@pytest.mark.parametrize("n", [160, pytest.param(640, marks=pytest.mark.slow)])
def test_counters_equal_those_of_ncu_on_a_gpu(kernel: str, loads: str, n: int) -> None:
    """At 640, 16,384,000 requests and 40,960,000 sectors element by element, 512,000 and 2,048,000 in tiles."""
    requests, sectors = loads.split()
    expected = f"""global_load_requests={requests} global_load_sectors={sectors} global_store_requests=n**2//32
    global_store_sectors=n**2//8 fmas=n**3 flops=2*n**3"""
    assert_counts(profile(kernel, n, 32).counters, expected, n=n)


def test_with_x_along_the_rows_the_loads_of_the_product_make_the_sectors_that_ncu_reads() -> None:
    """At 640 ncu read 16,384,000 requests and 270,336,000 sectors: n³/16 and 33/32 n³."""
    n, found = 160, profile("lezione9.kernel1", 160, 32)
    text = mmcore.kernels()["lezione9.kernel1"].source_text().splitlines()
    (product,) = (at for line, at in found.lines.items() if "A[row * k + p]" in text[line.number - 1])
    assert_counts(product, "global_load_requests=n**3//16 global_load_sectors=n**3*33//32 fmas=n**3", n=n)
    # C's own value besides: 32 rows, 32 sectors, for each of the n²/32 warps.
    assert found.counters.global_load_sectors == n**3 * 33 // 32 + n**2


def test_several_launches_are_counted_each_and_together() -> None:
    found = mmcore_emulator.profile(SPLIT_K, 64, device="emulator")
    first, second = found.launches
    assert found.counters == first.counters + second.counters
    assert (first.counters.fmas, second.counters.global_loads) == (64**3, 4 * 64 * 64)
    assert found.threads == 64 * 64 * 4 + 64 * 64
    assert [launch["entry"] for launch in found.to_json()["launches"]] == ["partial", "add_parts"]


def test_a_forced_launch_has_violations_and_goes_through_json() -> None:
    found = profile("upc.kernel10", 65, 32, force=True)
    assert {violation.kind for violation in found.violations} == {"out-of-bounds-read", "out-of-bounds-write"}
    document = found.to_json()
    assert document["violations"]
    again = Profile.from_json(json.loads(json.dumps(document, allow_nan=False)))
    assert again.to_json() == document
    assert (again.lines, again.counters, again.violations) == (found.lines, found.counters, found.violations)


def test_blocks_of_several_batches_are_counted_and_reported_once(cu_file: Path) -> None:
    more = "if (blockIdx.x == 49) C[threadIdx.x] = A[threadIdx.x] + B[threadIdx.x];"
    assert profile(own(cu_file, more, grid=(100,)), 32, 32).counters.global_load_requests == 2
    found = profile(own(cu_file, "C[threadIdx.x + n * n] = A[0];", grid=(50,)), 32, 32)
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


def test_uncounted_values_and_ratios_of_them_are_null() -> None:
    """A device that reads hardware counters knows nothing of compute capability 1.2, nor of lines."""
    unknown = {"global_load_transactions_cc1x", "barriers", "global_stores"}
    found = replace(profile("poznan.v3", 16, 8), uncounted=frozenset(unknown))
    document = found.to_json()
    measured = {name for name in found.rates() if document[name] is None}
    assert measured == set(found.rates()), "rates take the clock of a GPU"
    unknown |= {"cgma_cc1x", "global_accesses_per_thread"}
    assert {name for name, value in document.items() if value is None} == unknown | measured
    assert document["per_thread"]["barriers"] is None
    assert document["per_block"]["fmas"] == 1024


@pytest.mark.parametrize("kernel", ["upc.kernel01", "upc.kernel11"])
def test_the_arithmetic_intensity_is_of_useful_operations(kernel: str) -> None:
    """At 65 in blocks of 32, kernel11 multiplies much that goes nowhere."""
    found = profile(kernel, 65, 32)
    sectors = found.counters.global_load_sectors + found.counters.global_store_sectors
    assert found.ratios()["arithmetic_intensity"] == 2 * 65**3 / (32 * sectors)
    assert (found.counters.flops > 2 * 65**3) == (kernel == "upc.kernel11")


def test_a_single_block_is_not_multiplied_by_four() -> None:
    for name, factor in (("poznan.v1", 1), ("poznan.v2", 4)):
        found = profile(name, 16, 8)
        assert found.cgma_cc1x == factor * (found.counters.fmas / found.counters.global_load_transactions_cc1x)


def test_devices_that_can_count(cu_file: Path) -> None:
    device = cast(Device, SimpleNamespace(name="cuda:0"))
    with pytest.raises(mmcore.NoDevice, match=r"^cuda:0 cannot count what a kernel does"):
        profile_cell(Cell("upc.kernel01", 8, 8, 8), device)
    assert mmcore_emulator.profile("upc.kernel01", 8, block=8).launched.device == "emulator"
    # A kernel without a name is profiled in this process.
    kernel = own(cu_file, "C[threadIdx.x] = A[threadIdx.x];")
    assert mmcore_emulator.profile(kernel, 32).counters.global_loads == 32


@pytest.mark.parametrize(
    ("kernel", "options"),
    [
        *(("upc.kernel01", {"size": 65, "block": 32}), ("upc.kernel11", {"size": 200, "block": 16})),
        *(("unsa.traditional", {"size": 95, "block": 5}), ("poznan.v1", {"size": 16, "block": 8})),
        *(("lezione9.kernel2", {"size": 64, "block": 32}), ("hpsee.simple", {"size": 200, "block": 16})),
        *((kernel, {"m": 33, "n": 52, "k": 104}) for kernel in (TENSOR_MAP, PANELS[0])),
    ],
)
def test_figures_of_a_run_are_the_counters_of_its_profile(kernel: str | Kernel, options: dict[str, Any]) -> None:
    found = mmcore_emulator.profile(kernel, device="emulator", **options)
    assert_figures(mmcore.run(kernel, device="emulator", hazards=False, **options), found)
    assert isinstance(kernel, str) or found.counters.bulk_load_sectors > found.counters.global_store_sectors


@pytest.mark.parametrize(("more", "known"), [("", True), ("if (blockIdx.x == 1201) C[0] = A[threadIdx.x];", False)])
def test_batches_that_differ_have_no_figures(more: str, known: bool, cu_file: Path) -> None:
    """One batch of 60, in the middle, does more."""
    kernel = own(
        cu_file, "C[(blockIdx.x * 32 + threadIdx.x) % 1024] = B[threadIdx.x];" + more, grid=(2400,), block=(512,)
    )
    emulator = Emulator()
    planned = plan(kernel, kernel.problem(32, 32, 32), kernel.usual_configs[0], emulator.properties)
    with LoadedKernel(planned, emulator) as loaded:
        loaded.run()
        assert isinstance(loaded.module, EmulatedModule)
        figures = loaded.module.figures.of(2 * 32**3)
    assert (figures["instructions"] is not None) == known
