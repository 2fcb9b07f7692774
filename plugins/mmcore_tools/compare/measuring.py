"""The measurement of both sides: a verdict on each, and times in turns or counts."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

from mmcore.cell import Cell, Timing
from mmcore.cli.options import requested_cell, requested_config, requested_sizes, sized
from mmcore.deadline import left, whole
from mmcore.errors import InvalidProblem, MmcoreError, TimeLimit, WorkLimit
from mmcore.executor import measure_cell
from mmcore.executor.choose_device import device_name, device_properties
from mmcore.kernel.constraints import FixingConstraint
from mmcore.kernel.declaration import Kernel
from mmcore.kernel.sizes import Sizes, size_text
from mmcore.planning.plan import plan_cell
from mmcore.result import Result
from mmcore.result_view import verdict
from mmcore.time_ratio import Ratio
from mmcore.verdict import judged
from mmcore.verify.inputs import fresh_seed
from mmcore_emulator.adapter.api import profiled
from mmcore_emulator.adapter.small_product import smaller_sizes
from mmcore_performance.cards import Card, card_of, emulator_of
from mmcore_pytest.counts import Change
from mmcore_tools.compare.counts import changes, work
from mmcore_tools.compare.explained import Explained, also_predicted, explained
from mmcore_tools.compare.operands import Side

#: Enough rounds for an interval at 95 % confidence, which takes six.
IN_TURNS = Timing(max_seconds=0.6, min_rounds=9, min_round_seconds=5e-3, max_rounds=50)
PREDICTED_SIZE = 1024
"""The default size of reasons and predicted times; a small product says little about a card."""
_ALSO_PREDICTED = (256, 4096)
UNTIMED_SIZE = 128
"""The default size where no time is taken."""
_EMULATOR_SECONDS = 30.0  # for counts and reasons beside measured times
_UNCOUNTED = "none: "
_PART_OF_A, _PART_OF_B = 1 / 3, 1 / 2  # of the time that is left, which the further sizes of a verdict take at most
_SAME_PERCENT = 10.0  # a predicted time that is longer by less counts as the same
_MOST_WORK = 1 << 26  # m·n·k of products that are verified on the emulator
_ATTEMPTS = 64  # to find a size that both kernels allow


@dataclass(frozen=True)
class Comparison:
    """Two sides, measured.

    Attributes:
        sides: A and B.
        results: the result of each, with the verdict.
        ratio: their times; None unless both are right and were timed.
        changes: the counts of A and of B; none unless both are right.
        counted: the product whose counts these are, if it is not the requested one, or why there are none.
        explained: their reasons, with predicted times; None if there are none.
        unpredicted: the error that left out predicted times, or those of further sizes; None without one.
        right_at: the measured size, as "128x128x128", if both are right there, and one is wrong at others; else "".
    """

    sides: tuple[Side, Side]
    results: tuple[Result, Result]
    ratio: Ratio | None = None
    changes: Sequence[Change] = ()
    counted: str = ""
    explained: Explained | None = None
    unpredicted: MmcoreError | None = None
    right_at: str = ""

    @property
    def right(self) -> bool:
        """True if both are right."""
        return all(result.verified for result in self.results)

    @property
    def unfinished(self) -> str:
        """The time limit that left no time for counts, in words; "" if there are counts or times."""
        return self.counted.removeprefix(_UNCOUNTED) if self.counted.startswith(_UNCOUNTED) and not self.ratio else ""

    @property
    def needs_time(self) -> bool:
        """True if more time gives counts or predicted times."""
        too_late = isinstance(self.unpredicted, TimeLimit) and not isinstance(self.unpredicted, WorkLimit)
        return too_late or bool(self.unfinished)

    @property
    def why_unpredicted(self) -> str:
        """The reason why predicted times are left out, in words; "" if none are."""
        return str(self.unpredicted or "").partition("\n")[0]

    @property
    def slower(self) -> bool:
        """True if B is slower; without times, if all counts of its work that differ have grown.

        If none differ, or others have shrunk, the predicted times decide, if there are any.
        """
        if self.ratio is not None:
            return self.ratio.answer == "slower"
        grown = [change.grew(0) for change in work(self.changes)]
        longer = self.explained.percent if self.explained else None
        if longer is None or (grown and all(grown)):
            return any(grown)
        return longer > _SAME_PERCENT


def compared(
    sides: tuple[Side, Side], device: str, card: Card, asked: Mapping[str, Any], usual: int, *, reasons: bool
) -> Comparison:
    """Measure both sides on a device in one product of the ``usual`` size, unless the options name another.

    Where the device has no times, those on a ``card`` are predicted. With ``reasons``, these are compared, and on a GPU
    the emulator's counts.

    Raises MmcoreError if a side cannot be run, or if the device has times and they cannot be taken in turns.
    """
    options = {**asked, "seed": fresh_seed() if asked.get("seed") is None else asked["seed"]}
    large = _cells(sides, device, options, usual)
    cell_a, cell_b = small = large if usual != UNTIMED_SIZE else _emulated(sides, large, options)
    extent = "size" if sized(asked) else "all"
    measured_a = measure_cell(cell_a)
    a = _judged(measured_a, sides[0].kernel, extent, _PART_OF_A)
    if a.verified and a.supports_timing:
        cell_b = replace(cell_b, rival={"kernel": cell_a.kernel, "config": a.config if cell_a.config else {}})
    try:
        measured_b = measure_cell(cell_b)
    except TimeLimit as limit:
        raise TimeLimit(f"{limit}: {verdict(a, sides[0].kernel)} for A, and none for B") from None
    b = _judged(measured_b, sides[1].kernel, extent, _PART_OF_B)
    if not (a.verified and b.verified):
        right = extent == "all" and _right_as_measured(sides, (measured_a, measured_b))
        return Comparison(sides, (a, b), right_at=_size(small).replace("×", "x") if right else "")
    if a.supports_timing:
        comparison = Comparison(sides, (a, b), ratio(a, b), changes((a, b), ()))
        return _with_counts(comparison, (cell_a, cell_b), card_of(a) or card, options) if reasons else comparison
    try:
        profiles = [profiled(cell.on(a.device)) for cell in (cell_a, cell_b)]
    except TimeLimit as limit:
        return Comparison(sides, (a, b), None, changes((a, b), ()), f"{_UNCOUNTED}{limit}")
    where = "" if small is large else f"of {_size(small)} on the emulator, for which {_size(large)} is too much work"
    comparison = Comparison(sides, (a, b), None, changes((a, b), profiles), where)
    return _with_predictions(comparison, card, options, extent) if reasons else comparison


def _with_predictions(comparison: Comparison, card: Card, options: Mapping[str, Any], extent: str) -> Comparison:
    """Return a comparison of counts with predicted times and reasons, or the reason why they are lacking."""
    sides, device = comparison.sides, comparison.results[0].device
    try:
        found = explained(_cells(sides, device, options, PREDICTED_SIZE), [side.kernel for side in sides], card)
        comparison = replace(comparison, explained=found)
        if extent == "all":
            others = [_cells(sides, device, options, size) for size in _ALSO_PREDICTED]
            comparison = replace(comparison, explained=also_predicted(found, others, card))
    except MmcoreError as error:  # the card cannot launch them, a small product is refused, or the time is over
        return replace(comparison, unpredicted=error)
    return comparison


def _judged(result: Result, kernel: Kernel, extent: str, part: float) -> Result:
    """Return a result's verdict, which takes a part of the time that is left to the command at most."""
    try:
        rest = left(None)
    except TimeLimit:
        return replace(result, not_tried="time limit")
    with whole(None if rest is None else part * rest):
        return judged(result, kernel, extent)


