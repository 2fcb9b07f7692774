"""Counts scaled from small products are those of a direct profile."""

from __future__ import annotations

import pytest

from mmcore.cell import Cell
from mmcore_emulator.profiler.counters import total
from mmcore_performance.cards import cards
from mmcore_performance.counted import counted, profiled
from mmcore_performance.gathering import card_plan

# A kernel of each kind, and a product larger than those that it is counted at.
KERNELS: list[tuple[str, int, dict[str, int]]] = [
    ("hpsee.simple", 256, {}),
    ("hpsee.tiled", 256, {}),
    ("ladder.f32.01_naive", 256, {}),
    ("ladder.f32.08_async", 256, {"BM": 64, "BN": 64}),
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
