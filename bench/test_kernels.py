"""One benchmark for every registered kernel, problem, block and way of measuring that the --mm- options select."""

from __future__ import annotations

from mmcore.pytest_plugin.measuring import CellBenchmark


def test_kernel(mm_benchmark: CellBenchmark) -> None:
    mm_benchmark()
