"""``pytest --pyargs mmcore_source_file --mm-kernel my.cu``: a benchmark of a file, where there is no folder of any."""

from __future__ import annotations

from mmcore_pytest.fixture import CellBenchmark


def test_kernel(mm_benchmark: CellBenchmark) -> None:
    """Every selected kernel, verified and measured."""
    mm_benchmark()
