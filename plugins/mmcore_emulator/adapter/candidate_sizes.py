"""The problem sizes that a kernel's code asks for: both sides of its comparisons, remainders, edges, full rings."""

from __future__ import annotations

import bisect
import contextlib
import itertools
import math
import random
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial

from mmcore.cell import Cell
from mmcore.errors import MmcoreError
from mmcore.kernel.configs import Config
from mmcore.kernel.constraints import Multiple
from mmcore.kernel.declaration import Kernel
from mmcore.kernel.geometry import ceil_div
from mmcore.kernel.problem import Problem
from mmcore.kernel.properties import DeviceProperties
from mmcore.planning.plan import Plan
from mmcore_emulator.adapter.reached_sides import ReachedSides
from mmcore_emulator.conditions.expressions import Condition, conditions, leaves
from mmcore_emulator.isa.table import effect
from mmcore_emulator.ptx.instructions import Function, Instruction
from mmcore_emulator.ptx.types import Constant

_LARGE = 1 << 16
_LARGEST_TILE = 1024
_LEAST_TILE = 8
_LONG_K, _FEW = 575, 5  # of k modulo 64, all bits are set: loops over a remainder take all their turns
_MOST_CANDIDATES = 900
_RANDOM = 200  # candidates of random sizes
_PER_LINE = 6  # comparisons of a line that are followed
_NARROW = 0.3  # share of the cost that is added for rows, and for columns, of less than a tile: threads exit early
_ROUND = 0.3  # share of the cost that is added for each size that is a multiple of 8: remainders show more
_DEPTHS = 67, 35  # more than a step of 64, or of 32
_FAR = 1 << 20  # of sizes that are named, though too large to be tried: so many times too long
_PLAIN = 6  # a run without observed accesses is so many times as fast
# Seconds of a product of two elements, by whether tensor cores compute it.
_RATES = {False: 3e-7, True: 3e-8}

_OF_SIZE = re.compile(r"\{(?:[mnk]|ld[abc])\}")


@dataclass(frozen=True)
class Size:
    """A product to try, and the reason."""

    problem: Problem
    why: str
    is_extra: bool = False  # true if it is only tried where work is left
    is_due: bool = False  # true if it is tried in any case
    is_plain: bool = False  # true if it is too large for a run with every access observed: only its product is verified
    joins: bool = False  # true if it only joins sides of comparisons that sizes before it reach

    def cell(self, like: Cell) -> Cell:
        """Return a cell of this product that is otherwise like another."""
        problem = self.problem
        lda, ldb, ldc = (0, 0, 0) if problem == problem.packed else (problem.lda, problem.ldb, problem.ldc)
        return replace(like, m=problem.m, n=problem.n, k=problem.k, lda=lda, ldb=ldb, ldc=ldc)


