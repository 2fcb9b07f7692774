"""Checks of registered kernels report nothing for valid kernels, and every hazard of broken ones."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

import mmcore
import mmcore_emulator
from mmcore import Cell, Config, Dim3, Kernel
from mmcore.devices.base import Device
from mmcore_emulator import Check
from mmcore_emulator.adapter.check import check_cell
from tests.core.test_kernels import KERNELS
from tests.emulator.modern import BF16_PANEL, PANELS, SPLIT_K
from tests.wrong_kernels import kernel

LEADING = {"lda": 50, "ldb": 60, "ldc": 70}


def check(kernel: str | Kernel, size: int | None = None, **options: Any) -> Check:
    return mmcore_emulator.check(kernel, size, device="emulator", **options)


def lines_with(kernel: Kernel, text: str) -> set[int]:
    return {number for number, line in enumerate(kernel.source_text().splitlines(), 1) if text in line}


@pytest.mark.parametrize(
    ("kernel", "config"),
    [(kernel, config) for kernel in KERNELS for config in kernel.usual_configs],
    ids=lambda value: value.name if isinstance(value, Kernel) else value.id,
)
def test_lecture_kernels_have_no_hazards_where_their_rules_hold(kernel: Kernel, config: Config) -> None:
    size = kernel.square_problem(config.block.x + config.block.x // 2, config).n
    assert check(kernel, size, config=config.to_json()).violations == ()


@pytest.mark.parametrize(
    ("kernel", "options"),
    [
        ("upc.kernel11", {"m": 33, "n": 17, "k": 9, "block": 16}),
        ("upc.kernel11", {"m": 1, "n": 40, "k": 70, "block": 16}),
        ("upc.kernel11", {"m": 65, "n": 1, "k": 33, "block": 16}),
        (SPLIT_K, {"size": 32}),  # the second launch reads what other blocks of the first have written
        (SPLIT_K, {"m": 33, "n": 52, "k": 40}),
        # CUDA's headers of bfloat16 take seconds to compile.
        pytest.param(BF16_PANEL, {"m": 33, "n": 52, "k": 40, **LEADING}, marks=pytest.mark.slow),
    ],
)
def test_other_sizes_launches_and_leading_dimensions_have_no_hazards(
    kernel: str | Kernel, options: dict[str, int]
) -> None:
    assert check(kernel, **options).violations == ()


def test_kernel10_at_65_reads_past_a_and_writes_past_c() -> None:
    kernel = mmcore.kernels()["upc.kernel10"]
    (load,), (store,) = lines_with(kernel, "= A[row * k"), lines_with(kernel, "C[row * n + column] = sum;")
    found = {each.kind: each for each in check(kernel, 65, block=32, force=True).violations}
    assert {(each.kind, each.array, each.source, each.line) for each in found.values()} == {
        ("out-of-bounds-read", "A", "kernel10.cu", load),
        ("out-of-bounds-write", "C", "kernel10.cu", store),
        # Columns past the edge of C belong to the next row, and other threads write them too.
        ("global-race", "C", "kernel10.cu", store),
    }
    # The grid has 96 rows of threads. Two steps read columns 0 to 63 of A's 65, so 31 rows are outside.
    read, write = found["out-of-bounds-read"], found["out-of-bounds-write"]
    assert (read.count, read.block, read.thread) == (31 * 96, Dim3(0, 2, 0), Dim3(0, 1, 0))
    # C ends with element 64·65 + 64: columns 65 to 95 of row 64 are outside, and all rows below it.
    assert write.count == 31 + 31 * 96


def test_a_block_smaller_than_its_launch_bounds_is_named_where_elements_are_missing(tmp_path: Path) -> None:
    filled = "__shared__ float last; if (threadIdx.y == 15) last = k - 16; __syncthreads(); float sum = last;"
    small = kernel(tmp_path, ("void", "void __launch_bounds__(256)"), ("float sum = 0.0f;", filled))
    (read,) = check(small, 16).violations
    assert "; the block has 128 threads, and __launch_bounds__ says 256" in read.message


def test_naive_guard_at_65_reads_elements_that_exited_threads_should_have_loaded() -> None:
    kernel = mmcore.kernels()["upc.kernel11_naive_guard"]
    checked = check(kernel, 65, block=32, force=True)
    assert {each.kind for each in checked.violations} == {"uninitialized-read"}
    assert {each.line for each in checked.warnings} <= lines_with(kernel, "__syncthreads();")
    # Of the blocks at the edge, 2 of 32×1 threads, 2 of 1×32 and one of 1×1 come to the barriers; the other threads do
    # not.
    assert {(each.kind, each.count) for each in checked.warnings} == {("skipped-barrier", 4 * (1024 - 32) + 1024 - 1)}


@pytest.mark.parametrize("name", ["poznan.v3", "poznan.v5"])
@pytest.mark.parametrize("block", [8, 16])
def test_a_missing_barrier_is_a_race_between_the_stores_and_the_loads_of_a_tile(
    name: str, block: int, cu_file: Path
) -> None:
    kernel = mmcore.kernels()[name]
    first, second = sorted(lines_with(kernel, "__syncthreads();"))
    stores = {each for array in "ab" for each in lines_with(kernel, f" tile_{array}[") & lines_with(kernel, "] = ")}
    sums = lines_with(kernel, "sum") & lines_with(kernel, "+=")
    for barrier, later, earlier in ((first, sums, stores), (second, stores, sums)):
        lines = kernel.source_text().splitlines()
        cu_file.write_text("\n".join([*lines[: barrier - 1], "", *lines[barrier:]]))
        races = check(replace(kernel, source=cu_file), 4 * block, block=block).violations
        assert {(each.kind, each.array, each.source) for each in races} == {("shared-race", "shared", "kernel.cu")}
        assert {each.line for each in races} <= later
        assert barrier == first or {each.line for each in races} == stores
        assert {int(each.message.partition(" at kernel.cu:")[2].partition(",")[0]) for each in races} <= earlier
        assert all("with no barrier between them" in each.message for each in races)
        assert all(any(tile in each.message for each in races) for tile in ("tile_a", "tile_b"))


@pytest.mark.parametrize("panels", PANELS[:2], ids=lambda panels: panels.name)
def test_bulk_copies_wait_for_the_launch_before(panels: Kernel, cu_file: Path) -> None:
    source, wait = panels.source_text(), 'asm volatile("griddepcontrol.wait;" ::: "memory");'
    assert source.count(wait) == 1
    cu_file.write_text(source.replace(wait, ""))
    found = check(replace(panels, source=cu_file), m=16, n=12, k=16).violations
    lines = source.splitlines()
    assert {(each.kind, lines[(each.line or 0) - 1].split()[0]) for each in found} == {
        ("early-access", "asm"),
        ("early-access", "C[row"),
    }


def test_a_device_without_a_sanitizer_is_refused() -> None:
    device = cast(Device, SimpleNamespace(name="cuda:0"))
    with pytest.raises(mmcore.NoDevice, match=r"^cuda:0 cannot look for hazards"):
        check_cell(Cell("upc.kernel01", 8, 8, 8), device)
