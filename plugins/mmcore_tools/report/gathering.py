"""The content of a report: a verdict, the reasons why a kernel is slow, and what the emulator counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from mmcore.cell import LIBRARY, Cell, brief_timings
from mmcore.cli.options import requested_cell, sized
from mmcore.errors import MmcoreError
from mmcore.executor import measure_cell
from mmcore.kernel.declaration import Kernel
from mmcore.plugins import texts
from mmcore.registry import registry
from mmcore.result import Result
from mmcore.verdict import judged
from mmcore_emulator.adapter.api import explained
from mmcore_emulator.adapter.explanation import Explanation
from mmcore_performance.cards import Card, card_of, emulator_of
from mmcore_performance.why import Why, explained_time

EXPLAINED_SIZE = 1024
"""The size whose time is explained where none is taken."""
COUNTED_SIZE = 128
"""The size of what the emulator counts beside measured times."""


@dataclass(frozen=True)
class Findings:
    """The findings about a kernel that a report shows.

    Attributes:
        kernel: the kernel.
        result: its verdict, and times if it was measured.
        hints: what to try with a wrong kernel.
        card: the card that the time is explained for.
        why: the reasons for its time; None if there are none.
        explanation: the emulator's counts and pictures; None if there are none.
        missing: why a part is missing, by its title.
    """

    kernel: Kernel
    result: Result
    hints: tuple[str, ...]
    card: Card
    why: Why | None
    explanation: Explanation | None
    missing: Mapping[str, str]


def gathered(kernel: Kernel, device: str, card: Card, asked: Mapping[str, Any], usual: int) -> Findings:
    """Return the findings about a kernel on a device, in a product of the ``usual`` size by default.

    Raises MmcoreError if it cannot be run; other parts are left out for a reason.
    """
    cell = requested_cell(kernel, device, asked, usual, timings=brief_timings("pageable"), baseline=LIBRARY)
    result = judged(measure_cell(cell), kernel, "size" if sized(asked) else "all")
    hints = registry().answers("mmcore_hints", texts, result=result)
    missing: dict[str, str] = {}
    timed, card = result.supports_timing, card_of(result) or card
    emulated = replace(cell, timings=(), baseline="", seed=result.seed).on(emulator_of(card))
    why, explanation = None, None
    try:
        large = emulated if timed or sized(asked) else _sized(emulated, kernel, EXPLAINED_SIZE)
        why = explained_time(large, card)
    except MmcoreError as error:
        missing["Why it takes its time"] = str(error)
    try:
        explanation = explained(_sized(emulated, kernel, COUNTED_SIZE) if timed else emulated)
    except MmcoreError as error:
        missing["What the emulator counts"] = str(error)
    return Findings(kernel, result, tuple(text for each in hints for text in each), card, why, explanation, missing)


def _sized(cell: Cell, kernel: Kernel, size: int) -> Cell:
    """Return a cell with a square product of that size, or of the next that the kernel allows."""
    edge = kernel.square_problem(size, *([kernel.config(**cell.config)] if cell.config else [])).n
    return replace(cell, m=edge, n=edge, k=edge, lda=0, ldb=0, ldc=0)
