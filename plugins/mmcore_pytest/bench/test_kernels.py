"""One benchmark for every registered kernel, problem, config and way of measuring that the --mm- options select."""

from __future__ import annotations

from mmcore_pytest.fixture import CellBenchmark


def test_kernel(mm_benchmark: CellBenchmark) -> None:
    """Verify and measure one cell."""
    mm_benchmark()
