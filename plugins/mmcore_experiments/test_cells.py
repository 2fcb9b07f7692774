"""The test that an experiment has pytest run, once for each of its cells."""

from __future__ import annotations

from mmcore.pytest_plugin.measuring import CellBenchmark


def test_cell(mm_benchmark: CellBenchmark) -> None:
    """One cell, verified and measured."""
    mm_benchmark()