def _right_as_measured(sides: tuple[Side, Side], measured: tuple[Result, Result]) -> bool:
    """Return whether both results are right and without hazards at their own size."""
    pairs = zip(sides, measured, strict=True)
    return all(each.verified for each in measured) and all(
        judged(each, side.kernel, "size").verified for side, each in pairs
    )


def _with_counts(comparison: Comparison, cells: Sequence[Cell], card: Card, options: Mapping[str, Any]) -> Comparison:
    """Return a comparison of times with the emulator's counts of a small product, and the reasons of the timed one."""
    unsized = {name: value for name, value in options.items() if name not in (*"mnk", "size", "lda", "ldb", "ldc")}
    try:
        with whole(_EMULATOR_SECONDS):
            small = _cells(comparison.sides, emulator_of(card), unsized, UNTIMED_SIZE)
            profiles = [profiled(cell) for cell in small]
            counted = f"of {_size(small)} on the emulator"
            comparison = replace(comparison, changes=changes(comparison.results, profiles), counted=counted)
            untimed = [replace(cell, timings=(), rival={}, baseline="") for cell in cells]
            found = explained(untimed, [side.kernel for side in comparison.sides], card)
            return replace(comparison, explained=found)
    except MmcoreError as error:
        return comparison if comparison.counted else replace(comparison, counted=f"{_UNCOUNTED}{error}")


def _emulated(sides: tuple[Side, Side], cells: Sequence[Cell], asked: Mapping[str, Any]) -> Sequence[Cell]:
    """Return cells like these, with a product that the emulator runs in seconds; the same if there is none."""
    sizes = cells[0].m, cells[0].n, cells[0].k
    unsized = {name: value for name, value in asked.items() if name not in ("size", "lda", "ldb", "ldc")}
    for small in smaller_sizes(sizes) if prod(sizes) > _MOST_WORK else ():
        with contextlib.suppress(MmcoreError):
            named = {**unsized, **dict(zip("mnk", small, strict=True))}
            several = _cells(sides, cells[0].device, named, UNTIMED_SIZE)
            for cell, side in zip(several, sides, strict=True):
                plan_cell(cell, device_properties(device_name(cell.device)), side.kernel)
            return several
    return cells


def _size(cells: Sequence[Cell]) -> str:
    return f"{cells[0].m}×{cells[0].n}×{cells[0].k}"


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
        allowed = " and ".join(_allowed(side, each, usual) for side, each in zip(sides, options, strict=True))
        raise InvalidProblem(f"no size from {usual} up is allowed by both kernels: {allowed}; --size names one")
    return [
        requested_cell(
            side.kernel, device, {**each, "size": Sizes(*sizes[0]), **dict.fromkeys("mnk")}, usual, timings=(IN_TURNS,)
        )
        for side, each in zip(sides, options, strict=True)
    ]


def _allowed(side: Side, asked: Mapping[str, Any], usual: int) -> str:
    """Return the first size that a side allows by default, in words, and those that its source fixes, if it does."""
    sizes = requested_sizes(side.kernel, asked, usual, requested_config(side.kernel, asked))
    fixed = next((each.description for each in side.kernel.constraints if isinstance(each, FixingConstraint)), "")
    return f"{side.label} allows {size_text(sizes._asdict())}{fixed and f' ({fixed})'}"


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
