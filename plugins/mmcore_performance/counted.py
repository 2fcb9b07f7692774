"""The counts of a kernel in a large product, scaled from two small ones that the emulator runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import TypeAlias

from mmcore.cell import Cell
from mmcore.compile.compiler import compile_plan
from mmcore.errors import ConstraintViolation, MmcoreError
from mmcore.executor.choose_device import open_device
from mmcore.kernel.geometry import Dim3, ceil_div
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
_DEEPER = 1.5  # least ratio of the two depths of k
_MOST_ELEMENTS = 1 << 16  # of a block's tile of C, which is kept in the registers of a multiprocessor
_MOST_WORK = 1 << 25  # m·n·k of a small product
_MOST_LEAST_WORK = 1 << 31  # of the least product that a kernel allows
_GROWS = 1.5  # a grid grows with C if its growth differs by no more than this factor
_SAME_WORK = 1.05  # k does not matter if a deeper product's blocks execute no more than this ratio of instructions
_EVEN = 1.1  # arithmetic for each element of C and k: ratio of a large product's to a small one's, at most
_SAME_AREA = 1.005  # elements of C for each block of the large product over those of the small one


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


class ConstantSteps(ConstraintViolation):
    """A kernel that takes the same number of multiply-adds for an element of C at different k: ``steps``."""

    def __init__(self, kernel: str, steps: float, depths: tuple[int, int]) -> None:
        where = " and at ".join(f"k = {k}" for k in depths)
        super().__init__(kernel, [f"it takes {steps:.0f} multiply-adds for an element of C at {where}"])
        self.steps = steps


Profiler: TypeAlias = Callable[[Cell, Plan], tuple["Counts", ...]]
"""A function that runs a small product of a planned kernel, and returns the counts of each launch."""


def counted(cell: Cell, plan: Plan, profiler: Profiler) -> tuple[Counts, ...]:
    """Return the counts of each launch of a cell, whose plan is given, from small products.

    Raises:
        ConstantSteps: both small products take as many multiply-adds for an element of C; they cannot be scaled.
        MmcoreError: no small product is allowed, or it does not run, or its counts cannot be scaled.
    """
    first, second = small_cells(cell, plan)
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
        raise ConstraintViolation(plan.kernel.name, ["its arithmetic in small products does not grow evenly with k"])
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
    """Return the counts of each launch of a small product, from the observers that ``counting`` makes."""
    observers: list[CacheCounting] = []

    def observer(blocks: Sequence[Block]) -> CacheCounting:
        observers.append(counting(blocks))
        return observers[-1]

    profile = profile_cell(cell, open_device(cell.device), plan.kernel, counting=observer)
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


def small_cells(cell: Cell, plan: Plan) -> tuple[Cell, Cell]:
    """Return two small cells that differ in k, or the same one twice where it has the cell's own k.

    Raises:
        ConstraintViolation: the kernel's constraints allow none.
    """
    usual = replace(cell, config=plan.config.to_json(), timings=(), timeout=None, baseline="", against="", lda=0)
    usual = replace(usual, ldb=0, ldc=0)
    tiles = {ceil_div(side, blocks) for side, blocks in product((cell.m, cell.n), plan.launches[0].grid_dim)}
    modes = (_whole, ()), (_whole, tiles), (_largest, ())  # depths in whole tiles are for square products
    most = _MOST_LEAST_WORK if _least_edges(plan) else _MOST_WORK
    least = [depth * (2 if plan.problem.dtype_of("A").itemsize == 1 else 1) for depth in _DEPTHS]  # 128 bytes
    for (choose, depths), deep, alike in product(modes, (_deep(plan, cell.device), 0), (_all_alike, _first_alike)):
        shallow: Cell | None = None
        for k in _lengths(cell.k, least, depths):
            if k < min(deep, cell.k) or (shallow is not None and k < _DEEPER * shallow.k):
                continue
            pairs = _least_edges(plan) or _edges(cell, k, tiles)
            smalls = (replace(usual, m=m, n=n, k=k) for m, n in pairs if m * n * k <= most)
            found = choose((small for small in smalls if alike(small, plan)), cell, plan)
            if found is not None and (shallow is not None or k == cell.k):
                return shallow or found, found
            shallow = shallow or found
    raise ConstraintViolation(plan.kernel.name, ["its constraints allow no small product"])


def _deep(plan: Plan, device: str) -> float:
    """Return a k with which a block fills its shared memory with A and B several times, as an estimate."""
    held, functions = 0.0, compile_plan(plan, open_device(device).architecture).functions
    for launch in plan.launches:
        edge = 2 * math.sqrt(min(plan.problem.m * plan.problem.n / launch.grid_dim.size, _MOST_ELEMENTS))
        shared = functions[plan.entry(launch)].static_shared_bytes + launch.shared_bytes
        held = max(held, shared / (edge * plan.problem.dtype_of("A").itemsize))
    return _TURNS * held


def _whole(candidates: Iterable[Cell], cell: Cell, plan: Plan) -> Cell | None:
    """Return the first candidate whose blocks compute as much of C each as the cell's; None if there is none."""
    for small in candidates:
        pairs = zip(plan.launches, _small_plan(small, plan).launches, strict=False)
        area = small.m * small.n / (cell.m * cell.n)
        if all(few.grid_dim.size <= _SAME_AREA * area * many.grid_dim.size for many, few in pairs):
            return small
    return None


def _largest(candidates: Iterable[Cell], cell: Cell, plan: Plan) -> Cell | None:
    """Return the candidate with the largest C, the likest to a product whose grid does not grow."""
    return max(candidates, key=lambda small: small.m * small.n, default=None)


def _lengths(size: int, usual: Sequence[int], tiles: Collection[int]) -> list[int]:
    """Return lengths of a side of a small product: usual ones with the size's remainder, divisors, whole tiles."""
    lengths = {length + size % length for length in usual if length < size}
    lengths |= {size // parts for parts in range(1, size // usual[0] + 1) if size % parts == 0}
    lengths |= {tile * times for tile in tiles if tile > 1 for times in (1, 2, 4, 8, 16, 32)}
    return sorted(length for length in lengths if usual[0] <= length <= min(usual[-1], size)) or [size]


def _edges(cell: Cell, k: int, tiles: Collection[int]) -> list[tuple[int, int]]:
    """Return pairs of m and n, the least area first; the last is a square's of side k."""
    rows, columns = _lengths(cell.m, _EDGES, tiles), _lengths(cell.n, _EDGES, tiles)
    pairs = [(m, n) for m, n in product(rows, columns) if max(m, n) <= 8 * min(m, n)]
    return [*sorted(pairs, key=lambda pair: (pair[0] * pair[1], abs(pair[0] - pair[1]))), (k, k)]


def _least_edges(plan: Plan) -> list[tuple[int, int]]:
    """Return m and n of the least square product that a kernel allows, if it is larger than small products are."""
    least = plan.kernel.square_problem(_EDGES[0])
    return [(least.m, least.n)] if min(least.m, least.n) > _EDGES[-1] else []


def _all_alike(candidate: Cell, plan: Plan) -> bool:
    """Return True if a small product has the launches of the large one."""
    return _kinds(candidate, plan) == [_kind(plan, launch) for launch in plan.launches]


def _first_alike(candidate: Cell, plan: Plan) -> bool:
    """Return True if both products begin with the same launch; the large one may be split along k."""
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
