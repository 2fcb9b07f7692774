"""Predicted times of products that are too much work for the emulator, which verifies smaller ones in their place."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from mmcore.errors import MmcoreError
from mmcore.result import Result
from mmcore_performance.cards import cards
from mmcore_performance.why import explained_time
from mmcore_performance.why_command import predicted
from mmcore_pytest.collection import Benchmark

_CARD = "H200"
_MOST = 24  # cells, each of which takes a second or two


def predicted_lines(results: Iterable[tuple[Benchmark, Result]]) -> Iterator[str]:
    """Yield a sentence and the predicted time of each product that was too large to run; none if all were run."""
    pairs = [(each, problem, result) for each, result in results for problem in each.too_large]
    if not pairs:
        return
    yield "mmcore: too much work for the emulator, which verified smaller products; predicted times:"
    for benchmark, problem, result in pairs[:_MOST]:
        cell = replace(result.cell, m=problem.m, n=problem.n, k=problem.k, timings=(), baseline="", against="")
        try:
            time = predicted(explained_time(cell, cards()[_CARD], benchmark.kernel))
        except MmcoreError as error:
            time = f"none: {error}"
        yield f"  {benchmark.kernel.name} {problem} {benchmark.config.id}: {time}"
    if len(pairs) > _MOST:
        yield f"  and {len(pairs) - _MOST} more, which mmcore why predicts"
