"""The counts of a kernel in a large product, scaled from two small ones that the emulator runs."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from mmcore.cell import Cell
from mmcore.errors import ConstraintViolation, MmcoreError
from mmcore.executor.choose_device import open_device
from mmcore.kernel.geometry import Dim3
from mmcore.planning.plan import Plan
from mmcore_emulator.adapter.profile import profile_cell
from mmcore_emulator.isa.matrix.products import Product
from mmcore_emulator.profiler.counters import NAMES, Counters, Line
from mmcore_emulator.ptx.instructions import Block
from mmcore_performance.small_cells import small_cells
from mmcore_performance.stopped import stopped
from mmcore_performance.traffic import CacheCounting

_GROWS = 1.5  # a grid grows with C if its growth differs by no more than this factor
_SAME_WORK = 1.05  # k does not matter if a deeper product's blocks execute no more than this ratio of instructions
_FALLING = 0.95  # least ratio of arithmetic for each k in a deeper product, from which it is constant
_EVEN = 1.1  # arithmetic for each element of C and k: ratio of a large product's to a small one's, at most


@dataclass(frozen=True)
class Counts:
    """The counts of one launch.

    Attributes:
        grid: its blocks.
        lines: the profiler's counters by line.
        mix: instructions of warps by class, as of :class:`CacheCounting`.
        passes: passes of global accesses through the L1 cache by kind of access; "joined" are those over shared memory
            that joined loads save.
        distinct: sectors of global memory by kind of access, once for each block that touches them.
        waits: waits of warps by kind, as of :class:`CacheCounting`.
        working: blocks that access global memory, at most those of the grid; 0 if that is not known.
    """

    grid: Dim3
    lines: Mapping[Line, Counters]
    mix: Mapping[str, float]
    passes: Mapping[str, float]
    distinct: Mapping[str, float]
    waits: Mapping[str, float]
    working: float = 0


NOTHING = Counts(Dim3(1), {}, {}, {}, {}, {})
"""The counts of a launch that the small product has not, such as of the addition of parts: they are neglected."""


class UnevenWork(ConstraintViolation):
    """A kernel whose multiply-adds do not grow evenly with k; ``falling`` if deeper products take fewer for each k."""

    def __init__(self, kernel: str, falling: bool, reason: str = "") -> None:
        super().__init__(kernel, [reason or "its arithmetic in small products does not grow evenly with k"])
        self.falling = falling


class ConstantSteps(UnevenWork):
    """A kernel that takes the same number of multiply-adds for an element of C at different k: ``steps``."""

    def __init__(self, kernel: str, steps: float, depths: tuple[int, int]) -> None:
        where = " and at ".join(f"k = {k}" for k in depths)
        super().__init__(kernel, True, f"it takes {steps:.0f} multiply-adds for an element of C at {where}")
        self.steps = steps


Profiler: TypeAlias = Callable[[Cell, Plan], tuple["Counts", ...]]
"""A function that runs a small product of a planned kernel, and returns the counts of each launch."""


def counted(cell: Cell, plan: Plan, profiler: Profiler) -> tuple[Counts, ...]:
    """Return the counts of each launch of a cell, whose plan is given, from small products.

    Deeper ones are counted where they do less, as a kernel does that multiplies short parts of k in whole tiles.

    Raises:
        ConstantSteps: both small products take as many multiply-adds for an element of C; they cannot be scaled.
        MmcoreError: no small product is allowed, or it does not run, or its counts cannot be scaled.
    """
    first, second = small_cells(cell, plan)
    try:
        return _scaled(cell, plan, profiler, first, second)
    except UnevenWork as uneven:
        with contextlib.suppress(MmcoreError):
            if uneven.falling:
                return _scaled(cell, plan, profiler, *small_cells(cell, plan, 2 * first.k))
        raise


def _scaled(cell: Cell, plan: Plan, profiler: Profiler, first: Cell, second: Cell) -> tuple[Counts, ...]:
    """Return the counts of each launch of a cell from those of two small cells."""
    shallow = profiler(first, plan)
    deep = shallow if second == first else profiler(second, plan)
    share = (cell.k - first.k) / (second.k - first.k) if second.k > first.k else 0.0
    multiplying = any(
        _multiplies(second, launch) for launch in deep
    )  # not of integers, whose arithmetic has no counter
    totals = []
    for index in range(len(plan.launches)):
        one, other = (launches[index] if index < len(launches) else NOTHING for launches in (shallow, deep))
        blocks = plan.launches[index].grid_dim.size
        if first.k < second.k and multiplying and not _multiplies(second, other):
            totals.append(_weighted(one, 0.0, other, _growth(cell, blocks, second, one, other)))
        else:
            ratios = _ratio(cell, blocks, first, one), _ratio(cell, blocks, second, other)
            totals.append(_weighted(one, (1 - share) * ratios[0], other, share * ratios[1]))
    small_work = [_arithmetic(small) / (at.m * at.n * at.k) for small, at in ((shallow, first), (deep, second))]
    work = _arithmetic(totals) / (cell.m * cell.n * cell.k)
    if not min(small_work) / _EVEN <= work <= max(small_work) * _EVEN:
        if first.k < second.k and small_work[0] * first.k == small_work[1] * second.k:
            raise ConstantSteps(plan.kernel.name, small_work[0] * first.k, (first.k, second.k))
        raise UnevenWork(plan.kernel.name, small_work[1] < _FALLING * small_work[0])
    return tuple(totals)


def _arithmetic(launches: Iterable[Counts]) -> float:
    """Return the multiply-adds of launches."""
    counters = [each for counts in launches for each in counts.lines.values()]
    return sum(each.fmas + each.tensor_flops / 2 for each in counters)


def _multiplies(small: Cell, counts: Counts) -> bool:
    """Return True if a launch multiplies the matrices of a small product, rather than convert, move or add up."""
    return sum(each.flops + each.tensor_flops for each in counts.lines.values()) >= small.m * small.n * small.k


def _block_work(counts: Counts) -> float:
    """Return the instructions of a block."""
    return sum(counts.mix.values()) / counts.grid.size


def _growth(cell: Cell, blocks: int, small: Cell, shallow: Counts, deep: Counts) -> float:
    """Return how often a launch that multiplies nothing does the work of the deeper small product.

    Where each block does the same at any k, as in most conversions, there are more blocks, or C is larger. Else a grid
    that does not grow shares A and B.
    """
    if _block_work(deep) >= _SAME_WORK * _block_work(shallow):
        return (cell.m + cell.n) * cell.k / ((small.m + small.n) * small.k)
    return blocks / deep.grid.size if blocks != deep.grid.size else cell.m * cell.n / (small.m * small.n)


def _ratio(cell: Cell, blocks: int, small: Cell, counts: Counts) -> float:
    """Return how often a launch does the work of its small product: by blocks, or by C where the grid does not grow."""
    area = cell.m * cell.n / (small.m * small.n)
    grown = blocks / counts.grid.size
    return grown if 1 / _GROWS < grown / area < _GROWS else area


def profiled(
    cell: Cell, plan: Plan, counting: Callable[[Sequence[Block]], CacheCounting] = CacheCounting
) -> tuple[Counts, ...]:
    """Return the counts of each launch of a small product, from the observers that ``counting`` makes.

    Raises:
        ConstraintViolation: an error stops a launch, or keeps it from ending.
    """
    observers: list[CacheCounting] = []

    def observer(blocks: Sequence[Block]) -> CacheCounting:
        observers.append(counting(blocks))
        return observers[-1]

    profile = profile_cell(cell, open_device(cell.device), plan.kernel, counting=observer)
    if end := stopped(cell, profile.violations):
        raise ConstraintViolation(plan.kernel.name, [end])
    return tuple(
        Counts(
            launch.grid,
            observer.lines,
            observer.mix,
            observer.passes,
            observer.distinct,
            observer.waits,
            observer.working,
        )
        for launch, observer in zip(profile.launched.launches, observers, strict=True)
    )


def _weighted(one: Counts, first: float, other: Counts, second: float) -> Counts:
    """Return the sum of two counts with weights."""
    lines = {
        line: _sum(one.lines.get(line, Counters()), first, other.lines.get(line, Counters()), second)
        for line in sorted({*one.lines, *other.lines})
    }
    mix, passes, distinct, waits = (
        {name: max(0.0, first * a.get(name, 0) + second * b.get(name, 0)) for name in {**a, **b}}
        for a, b in (
            (one.mix, other.mix),
            (one.passes, other.passes),
            (one.distinct, other.distinct),
            (one.waits, other.waits),
        )
    )
    working = max(0.0, first * one.working + second * other.working)
    return Counts(one.grid, lines, mix, passes, distinct, waits, working)


def _sum(one: Counters, first: float, other: Counters, second: float) -> Counters:
    """Return the weighted sum of counters, in whole numbers."""
    sums = {name: max(0, round(first * getattr(one, name) + second * getattr(other, name))) for name in NAMES}
    products: dict[Product, int] = {
        kind: max(0, round(first * one.products.get(kind, 0) + second * other.products.get(kind, 0)))
        for kind in {**one.products, **other.products}
    }
    return Counters(**sums, products=products)
