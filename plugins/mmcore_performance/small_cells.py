"""The small products of a kernel whose counts are scaled to those of a large product."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from itertools import product

from mmcore.cell import Cell
from mmcore.compile.compiled_module import CompiledModule
from mmcore.compile.compiler import compile_plan
from mmcore.errors import ConstraintViolation, MmcoreError
from mmcore.executor.choose_device import open_device
from mmcore.kernel.geometry import ceil_div
from mmcore.kernel.launch import Launch
from mmcore.planning.plan import Plan
from mmcore.planning.plan import plan as plan_of
from mmcore_emulator.adapter.same_branches import same_branches

_EDGES = (32, 64, 96, 128, 192, 256, 384, 512)  # of small products along m and n
_DEPTHS = (64, 128, 256, 512, 1024, 2048)  # along k
_TURNS = 1.25  # times that a block fills its shared memory in the shallower product, as an estimate
_DEEPER = 1.5  # least ratio of the two depths of k
_MOST_ELEMENTS = 1 << 16  # of a block's tile of C, which is kept in the registers of a multiprocessor
_MOST_WORK = 1 << 25  # m·n·k of a small product
_MOST_OF_BRANCHES = 1 << 27  # of one that takes the large product's branches, where no smaller one does
_MOST_LEAST_WORK = 1 << 31  # of the least product that a kernel allows
_SAME_AREA = 1.005  # elements of C for each block of the large product over those of the small one


def small_cells(cell: Cell, plan: Plan, least_k: float = 0) -> tuple[Cell, Cell]:
    """Return two small cells that differ in k, or the same one twice where it has the cell's own k.

    Their k is no less than ``least_k``.

    Raises:
        ConstraintViolation: the kernel's constraints allow none.
    """
    usual = replace(cell, config=plan.config.to_json(), timings=(), timeout=None, baseline="", against="", lda=0)
    usual = replace(usual, ldb=0, ldc=0)
    tiles = {ceil_div(side, blocks) for side, blocks in product((cell.m, cell.n), plan.launches[0].grid_dim)}
    modes = (_whole, ()), (_whole, tiles), (_largest, ())  # depths in whole tiles are for square products
    most = _MOST_LEAST_WORK if _least_edges(plan) else _MOST_WORK
    least = [depth * (2 if plan.problem.dtype_of("A").itemsize == 1 else 1) for depth in _DEPTHS]  # 128 bytes
    device = open_device(cell.device)
    module = compile_plan(plan, device.architecture)
    deepest, same = max(least_k, _deep(plan, module)), same_branches(plan, module, device.properties)
    branches = (same, most), (same, max(most, _MOST_OF_BRANCHES)), (lambda small: True, most)
    for (takes, most), (choose, depths), deep, alike in product(
        branches, modes, (deepest, least_k), (_all_alike, _first_alike)
    ):
        shallow: Cell | None = None
        for k in _lengths(cell.k, least, depths):
            if k < min(deep, cell.k) or (shallow is not None and k < _DEEPER * shallow.k):
                continue
            pairs = _least_edges(plan) or _edges(cell, k, tiles)
            smalls = (replace(usual, m=m, n=n, k=k) for m, n in pairs if m * n * k <= most)
            found = choose((small for small in smalls if alike(small, plan) and takes(small)), cell, plan)
            if found is not None and (shallow is not None or k == cell.k):
                return shallow or found, found
            shallow = shallow or found
    raise ConstraintViolation(plan.kernel.name, ["its constraints allow no small product"])


def _deep(plan: Plan, module: CompiledModule) -> float:
    """Return a k with which a block fills its shared memory with A and B several times, as an estimate."""
    held, functions = 0.0, module.functions
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