@dataclass(frozen=True)
class CodeSizes:
    """The sizes to try of a kernel in one config.

    ``functions`` returns the PTX functions of a plan, by name expression.
    """

    kernel: Kernel
    config: Config
    device: DeviceProperties
    functions: Callable[[Plan], Mapping[str, Function]]
    most: float  # estimated seconds of the largest run
    on_tensor_cores: bool = False  # true if tensor cores compute its products
    _named: dict[str | None, str] = field(default_factory=dict)

    def __iter__(self) -> Iterator[Size]:
        """Yield the sizes, the most revealing ones first."""
        usual = list({size.problem: size for size in reversed([*self._usual()])}.values())[::-1]
        first = [*usual[:2], *self._halves(usual), *usual[2:]]
        yield from first
        yield from self._of_conditions([size.problem for size in first])

    def with_remainders(self) -> Size | None:
        """Return the first usual size that is not made of whole tiles; None if all are."""
        return next((size for size in self._usual() if not self.is_whole(size.problem)), None)

    def least_with_remainders(self) -> Size | None:
        """Return a product slightly larger than a tile; None if none is allowed."""
        (rows, columns), k = self.tile, 19
        sizes = [(rows + 3, columns + 3, k), (rows + 8, columns + 8, 24), (max(self.tile) + 3,) * 3]
        found = (size for size in self._first("a tile with remainders", sizes) if not self.is_whole(size.problem))
        return next(found, None)

    def deeper(self, problem: Problem) -> list[Problem]:
        """Return products of the same rows and columns with more steps along k."""
        return [replace(problem, k=depth, lda=0, ldb=0, ldc=0) for depth in _DEPTHS if depth > problem.k]

    def is_whole(self, problem: Problem) -> bool:
        """Return whether the rows and columns of C are whole tiles."""
        rows, columns = self.tile
        return problem.m % rows == problem.n % columns == 0

    def planned(self, problem: Problem, slower: float = 1) -> Plan | None:
        """Return the plan of a product; None if it is not allowed, or would take ``slower`` times too long."""
        with contextlib.suppress(MmcoreError):
            if not self.kernel.violations(problem, self.config):
                several = self.kernel.launches(problem, self.config, self.device)
                planned = Plan(self.kernel, problem, self.config, several)
                return planned if self._cost(planned) <= self.most * slower else None
        return None

    def seconds(self, problem: Problem, *, plain: bool = False) -> float:
        """Return an estimate of the seconds that a run takes on the emulator; infinite if not allowed."""
        faster = _PLAIN if plain else 1
        planned = self.planned(problem, faster)
        return math.inf if planned is None else self._cost(planned) / faster

    def _cost(self, planned: Plan) -> float:
        problem = planned.problem
        threads = sum(launch.grid_dim.size * launch.block_dim.size for launch in planned.launches)
        products = max(problem.m * problem.n, threads) * problem.k
        return 0.05 + _RATES[self.on_tensor_cores] * products + 5e-4 * problem.k

    def _first(self, why: str, sizes: Iterable[tuple[int, int, int]], slower: float = 1) -> Iterator[Size]:
        """Yield the first size that is allowed and affordable, as :meth:`planned`."""
        problems = (self.kernel.problem(*size) for size in itertools.islice(sizes, 400) if min(size) > 0)
        for asked in problems:
            fixed = self.kernel.with_fixed_sizes(asked, self.config)
            problem = fixed if (fixed.m, fixed.n) == (asked.m, asked.n) else asked
            if self.planned(problem, slower) is not None:
                yield Size(problem, why)
                return

    @cached_property
    def tile(self) -> tuple[int, int]:
        """The rows and columns of C that are whole in every launch, found from the grids, or as the config says.

        Where the grid depends on one of them alone, threads go over all of the other. The multiples of a kernel with a
        constant grid are those of its tiles.
        """
        rows, columns = (self._least_extent(axis) or self._multiple(axis) for axis in "mn")
        if rows or columns:
            return rows or _LEAST_TILE, columns or _LEAST_TILE
        return max(self.config.tile[0], _LEAST_TILE), max(self.config.tile[1], _LEAST_TILE)

    def _least_extent(self, axis: str) -> int:
        """Return the extent of a tile; a grid that covers the larger of two sizes depends on k as well."""
        return min(filter(None, (self._extent(axis, k) for k in (64, 1))), default=0)

    def _multiple(self, axis: str) -> int:
        """Return the multiple that the kernel asks for along an axis; 0 for none."""
        constraints = (*self.kernel.constraints, *self.kernel.program_sizes)
        asked = [each.of for each in constraints if isinstance(each, Multiple) and axis in each.sizes]
        whole = [each for each in asked if isinstance(each, int)]
        return math.lcm(*whole) if whole else 0

    def _extent(self, axis: str, k: int) -> int:
        """Return the extent of a tile, a multiple of those of all launches; 0 if no grid depends on the size.

        The extent of one launch is the number of sizes with its first grid that is not empty, along x, y or z.
        """

        def blocks(size: int) -> list[int]:
            # A grid that is rounded down is empty if the other size is small.
            sizes = {"m": _LARGEST_TILE, "n": _LARGEST_TILE, axis: size}
            problem = self.kernel.problem(sizes["m"], sizes["n"], k)
            launches = self.kernel.launches(problem, self.config, self.device)
            return [each for launch in launches for each in launch.grid_dim]

        extents = list[int]()
        with contextlib.suppress(MmcoreError, IndexError):  # other sizes may have fewer launches
            for number, first in enumerate(blocks(1)):
                along = partial(lambda number, size: blocks(size)[number], number)
                sizes = range(1, 2 * _LARGEST_TILE + 1)
                empty = 0 if first else bisect.bisect_right(sizes, 0, key=along)
                size = bisect.bisect_right(sizes, along(empty + 1), key=along) - empty
                extents += [size] if size < _LARGEST_TILE else []
        common = math.lcm(*extents)
        return (common if common <= _LARGEST_TILE else max(extents)) if extents else 0

    def _entries(self, planned: Plan) -> tuple[str, ...]:
        """Return the functions that a plan launches, in order."""
        for launch in planned.launches:
            if launch.entry not in self._named:
                self._named[launch.entry] = self.kernel.entry_named(launch.entry)
        expand = self.kernel.expand
        return tuple(expand(self._named[each.entry], planned.problem, self.config) for each in planned.launches)

    def _usual(self) -> Iterator[Size]:
        """Yield tiles with and without remainders, single rows and columns, long ones, and gaps.

        If only squares of these are allowed, yield squares with and without remainders too.
        """
        yield from (usual := list(self._tiles()))
        if all(each.problem.m == each.problem.n == each.problem.k for each in usual):
            tile, known = max(self.tile), {each.problem.n for each in usual}
            kernel = replace(self.kernel, program_sizes=())
            sizes = [kernel.square_problem(least, self.config).n for least in (2 * tile, 2 * tile + tile // 2 + 3, 1)]
            for size in dict.fromkeys(sizes):
                yield from self._first("a square", [(size, size, size)] if size not in known else [])

    def _tiles(self) -> Iterator[Size]:
        rows, columns = self.tile
        depths = (64, 32, 48, 128, 96, 256, 16, 8, 512)
        whole = ((2, 3), (1, 2), (2, 1), (1, 1), (2, 2))
        yield from self._first(
            "whole tiles", ((rows * down, columns * along, k) for k in depths for down, along in whole)
        )
        offsets = [(rows // 2 + 1, columns // 4 + 1, 3), (rows // 2, columns // 4 or 1, 8), (8, 16, 0), (0, 0, 0)]
        edges = self._first(
            "tiles with remainders",
            (
                (down * rows + more[0], along * columns + more[1], k + more[2])
                for more in offsets
                for down, along in ((2, 1), (1, 2), (1, 1), (0, 0))
                for k in (32, 64, 128)
            ),
        )
        for size in edges:
            yield replace(size, why="other whole tiles") if self.is_whole(size.problem) else size
        inside = ((rows * down, columns * along, k) for k in (35, 67) for down, along in ((1, 1), *whole))
        yield from self._first("a remainder of k alone", inside)
        few = [_FEW, 8, 16, 64, rows, columns]
        yield from self._first("one row", ((1, n, k) for k in (131, 128, 64) for n in (columns + 1, columns, _FEW)))
        yield from self._first("one column", ((m, 1, k) for k in (131, 128, 64) for m in (rows + 1, rows, _FEW)))
        yield from self._first("k = 1", ((rows + 1, columns + 2, k) for k in (1, 2, 3, 4, 5, 6, 7, 8, 16)))
        yield from self._first(
            "a long k", ((m, n, k) for k in (_LONG_K, 512, 576, 1024) for m, n in itertools.product(few, repeat=2))
        )
        if self.kernel.strided:
            yield from self._gaps()
        yield from self._beyond_grid()

    def _beyond_grid(self) -> Iterator[Size]:
        """Yield products with more elements of C than the threads, or more tiles, of a grid that grows no further."""
        with contextlib.suppress(MmcoreError):
            launches, others = (
                self.kernel.launches(self.kernel.problem(side, side, 64), self.config, self.device)
                for side in (_LARGE >> 3, _LARGE >> 2)
            )
            if [each.grid_dim for each in launches] == [each.grid_dim for each in others]:
                blocks = max(each.grid_dim.size for each in launches)
                threads = max(each.grid_dim.size * each.block_dim.size for each in launches)
                (rows, columns), along = self.tile, math.isqrt(blocks) + 1
                yield from self._beyond(math.isqrt(threads) + 3, math.isqrt(threads) + 3)
                tiled = self._multiple("m") and self._multiple("n")
                far = (along * rows, along * columns) if tiled else (4 * math.isqrt(threads) + 3,) * 2
                yield from self._beyond(*far)

    def _beyond(self, rows: int, columns: int) -> Iterator[Size]:
        """Yield a product of at least so many rows and columns that is allowed, with a short k."""
        m, n = (
            ceil_div(size, multiple) * multiple
            for size, multiple in ((rows, self._multiple("m") or 1), (columns, self._multiple("n") or 1))
        )
        sizes = ((m, n, k) for k in (1, 5, 8, 16, 32, 64, 128))
        used = (each for each in sizes if self.kernel.in_program(self.kernel.problem(*each), self.config))
        yield from self._first("more than one pass of the grid", used, _PLAIN)

    def _halves(self, usual: Sequence[Size]) -> Iterator[Size]:
        """Yield sizes that end in the middle of a vector, if the code loads, stores or copies vectors."""
        rows, columns = self.tile
        planned = self.planned(usual[0].problem) if usual else None
        functions = () if planned is None else self.functions(planned).values()
        if any(_moves_vectors(at) for function in functions for at in function.body):
            for half in (2, 4):
                sizes = itertools.product((3 * half, rows), (5 * half, columns), (32 + half,))
                yield from self._first("half a vector at the end of each row", sizes)

    def _gaps(self) -> Iterator[Size]:
        """Yield leading dimensions that are multiples of a vector's width, with gaps between the rows.

        Kernels that load vectors need aligned rows, so others are no fault of theirs.
        """
        base = next(iter(self._first("", ((33, 35, 37), (40, 48, 40), *((r, c, 64) for r, c in [self.tile])))), None)
        for width in (8, 16, 64) if base else ():
            assert base is not None
            problem = base.problem
            gaps = [width - problem.leading(matrix) % width for matrix in "ABC"]
            other = _gapped(problem, (gaps[0], gaps[1], gaps[2]))
            if self.planned(other) is not None:
                yield Size(other, f"gaps between rows, which begin at multiples of {width} elements")

    def _of_conditions(self, tried: Sequence[Problem]) -> Iterator[Size]:
        """Yield sizes on the sides of the comparisons that no tried size has reached."""
        plans = [planned for problem in tried if (planned := self.planned(problem))]
        if not plans:
            return
        entries = self._entries(plans[0])
        if any(_OF_SIZE.search(name) for name in self._named.values()):
            return  # each size has a function of its own, whose comparisons are with that size
        functions = self.functions(plans[0])
        plans = [planned for planned in plans if self._entries(planned) == entries]
        comparisons = [
            (number, condition)
            for number in range(len(entries))
            for condition in _distinct(conditions(functions[entries[number]]))
        ]
        if not comparisons:
            return
        literals = sorted({number for _, condition in comparisons for number in _numbers(condition)})
        chosen = list(range(len(plans)))
        candidates = self._candidates(plans[0].problem, literals)
        launched = {entries}
        for planned in candidates:
            if (others := self._entries(planned)) == entries:
                plans.append(planned)
            elif others not in launched:
                launched.add(others)
                yield Size(planned.problem, "another function is launched")
        costs = [self._cost(planned) * self._weight(planned.problem) for planned in plans]
        sides = ReachedSides(comparisons, plans, costs, [functions[entry] for entry in entries])
        for together in (1, 2, 3):
            for index, reason in sides.cover(chosen, together):
                yield Size(plans[index].problem, reason, is_extra=together == 3, joins=together > 1)
        # A plain run may verify the product at sizes that reach the other sides; else the first size is named.
        far = self._candidates(plans[0].problem, literals, _FAR)
        far = [planned for planned in far if self._cost(planned) > self.most]  # the others are among the plans
        plans += [planned for planned in far if self._entries(planned) == entries]
        costs += [self._cost(planned) for planned in plans[len(costs) :]]
        sides = ReachedSides(comparisons, plans, costs, [functions[entry] for entry in entries])
        for index, reason in sides.cover(chosen, 1):
            yield Size(plans[index].problem, reason, is_plain=True)

    def _weight(self, problem: Problem) -> float:
        """Return a factor of a product's cost; it is small for products that show more."""
        narrow = sum(size < extent for size, extent in zip((problem.m, problem.n), self.tile, strict=True))
        round_sizes = sum(size % 8 == 0 for size in (problem.m, problem.n, problem.k))
        return 1 + _NARROW * narrow + _ROUND * round_sizes

    def _candidates(self, base: Problem, literals: Sequence[int], slower: float = 1) -> list[Plan]:
        """Return allowed products around the numbers that the code compares with, as :meth:`planned`."""
        planned = partial(self.planned, slower=slower)
        tiles = (1, *self.tile)
        near = [number + step for number in literals for step in (0, 1, -1, 3, number // 2 | 1)]
        scaled = [number * tile + step for number in literals if number <= 256 for tile in tiles[1:] for step in (1, 0)]
        values = [each for each in dict.fromkeys((*near, *scaled, 1, 2, 3, 4, 5, 6, 7, 8)) if 1 <= each <= _LARGE]
        small = [_FEW, 8, 16, 64, *tiles[1:]]
        sizes: list[tuple[int, ...]] = []
        for value in values:
            for fixed in ((base.m, base.n, base.k), *((each, each, each) for each in small)):
                m, n, k = fixed
                sizes += [(m, n, value), (m, value, k), (value, n, k)]
            sizes += [(value, value, value), (value, value, _FEW), (1, _FEW, value), (_FEW, 1, value)]
        few = values[:12]
        sizes += [(m, n, k) for m, n in itertools.product(few, repeat=2) for k in (1, 8)]
        rows, columns = self.tile
        sizes += itertools.product((3, rows, rows + 3), (3, columns, columns + 3), (*few, 16, 19, 32, base.k))
        sizes += zip(*(random.Random(axis).choices(values, k=_RANDOM) for axis in "mnk"), strict=True)
        sizes += [(one, other, value) for value in values for one, other in ((1, 1), (1, base.n), (base.m, 1))]
        products = [self.kernel.problem(*size) for size in sorted(dict.fromkeys(sizes), key=math.prod)]
        made = list(itertools.islice(filter(None, map(planned, products)), _MOST_CANDIDATES))
        # One large size alone, which is not among the smallest products.
        lone = [size for value in values for size in ((1, 1, value), (1, value, 1), (value, 1, 1))]
        known = {each.problem for each in made}
        large = (self.kernel.problem(*size) for size in lone)
        made += filter(None, (planned(problem) for problem in large if problem not in known))
        if self.kernel.strided:
            gaps = [each for each in values if each <= 256][:24]
            gapped = [_gapped(base, (gap, gap, gap)) for gap in gaps]
            gapped += [replace(base, n=base.n - gap, k=base.k - gap) for gap in gaps if gap < min(base.n, base.k)]
            made += filter(None, map(planned, gapped))
        squares = (self.kernel.problem(value, value, k) for k in (1, 8, 64) for value in values)
        return made + list(itertools.islice(filter(None, map(planned, squares)), _MOST_CANDIDATES // 4))


def _moves_vectors(at: Instruction) -> bool:
    kind = effect(at).kind
    return kind == "copy" or (kind in ("load", "store") and any(isinstance(each, tuple) for each in at.operands))


def _gapped(problem: Problem, gaps: tuple[int, int, int]) -> Problem:
    """Return a product with gaps of so many elements between the rows (or columns) of A, B and C."""
    lda, ldb, ldc = (problem.leading(matrix) + gap for matrix, gap in zip("ABC", gaps, strict=True))
    return replace(problem, lda=lda, ldb=ldb, ldc=ldc)


def _distinct(found: Iterable[Condition]) -> list[Condition]:
    """Return the conditions, at most a few of each line."""
    by_line: dict[tuple[str, int], list[Condition]] = {}
    for condition in found:
        by_line.setdefault((condition.at.source, condition.at.line), []).append(condition)
    return [condition for several in by_line.values() for condition in several[:_PER_LINE]]


def _numbers(condition: Condition) -> Iterator[int]:
    """Yield the constants of a condition that may be sizes."""
    for leaf in leaves(condition.outcome):
        if isinstance(leaf, Constant) and leaf.type == "int":
            number = leaf.bits - 2**64 if leaf.bits >= 2**63 else leaf.bits
            if 2 <= abs(number) <= _LARGE:
                yield abs(number)
