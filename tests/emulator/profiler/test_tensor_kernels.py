"""The kernels of bench/studies/counter_comparison.py: right, without hazards, and with counters that follow by hand."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import pytest

import mmcore
import mmcore_emulator
from bench.studies.counter_comparison import tensor_cells
from bench.studies.study import RESULTS
from bench.studies.tensor_kernels import KERNELS, MMA_SYNC, MULTICAST, STORED, SWIZZLED, WGMMA, WMMA
from mmcore import Kernel
from mmcore.cell import Cell
from mmcore.registry import referenced_kernel
from mmcore_emulator.adapter.device import Emulator
from mmcore_emulator.adapter.profile import Profile, profile_cell
from mmcore_emulator.isa.matrix.products import Product
from mmcore_emulator.profiler.counters import Counters, total
from tests.emulator.profiler.counting import assert_counts, assert_figures

SIZES: dict[str, Any] = {"m": 128, "n": 64, "k": 192}
NAMES = {**SIZES, "mnk": 128 * 64 * 192, "tiles": 6, "tile": 64 * 64 * 2, "blocks": 2}  # fetched tiles of A, and of B
# Two tiles for each step of each block, 16 bytes a thread; four rows of 128 bytes a warp. For each of four steps of 16
# in a tile, a warp loads 32×16 of A and 16×32 of B: four times four matrices.
COPIED = """async_copy_bytes=tiles*2*tile async_copies=tiles*2*tile//16 async_copy_requests=tiles*2*tile//512
async_copy_sectors=tiles*2*tile//32 async_copy_wavefronts=tiles*2*tile//128 ldmatrix_requests=tiles*4*4*4
global_loads=0 shared_stores=0 tensor_instructions=mnk//16//8//16"""
# A block of a cluster fetches half of B's tile, which is delivered to both. Every tile is read once.
FETCHED = """bulk_loads=2*tiles bulk_delivered_bytes=tiles*2*tile wgmma_wavefronts=tiles*2*tile//128
shared_bank_conflicts=0 tensor_instructions=4*mnk//64//64//16"""
WHOLE = FETCHED + " bulk_load_bytes=tiles*2*tile bulk_load_sectors=tiles*2*tile//32"
# Each of four warps of a block stores 16×64 as eight times two matrices; one thread sends the tile.
SENT = """ stmatrix_requests=blocks*4*4 stmatrix_wavefronts=blocks*4*8*2 bulk_stores=blocks bulk_store_bytes=m*n*2
bulk_store_sectors=m*n*2//32 global_stores=0 global_loads=0"""
COUNTS = {
    WMMA.name: ("wmma m16n16k16", "tensor_instructions=mnk//16**3"),
    MMA_SYNC.name: ("mma m16n8k16", COPIED + " ldmatrix_wavefronts=8*4*tiles*64 shared_bank_conflicts=7*4*tiles*64"),
    SWIZZLED.name: ("mma m16n8k16", COPIED + " ldmatrix_wavefronts=4*tiles*64 shared_bank_conflicts=0"),
    WGMMA.name: ("wgmma m64n64k16", WHOLE),
    MULTICAST.name: (
        "wgmma m64n64k16",
        FETCHED + " bulk_load_bytes=tiles*3*tile//2 bulk_load_sectors=tiles*3*tile//64",
    ),
    STORED.name: ("wgmma m64n64k16", WHOLE + SENT),
}
EVERY_KERNEL = pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)


@cache
def profile(name: str) -> Profile:
    (kernel,) = (each for each in KERNELS if each.name == name)
    return mmcore_emulator.profile(kernel, **SIZES, device="emulator")


@EVERY_KERNEL
def test_a_kernel_is_right_without_hazards_and_has_the_figures_of_its_profile(kernel: Kernel) -> None:
    result = mmcore.run(kernel, **SIZES, device="emulator", hazards=False)
    assert result.verified
    checked = mmcore_emulator.check(kernel, **SIZES, device="emulator")
    assert (checked.violations, checked.warnings) == ((), ())
    assert_figures(result, profile(kernel.name))


