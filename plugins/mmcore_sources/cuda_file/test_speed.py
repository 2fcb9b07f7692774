"""The benchmark of a file: ``pytest --pyargs mmcore_sources.cuda_file --mm-kernel my.cu``."""

from __future__ import annotations

from mmcore_pytest.fixture import CellBenchmark


def test_kernel(mm_benchmark: CellBenchmark) -> None:
    """Verify and measure every selected kernel."""
    mm_benchmark()
