"""The kernels whose counts bench/counter_comparison.py compares with ncu's: right, without races, counted by hand."""

from __future__ import annotations

import json

import pytest

import mmcore
import mmcore_emulator
from bench.counter_comparison import tensor_cells
from bench.tables.sources import H200
from bench.tensor_kernels import KERNELS, MMA_SYNC, MULTICAST, STORED, SWIZZLED, WGMMA, WMMA
from mmcore import Kernel
from mmcore.cell import Cell, referenced_kernel
from mmcore_emulator.adapter.device import Emulator
from mmcore_emulator.adapter.profile import Profile, profile_cell
from mmcore_emulator.isa.products import Product
from mmcore_emulator.profiler.counters import Counters, total

M, N, K = 128, 64, 192
BYTES = 2  # of a float16
F16 = ("f32", "f16", "f16")
TILES = (M // 64) * (N // 64) * (K // 64)
TILE_BYTES = 64 * 64 * BYTES


def profile(kernel: Kernel) -> Profile:
    return mmcore_emulator.profile(kernel, m=M, n=N, k=K, device="emulator")


def counters(kernel: Kernel) -> Counters:
    return profile(kernel).counters


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
def test_the_product_is_right_and_nothing_is_found(kernel: Kernel) -> None:
    assert mmcore.run(kernel, m=M, n=N, k=K, device="emulator").verified
    found = mmcore_emulator.check(kernel, m=M, n=N, k=K, device="emulator")
    assert (found.violations, found.warnings) == ((), ())


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
def test_all_operations_are_those_of_tensor_cores(kernel: Kernel) -> None:
    found = counters(kernel)
    assert found.tensor_flops == 2 * M * N * K
    assert found.tensor_flops_by_type == {"f32.f16.f16": 2 * M * N * K}
    assert sum(found.products.values()) == found.tensor_instructions
    assert found.fmas == found.flops == 0


@pytest.mark.parametrize(
    ("kernel", "product", "count"),
    [
        (WMMA, Product("wmma", (16, 16, 16), F16), M * N * K // 16**3),
        (MMA_SYNC, Product("mma", (16, 8, 16), F16), M * N * K // (16 * 8 * 16)),
        (SWIZZLED, Product("mma", (16, 8, 16), F16), M * N * K // (16 * 8 * 16)),
        (WGMMA, Product("wgmma", (64, 64, 16), F16), 4 * M * N * K // (64 * 64 * 16)),
        (MULTICAST, Product("wgmma", (64, 64, 16), F16), 4 * M * N * K // (64 * 64 * 16)),
        (STORED, Product("wgmma", (64, 64, 16), F16), 4 * M * N * K // (64 * 64 * 16)),
    ],
    ids=lambda value: value.name if isinstance(value, Kernel) else "",
)
def test_products(kernel: Kernel, product: Product, count: int) -> None:
    assert counters(kernel).products == {product: count}


@pytest.mark.parametrize("kernel", [MMA_SYNC, SWIZZLED], ids=lambda kernel: kernel.name)
def test_tiles_that_threads_copy(kernel: Kernel) -> None:
    """Two tiles for each step of each block, 16 bytes a thread; four rows of 128 bytes a warp."""
    found = counters(kernel)
    assert found.async_copy_bytes == TILES * 2 * TILE_BYTES
    assert found.async_copies == found.async_copy_bytes // 16
    assert found.async_copy_requests == found.async_copies // 32
    assert found.async_copy_sectors == found.async_copy_bytes // 32
    assert found.async_copy_wavefronts == found.async_copy_bytes // 128


def test_a_swizzle_spares_seven_of_eight_passes() -> None:
    """For each of four steps of 16 in a tile, a warp loads 32×16 of A and 16×32 of B: four times four matrices."""
    plain, swizzled = counters(MMA_SYNC), counters(SWIZZLED)
    assert plain.ldmatrix_requests == swizzled.ldmatrix_requests == TILES * 4 * 4 * 4
    assert swizzled.ldmatrix_wavefronts == 4 * swizzled.ldmatrix_requests
    assert plain.ldmatrix_wavefronts == 8 * swizzled.ldmatrix_wavefronts
    assert plain.shared_bank_conflicts == 7 * swizzled.ldmatrix_wavefronts
    assert swizzled.shared_bank_conflicts == 0


@pytest.mark.parametrize(("kernel", "b_tiles"), [(WGMMA, 1), (MULTICAST, 0.5), (STORED, 1)])
def test_tiles_that_tma_fetches(kernel: Kernel, b_tiles: float) -> None:
    """A block of a cluster fetches half of B's tile, which is delivered to both."""
    found = counters(kernel)
    assert found.bulk_loads == 2 * TILES
    assert found.bulk_load_bytes == TILES * (1 + b_tiles) * TILE_BYTES
    assert found.bulk_load_sectors == found.bulk_load_bytes // 32
    assert found.bulk_delivered_bytes == TILES * 2 * TILE_BYTES
    assert found.wgmma_wavefronts == found.bulk_delivered_bytes // 128, "every tile is read once"
    assert found.shared_bank_conflicts == 0


def test_c_through_shared_memory() -> None:
    """Each of four warps of a block stores 16×64 as eight times two matrices; one thread sends the tile on."""
    found, blocks = counters(STORED), (M // 64) * (N // 64)
    assert found.stmatrix_requests == blocks * 4 * 4
    assert found.stmatrix_wavefronts == blocks * 4 * 8 * 2
    assert (found.bulk_stores, found.bulk_store_bytes) == (blocks, M * N * BYTES)
    assert found.bulk_store_sectors == M * N * BYTES // 32
    assert (found.global_stores, found.global_loads) == (0, 0)


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
def test_the_figures_of_a_run_are_the_counters_of_its_profile(kernel: Kernel) -> None:
    figures, found = mmcore.run(kernel, m=M, n=N, k=K, device="emulator").figures, profile(kernel)
    assert figures["instructions"] == found.counters.warp_instructions
    assert figures["global_sectors"] == found.counters.global_sectors
    assert figures["flop_per_byte"] == found.ratios()["arithmetic_intensity"]


def test_the_intensity_is_of_all_bytes() -> None:
    """Every block fetches 64 rows of A and 64 columns of B, and stores a tile of C."""
    read, written = TILES * 2 * TILE_BYTES, M * N * BYTES
    assert profile(STORED).ratios()["arithmetic_intensity"] == 2 * M * N * K / (read + written)


def test_lines_make_up_the_whole_and_go_through_json() -> None:
    found = profile(MMA_SYNC)
    document = json.loads(json.dumps(found.to_json(), allow_nan=False))
    assert total(found.lines.values()) == found.counters
    assert document["products"] == {"mma m16n8k16 f32.f16.f16": M * N * K // (16 * 8 * 16)}
    assert document["tensor_flops_by_type"] == {"f32.f16.f16": 2 * M * N * K}
    again = Profile.from_json(document)
    assert again.to_json() == document
    assert (again.lines, again.counters) == (found.lines, found.counters)


def test_counters_of_products_add_up() -> None:
    one, other = Product("mma", (16, 8, 16), F16), Product("wgmma", (64, 8, 16), F16)
    sums = Counters(products={one: 2}) + Counters(products={one: 1, other: 4}) * 2
    assert sums.products == {one: 4, other: 8}


# What ptxas makes otherwise: fragments loaded by ldmatrix, two instructions for a product, C stored by eight bytes.
OF_WMMA = {"tensor_instructions", "global_store_requests", "global_store_sectors", "shared_load_requests"}
OF_WMMA |= {"shared_load_wavefronts", "ldmatrix_requests", "ldmatrix_wavefronts", "shared_bank_conflicts"}
# Loads whose predicates are false; and what came of stores when ncu looked.
DIFFERING = {"tensor.wmma": OF_WMMA, "tensor.wgmma": {"global_store_sectors"}}
DIFFERING |= {name: {"shared_load_requests"} for name in ("tensor.mma_sync", "tensor.swizzled")}


@pytest.mark.parametrize("cell", tensor_cells(), ids=lambda cell: str(cell.kernel).partition(":")[2])
def test_an_h200_counts_the_same(cell: Cell) -> None:
    """As ncu read it there, but for what is known."""
    document = json.loads((H200 / "tensor_counters.json").read_text())
    name = referenced_kernel(cell.kernel).name
    (committed,) = (row for row in document["emulator_and_ncu"] if row["kernel"] == name)
    counted = {each: pair for each, pair in committed.items() if isinstance(pair, list)}
    ours = vars(profile_cell(cell, Emulator()).counters)
    same = {each for each in counted if each == "tensor_instructions" or not each.endswith("_instructions")}
    assert {each for each in same if counted[each][0] != ours[each]} == set(), "the table in docs/why.md is out of date"
    assert {each for each in same if counted[each][1] != ours[each]} == DIFFERING.get(name, set())


def test_the_comparison_with_ncu_finds_every_kernel_by_its_name() -> None:
    found = [referenced_kernel(cell.kernel) for cell in tensor_cells()]
    assert found == list(KERNELS)
