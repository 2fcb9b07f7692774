"""The first reason why a kernel is slow, in one sentence below its result."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from mmcore.errors import MmcoreError
from mmcore.registry import referenced_kernel
from mmcore.result import Result
from mmcore_performance.cards import card_of
from mmcore_performance.reasons.reason import on
from mmcore_performance.why import explained_time, sentence

_LARGE = 1024
"""The size that is explained where no time is taken, whose own sizes are small."""


def remarks(result: Result) -> Iterable[str]:
    """Yield the first reason of a result's kernel on its card; nothing if it cannot be found."""
    card = card_of(result)
    if card is None or result.cell.force:
        return
    cell = replace(result.cell, timings=(), baseline="", against="")
    try:
        kernel = referenced_kernel(cell.kernel)
        if not result.supports_timing:
            edge = kernel.square_problem(_LARGE, kernel.config(**result.config)).n
            cell = replace(cell, m=edge, n=edge, k=edge, lda=0, ldb=0, ldc=0)
        found = explained_time(cell, card)
    except MmcoreError:
        return
    where = f" at {cell.m}×{cell.n}×{cell.k} on {on(card.name)}"
    for reason in found.reasons[:1]:
        yield f"{sentence(reason, kernel, where)}; {reason.advice} (mmcore why has more)"
