"""The measurement of both sides: a verdict on each, and times in turns or counts."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from mmcore.cell import Cell, Timing
from mmcore.cli.options import requested_cell, requested_config, requested_sizes, sized
from mmcore.errors import InvalidProblem, MmcoreError
from mmcore.executor import measure_cell
from mmcore.kernel.sizes import Sizes
from mmcore.result import Result
from mmcore.verdict import judged
from mmcore.verify.inputs import fresh_seed
from mmcore_emulator.adapter.api import profiled
from mmcore_performance.cards import Card
from mmcore_pytest.counts import Change
from mmcore_tools.compare.counts import changes, work
from mmcore_tools.compare.explained import Explained, explained
from mmcore_tools.compare.operands import Side
from mmcore_tools.compare.ratio import Ratio

#: Enough rounds for an interval at 95 % confidence, which takes six.
IN_TURNS = Timing(max_seconds=0.6, min_rounds=9, min_round_seconds=5e-3, max_rounds=50)
PREDICTED_SIZE = 1024
"""The default size of predicted times; a small product says little about a card."""
_ATTEMPTS = 64  # to find a size that both kernels allow


@dataclass(frozen=True)
class Comparison:
    """Two sides, measured.

    Attributes:
        sides: A and B.
        results: the result of each, with the verdict.
        ratio: their times; None unless both are right and were timed.
        changes: the counts of A and of B; none unless both are right.
        explained: their predicted times with reasons; None with measured ones, or if there are none.
    """

    sides: tuple[Side, Side]
    results: tuple[Result, Result]
    ratio: Ratio | None = None
    changes: Sequence[Change] = ()
    explained: Explained | None = None

    @property
    def right(self) -> bool:
        """True if both are right."""
        return all(result.verified for result in self.results)

    @property
    def slower(self) -> bool:
        """True if B is slower; without times, if counts of its work have grown.

        If other counts have shrunk, the predicted times decide, if there are any.
        """
        if self.ratio is not None:
            return self.ratio.answer == "slower"
        grown = [change.grew(0) for change in work(self.changes)]
        return any(grown) and (all(grown) or self.explained is None or self.explained.grew)


def compared(sides: tuple[Side, Side], device: str, card: Card, asked: Mapping[str, Any], usual: int) -> Comparison:
    """Measure both sides on a device in one product of the ``usual`` size, unless the options name another.

    Where the device has no times, those on a ``card`` are predicted.

    Raises MmcoreError if a side cannot be run, or if the device has times and they cannot be taken in turns.
    """
    options = {**asked, "seed": fresh_seed() if asked.get("seed") is None else asked["seed"]}
    cell_a, cell_b = _cells(sides, device, options, usual)
    extent = "size" if sized(asked) else "all"
    a = judged(measure_cell(cell_a), sides[0].kernel, extent)
    if a.verified and a.supports_timing:
        cell_b = replace(cell_b, rival={"kernel": cell_a.kernel, "config": a.config if cell_a.config else {}})
    b = judged(measure_cell(cell_b), sides[1].kernel, extent)
    if not (a.verified and b.verified):
        return Comparison(sides, (a, b))
    if a.supports_timing:
        return Comparison(sides, (a, b), ratio(a, b), changes((a, b), ()))
    profiles = [profiled(cell.on(a.device)) for cell in (cell_a, cell_b)]
    comparison = Comparison(sides, (a, b), None, changes((a, b), profiles))
    with contextlib.suppress(MmcoreError):  # the card cannot launch them, or no small product of them can be counted
        large = _cells(sides, a.device, options, PREDICTED_SIZE)
        comparison = replace(comparison, explained=explained(large, [side.kernel for side in sides], card))
    return comparison


def _cells(sides: tuple[Side, Side], device: str, asked: Mapping[str, Any], usual: int) -> Sequence[Cell]:
    """Return the cells of both sides, of one size, which is the usual or the next that both allow by default."""
    options = [{**asked, "configs": (side.config,)} for side in sides]
    size = usual
    for _ in range(_ATTEMPTS):
        sizes = [
            requested_sizes(side.kernel, each, size, requested_config(side.kernel, each))
            for side, each in zip(sides, options, strict=True)
        ]
        if sizes[0] == sizes[1]:
            break
        size = max(each.m for each in sizes)
    else:
        raise InvalidProblem(f"no size from {usual} up is allowed by both kernels; --size names one")
    return [
        requested_cell(
            side.kernel, device, {**each, "size": Sizes(*sizes[0]), **dict.fromkeys("mnk")}, usual, timings=(IN_TURNS,)
        )
        for side, each in zip(sides, options, strict=True)
    ]


def ratio(a: Result, b: Result) -> Ratio:
    """Return the ratio of the times of ``b``'s rounds, which took turns with A's. Raises MmcoreError without any."""
    turns = next(iter(b.compared), None)
    if turns is None or turns.faster is None or turns.interval is None:
        raise MmcoreError(f"A and B were not timed in turns: {turns.reason if turns else 'there are no times'}")
    clocks, cycles = None, None
    if (first := a.conditions.get("clock_mhz")) and (second := b.conditions.get("clock_mhz")):
        clocks = first, second
        if a.kernel_seconds and b.kernel_seconds:
            cycles = a.kernel_seconds * first / (b.kernel_seconds * second)
    return Ratio(turns.faster, turns.interval, clocks, cycles)
