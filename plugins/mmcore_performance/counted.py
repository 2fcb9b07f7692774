"""The counts of a kernel in a large product, scaled from two small ones that the emulator runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from mmcore.cell import Cell
from mmcore.errors import ConstraintViolation, MmcoreError
from mmcore.executor.choose_device import open_device
from mmcore.kernel.geometry import Dim3
from mmcore.kernel.launch import Launch
from mmcore.planning.plan import Plan
from mmcore.planning.plan import plan as plan_of
from mmcore_emulator.adapter.profile import profile_cell
from mmcore_emulator.isa.matrix.products import Product
from mmcore_emulator.profiler.counters import NAMES, Counters, Line
from mmcore_emulator.ptx.instructions import Block
from mmcore_performance.traffic import CacheCounting

_EDGES = (32, 64, 96, 128, 192, 256, 384, 512)  # of small products along m and n
_DEPTHS = (64, 128, 256, 512, 1024, 2048)  # along k
_TURNS = 1.25  # times that a block fills its shared memory in the shallower product, as an estimate
_DEEPER = 1.5  # k of the deeper product over that of the shallower one, at least
_MOST_ELEMENTS = 1 << 16  # of a block's tile of C, which is kept in the registers of a multiprocessor
_MOST_WORK = 1 << 25  # m·n·k of a small product
_GROWS = 1.5  # the growth of a grid over that of C, or its inverse, up to which the grid counts as growing with C
_SAME_AREA = 1.1  # elements of C for each block of the large product over those of the small one


@dataclass(frozen=True)
class Counts:
    """The counts of one launch.

    Attributes:
        grid: its blocks.
        lines: the profiler's counters by line.
        mix: instructions of warps by class, as of :class:`CacheCounting`.
        passes: passes of global accesses through the L1 cache, by kind of access.
        distinct: sectors of global memory by kind of access, once for each block that touches them.
    """

    grid: Dim3
    lines: Mapping[Line, Counters]
    mix: Mapping[str, float]
    passes: Mapping[str, float]
    distinct: Mapping[str, float]


NOTHING = Counts(Dim3(1), {}, {}, {}, {})
"""The counts of a launch that the small product has not, such as of the addition of parts: they are neglected."""

Profiler: TypeAlias = Callable[[Cell, Plan], tuple["Counts", ...]]
"""A function that runs a small product of a planned kernel, and returns the counts of each launch."""


def counted(cell: Cell, plan: Plan, profiler: Profiler) -> tuple[Counts, ...]:
    """Return the counts of each launch of a cell, whose plan is given, from small products.

    Raises:
        MmcoreError: no small product is allowed, or it does not run.
    """
    first, second = small_cells(cell, plan)
    shallow = profiler(first, plan)
    deep = shallow if second == first else profiler(second, plan)
    share = (cell.k - first.k) / (second.k - first.k) if second.k > first.k else 0.0
    totals = []
    for index in range(len(plan.launches)):
        one, other = (launches[index] if index < len(launches) else NOTHING for launches in (shallow, deep))
        ratio, other_ratio = _ratio(cell, plan, index, first, one), _ratio(cell, plan, index, second, other)
        totals.append(_weighted(one, (1 - share) * ratio, other, share * other_ratio))
    return tuple(totals)


def _ratio(cell: Cell, plan: Plan, index: int, small: Cell, counts: Counts) -> float:
    """Return the work of a launch over that of its small product: by blocks, or by C where the grid does not grow."""
    area = cell.m * cell.n / (small.m * small.n)
    blocks = plan.launches[index].grid_dim.size / counts.grid.size
    return blocks if 1 / _GROWS < blocks / area < _GROWS else area


def profiled(cell: Cell, plan: Plan) -> tuple[Counts, ...]:
    """Return the counts of each launch of a small product."""
    observers: list[CacheCounting] = []

    def counting(blocks: Sequence[Block]) -> CacheCounting:
        observers.append(CacheCounting(blocks))
        return observers[-1]

    profile = profile_cell(cell, open_device(cell.device), plan.kernel, counting=counting)
    return tuple(
        Counts(launch.grid, observer.lines, observer.mix, observer.passes, observer.distinct)
        for launch, observer in zip(profile.launched.launches, observers, strict=True)
    )


def small_cells(cell: Cell, plan: Plan) -> tuple[Cell, Cell]:
    """Return two small cells that differ in k, or the same one twice where it has the cell's own k.

    Raises:
        ConstraintViolation: the kernel's constraints allow none.
    """
    usual = replace(cell, config=plan.config.to_json(), timings=(), timeout=None, baseline="", against="", lda=0)
    usual = replace(usual, ldb=0, ldc=0)
    for alike, deep in ((_all_alike, _deep(plan)), (_first_alike, _deep(plan)), (_all_alike, 0), (_first_alike, 0)):
        shallow: Cell | None = None
        for k in _lengths(cell.k, _DEPTHS):
            if k < min(deep, cell.k) or (shallow is not None and k < _DEEPER * shallow.k):
                continue
            smalls = (replace(usual, m=m, n=n, k=k) for m, n in _edges(cell, k) if m * n * k <= _MOST_WORK)
            found = _likest((small for small in smalls if alike(small, plan)), cell, plan)
            if found is not None and shallow is not None:
                return shallow, found
            shallow = shallow or found
        if shallow is not None:
            return shallow, shallow
    raise ConstraintViolation(plan.kernel.name, ["its constraints allow no small product"])


def _deep(plan: Plan) -> float:
    """Return a k with which a block fills its dynamic shared memory with A and B several times, as an estimate."""
    held = 0.0
    for launch in plan.launches:
        edge = 2 * math.sqrt(min(plan.problem.m * plan.problem.n / launch.grid_dim.size, _MOST_ELEMENTS))
        held = max(held, launch.shared_bytes / (edge * plan.problem.dtype_of("A").itemsize))
    return _TURNS * held


def _likest(candidates: Iterator[Cell], cell: Cell, plan: Plan) -> Cell | None:
    """Return the first candidate whose blocks compute as much of C as the cell's, else the largest one."""
    largest = None
    for small in candidates:
        pairs = zip(plan.launches, _small_plan(small, plan).launches, strict=False)
        area = small.m * small.n / (cell.m * cell.n)
        if all(few.grid_dim.size <= _SAME_AREA * area * many.grid_dim.size for many, few in pairs):
            return small
        if largest is None or small.m * small.n > largest.m * largest.n:
            largest = small
    return largest