@EVERY_KERNEL
def test_counts_by_hand(kernel: Kernel) -> None:
    found, (product, counts) = profile(kernel.name).counters, COUNTS[kernel.name]
    assert_counts(found, counts + " tensor_flops=2*mnk fmas=0 flops=0", **NAMES)
    assert found.products == {Product.named(f"{product} f32.f16.f16"): found.tensor_instructions}
    assert found.tensor_flops_by_type == {"f32.f16.f16": 2 * NAMES["mnk"]}


def test_the_intensity_is_of_all_bytes() -> None:
    """Every block fetches 64 rows of A and 64 columns of B, and stores a tile of C."""
    read, written = NAMES["tiles"] * 2 * NAMES["tile"], SIZES["m"] * SIZES["n"] * 2
    assert profile(STORED.name).ratios()["arithmetic_intensity"] == 2 * NAMES["mnk"] / (read + written)


def test_lines_make_up_the_whole_and_go_through_json() -> None:
    found = profile(MMA_SYNC.name)
    document = json.loads(json.dumps(found.to_json(), allow_nan=False))
    assert total(found.lines.values()) == found.counters
    assert {line.source for line in found.lines} == {"mma_sync.cu"}
    assert list(found.lines) == sorted(found.lines)
    assert document["products"] == {"mma m16n8k16 f32.f16.f16": NAMES["mnk"] // (16 * 8 * 16)}
    assert document["tensor_flops_by_type"] == {"f32.f16.f16": 2 * NAMES["mnk"]}
    again = Profile.from_json(document)
    assert again.to_json() == document
    assert (again.lines, again.counters) == (found.lines, found.counters)


def test_counters_of_products_add_up() -> None:
    one, other = Product.named("mma m16n8k16 f32.f16.f16"), Product.named("wgmma m64n8k16 f32.f16.f16")
    sums = Counters(products={one: 2}) + Counters(products={one: 1, other: 4}) * 2
    assert sums.products == {one: 4, other: 8}


# What ptxas makes otherwise: fragments loaded by ldmatrix, two instructions for a product, C stored by eight bytes.
OF_WMMA = {"tensor_instructions", "global_store_requests", "global_store_sectors", "shared_load_requests"}
OF_WMMA |= {"shared_load_wavefronts", "ldmatrix_requests", "ldmatrix_wavefronts", "shared_bank_conflicts"}
# Loads with false predicates; and the sectors of stores in ncu's run.
DIFFERING = {"tensor.wmma": OF_WMMA, "tensor.wgmma": {"global_store_sectors"}}
DIFFERING |= {name: {"shared_load_requests"} for name in ("tensor.mma_sync", "tensor.swizzled")}


@pytest.mark.parametrize("cell", tensor_cells(), ids=lambda cell: str(cell.kernel).partition(":")[2])
def test_an_h200_counts_the_same(cell: Cell) -> None:
    """Counters are compared with ncu's, with known exceptions."""
    document = json.loads((RESULTS / "nvidia-h200" / "tensor_counters.json").read_text())
    name = referenced_kernel(cell.kernel).name
    (committed,) = (row for row in document["emulator_and_ncu"] if row["kernel"] == name)
    counted = {each: pair for each, pair in committed.items() if isinstance(pair, list)}
    emulated = vars(profile_cell(cell, Emulator()).counters)
    same = {each for each in counted if each == "tensor_instructions" or not each.endswith("_instructions")}
    assert {each for each in same if counted[each][0] != emulated[each]} == set(), (
        "the table in docs/why.md is out of date"
    )
    assert {each for each in same if counted[each][1] != emulated[each]} == DIFFERING.get(name, set())


def test_the_comparison_with_ncu_finds_every_kernel_by_its_name() -> None:
    assert [referenced_kernel(cell.kernel) for cell in tensor_cells()] == list(KERNELS)
