"""Counts scaled from small products are those of a direct profile."""

from __future__ import annotations

from dataclasses import replace

import pytest

import mmcore
from mmcore import Dim3, Multiple
from mmcore.cell import Cell
from mmcore.planning.plan import Plan
from mmcore_emulator.profiler.counters import Counters, Line, total
from mmcore_performance.cards import cards
from mmcore_performance.counted import Counts, counted, profiled
from mmcore_performance.gathering import card_plan
from mmcore_performance.small_cells import small_cells

# A kernel of each kind, and a product larger than those that it is counted at.
KERNELS: list[tuple[str, int, dict[str, int]]] = [
    ("hpsee.simple", 256, {}),
    ("hpsee.tiled", 256, {}),
    ("ladder.f32.01_naive", 256, {}),
    ("ladder.f32.08_async", 256, {"BM": 64, "BN": 64, "BK": 8, "WM": 32, "WN": 32, "TM": 4}),
    ("ladder.bf16.09_ring", 512, {}),
]
COUNTERS = ("warp_instructions", "fmas", "tensor_flops", "global_sectors", "shared_wavefronts", "barriers")


@pytest.mark.parametrize(("kernel", "size", "config"), KERNELS, ids=[kernel for kernel, *_ in KERNELS])
def test_scaled_counts_are_those_of_a_direct_profile_within_two_percent(
    kernel: str, size: int, config: dict[str, int]
) -> None:
    cell, plan = card_plan(Cell(kernel, size, size, size, config=config, seed=1), cards()["H200"])
    for scaled, direct in zip(counted(cell, plan, profiled), profiled(cell, plan), strict=True):
        expected = total(direct.lines.values())
        for name in COUNTERS:
            assert getattr(total(scaled.lines.values()), name) == pytest.approx(getattr(expected, name), rel=0.02), name
        for kind, sectors in direct.distinct.items():
            assert scaled.distinct[kind] == pytest.approx(sectors, rel=0.02)


def test_a_kernel_without_small_products_is_counted_at_its_least_one() -> None:
    kernel = mmcore.kernels()["ladder.f32.03_tiles"]
    large = replace(kernel, constraints=(*kernel.constraints, Multiple(("m", "n"), 1024)))
    cell, plan = card_plan(Cell("ladder.f32.03_tiles", 4096, 4096, 4096), cards()["H200"], large)
    assert [(small.m, small.n, small.k) for small in small_cells(cell, plan)] == [(1024, 1024, 64), (1024, 1024, 128)]


@pytest.mark.parametrize("grows", [True, False])
def test_a_launch_that_multiplies_nothing_grows_with_its_grid_or_with_a_and_b(grows: bool) -> None:
    cell, plan = card_plan(Cell("ladder.tf32.02_any", 1024, 1024, 1024), cards()["H200"])

    def conversion(small: Cell, planned: Plan) -> tuple[Counts, ...]:
        """Count a conversion whose blocks convert 64 elements each, or all of them together, and the product."""
        elements = (small.m + small.n) * small.k
        grids = Dim3(elements // 64) if grows else plan.launches[0].grid_dim, plan.launches[1].grid_dim
        product = {Line("", 0): Counters(tensor_flops=2 * small.m * small.n * small.k)}
        return Counts(grids[0], {}, {"memory": elements}, {}, {}, {}), Counts(grids[1], product, {}, {}, {}, {})

    counts, _ = counted(cell, plan, conversion)
    blocks = plan.launches[0].grid_dim.size
    assert counts.mix["memory"] == pytest.approx(64 * blocks if grows else 2 * cell.m * cell.k)