def _lengths(size: int, usual: Sequence[int]) -> list[int]:
    """Return lengths of a side of a small product: the usual ones, with the size's remainder, and its divisors."""
    lengths = {length + size % length for length in usual if length < size}
    lengths |= {size // parts for parts in range(1, size // usual[0] + 1) if size % parts == 0}
    return sorted(length for length in lengths if length <= usual[-1]) or [size]


def _edges(cell: Cell, k: int) -> list[tuple[int, int]]:
    """Return pairs of m and n, the least area first; the last is a square's of side k."""
    pairs = [(m, n) for m in _lengths(cell.m, _EDGES) for n in _lengths(cell.n, _EDGES) if max(m, n) <= 8 * min(m, n)]
    return [*sorted(pairs, key=lambda pair: (pair[0] * pair[1], abs(pair[0] - pair[1]))), (k, k)]


def _all_alike(candidate: Cell, plan: Plan) -> bool:
    """Return True if a small product has the launches of the large one."""
    return _kinds(candidate, plan) == [_kind(plan, launch) for launch in plan.launches]


def _first_alike(candidate: Cell, plan: Plan) -> bool:
    """Return True if the first launch of a small product is that of the large one, which may be split along k."""
    return _kinds(candidate, plan)[:1] == [_kind(plan, plan.launches[0])]


def _kinds(candidate: Cell, plan: Plan) -> list[tuple[object, ...]]:
    try:
        small = _small_plan(candidate, plan)
    except MmcoreError:
        return []
    return [_kind(small, launch) for launch in small.launches]


def _kind(plan: Plan, launch: Launch) -> tuple[object, ...]:
    return plan.entry(launch), launch.block_dim, launch.shared_bytes


def _small_plan(cell: Cell, plan: Plan) -> Plan:
    return plan_of(plan.kernel, cell.problem(plan.kernel), plan.config, open_device(cell.device).properties)


def _weighted(one: Counts, first: float, other: Counts, second: float) -> Counts:
    """Return the sum of two counts with weights."""
    lines = {
        line: _sum(one.lines.get(line, Counters()), first, other.lines.get(line, Counters()), second)
        for line in sorted({*one.lines, *other.lines})
    }
    mix, passes, distinct = (
        {name: max(0.0, first * a.get(name, 0) + second * b.get(name, 0)) for name in {**a, **b}}
        for a, b in ((one.mix, other.mix), (one.passes, other.passes), (one.distinct, other.distinct))
    )
    return Counts(one.grid, lines, mix, passes, distinct)


def _sum(one: Counters, first: float, other: Counters, second: float) -> Counters:
    """Return the weighted sum of counters, in whole numbers."""
    sums = {name: max(0, round(first * getattr(one, name) + second * getattr(other, name))) for name in NAMES}
    products: dict[Product, int] = {
        product: max(0, round(first * one.products.get(product, 0) + second * other.products.get(product, 0)))
        for product in {**one.products, **other.products}
    }
    return Counters(**sums, products=products)
