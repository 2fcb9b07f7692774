"""The test cases of a kernel: products and configs on both sides of each of its constraints.

The search only asks whether the constraints allow a product, so it works for a third party's constraints too. It tries
the usual sizes first, with whole tiles, whose extent follows from the grid. Then it tries the sizes next to an allowed
one, axis by axis, for the nearest allowed and violating sizes on either side. A product that violates a constraint
becomes a case that must be refused. Random products follow. A few of the others are thorough cases.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

from mmcore.cell import Cell
from mmcore.errors import InvalidBlock, InvalidConfig, InvalidKernel
from mmcore.kernel.configs import BLOCK, Config
from mmcore.kernel.declaration import Kernel
from mmcore.kernel.geometry import dim3
from mmcore.kernel.problem import Problem
from mmcore.kernel.properties import DeviceProperties
from mmcore_emulator.adapter.allowed_sizes import with_fixed_sides
from mmcore_tools.conform.fixed_sizes import fixed_products
from mmcore_tools.conform.outcome import Case, Cases
from mmcore_tools.conform.random_sizes import MOST_WORK, affordable, random_sizes, work
from mmcore_tools.conform.usual_sizes import usual_sizes, varied

MOST_PER_CONFIG = 96
"""Products tested in each config."""

USUAL_WORK = 1 << 21
"""The m·n·k of the largest product if smaller ones are allowed: several blocks, a second of emulation."""

USUAL_WHOLE_WORK = 1 << 24
"""The same in whole tiles: few rows of a large tile take as long as all of its rows."""

USUAL_TILE = 64
"""The rows and columns of a tile if the grid is the same for every size."""

# The largest size of an exhaustive search, and the sizes of one axis to try if no smaller product is allowed.
_LARGEST, _LARGE = 512, (640, 768, 1024, 1536, 2048, 4096)
_SQUARES = [(size, size, size) for size in range(1, _LARGEST + 1)]
_DIRECTIONS = ("m", "n", "k", "mn", "mk", "nk", "mnk")
_STEPS_AWAY = 128
_LONG, _THIN = 257, 5
_GAPS = {"lda": 3, "ldb": 5, "ldc": 7}
_THREADS = 1024
_GAP_STEPS, _MOST_GAP = (1, 4, 8, 16), 9  # leading dimensions of random products are multiples of these
# Thorough cases in each config: so many of them, of so much work in whole tiles, these first.
_THOROUGH, _THOROUGH_WORK = 16, 1 << 23
_TELLING = (
    "the smallest m = n = k allowed",
    "k smaller than the tile",
    "prime sizes",
    "blocks and a rest",
    "one row",
    "one column",
    "a wide and tall grid of tiles",
    "a deep grid of tiles",
    "whole tiles",
    "whole tiles and a rest",
    "a long k",
    "a whole block",
    "three different sizes",
)

_Products: TypeAlias = Iterator[tuple[str, Problem]]
"""Pairs of a reason and the product to test for it."""


def find_cases(kernel: Kernel, device: DeviceProperties, seed: int = 0) -> Cases:
    """Return the test cases of a kernel, in each of its usual configs; ``seed`` draws the random products.

    Raises:
        InvalidKernel: its constraints fail, or allow no product in one of its configs.
    """
    allowed: list[Case] = []
    violating: list[Case] = []
    left_out, violated = 0, set[str]()
    for config in kernel.usual_configs:
        found: dict[tuple[Problem, Config], str] = {}
        search = _Search(kernel, config, device)
        for why, problem, other in search.candidates():
            found.setdefault((problem, other), why)
        usual = len(found)
        for why, problem in search.random_products(random.Random(f"{seed} {config.id}")):
            found.setdefault((problem, config), why)
        runs: list[Case] = []
        for number, ((problem, other), why) in enumerate(found.items()):
            gaps = {} if problem == problem.packed else {name: getattr(problem, name) for name in _GAPS}
            cell = Cell(kernel.name, problem.m, problem.n, problem.k, config=other.to_json(), **gaps)
            case = Case(cell, other.id, why, thorough=number < usual)
            (violating if kernel.violations(problem, other) else runs).append(case)
        small = [case for case in runs if not case.thorough or search.is_usual(case)]
        least = sorted((case for case in runs if case.thorough), key=lambda case: case.work)[:2]
        chosen = ([] if any(case.thorough for case in small) else least) + small
        chosen = chosen[:MOST_PER_CONFIG]
        allowed += search.few_thorough(chosen)
        left_out += len(runs) - len(chosen)
        violated |= {each.description for each in kernel.constraints if any(each.violation(*pair) for pair in found)}
    not_found = [("constraints", each.description) for each in kernel.constraints if each.description not in violated]
    if kernel.strided and not any(case.cell.lda for case in allowed):
        not_found.append(("product", "gaps between rows"))
    return Cases(tuple(allowed), tuple(violating), tuple(not_found), left_out)


@dataclass(frozen=True)
class _Search:
    """The search for the test cases of a kernel in one config."""

    kernel: Kernel
    config: Config
    device: DeviceProperties

    def is_usual(self, case: Case) -> bool:
        """Return whether a case is small enough, in itself and in whole tiles."""
        sizes = (case.cell.m, case.cell.n, case.cell.k)
        return case.work <= USUAL_WORK and max(work(sizes, *tile) for tile in self._tiles) <= USUAL_WHOLE_WORK

    def few_thorough(self, cases: Sequence[Case]) -> list[Case]:
        """Return the cases with only a few thorough ones, the telling ones and those with gaps between rows first."""
        usual = [case for case in cases if case.thorough]
        rows, columns = self._tiles[0]
        looked, done = set[int](), 0
        for case in sorted(usual, key=lambda case: not (case.why in _TELLING or case.cell.lda)):
            more = work((case.cell.m, case.cell.n, case.cell.k), rows, columns)
            if not looked or (len(looked) < _THOROUGH and done + more <= _THOROUGH_WORK):
                looked.add(id(case))
                done += more
        return [replace(case, thorough=id(case) in looked) for case in cases]

    def candidates(self) -> Iterator[tuple[str, Problem, Config]]:
        """Yield products and configs to test, allowed or not, with the reason."""
        products = list(self._products())
        uneven = (problem for _, problem in products if len({problem.m, problem.n, problem.k}) > 1)
        apart = list(dict.fromkeys(self._allowed(uneven)))[:8]
        mixed = ((one.m, other.n, one.k) for one in apart for other in apart)
        products += self._first("three different sizes", self._sized(each for each in mixed if len(set(each)) == 3))
        yield from ((why, problem, self.config) for why, problem in products)
        strange = list(self._strange())
        for constraint in self.kernel.constraints:
            alone = replace(self.kernel, constraints=(constraint,))
            violating = (pair for pair in strange if alone.violations(*pair))
            # The pair that violates the fewest other constraints shows this one best.
            for pair in sorted(violating, key=lambda pair: len(self.kernel.violations(*pair)))[:1]:
                yield f"violates: {constraint.description}", *pair

    def random_products(self, rng: random.Random) -> _Products:
        """Yield allowed products of random sizes, half of them with gaps between rows if the kernel allows gaps."""
        rows, columns = self._tiles[0]
        further = varied(self._base, "k", ((1, step) for step in range(1, _STEPS_AWAY + 1)))
        step = next((each.k - self._base.k for each in self._allowed(further)), self._base.k)
        done = 0
        for why, sizes in random_sizes(rows, columns, step, rng):
            if done > MOST_WORK:
                return
            possible = self._sized(each for each in sizes if affordable(each, why, rows, columns))
            for problem in itertools.islice(self._allowed(possible), 1):
                done += work((problem.m, problem.n, problem.k), rows, columns)
                gapped = self._randomly_gapped(problem, rng) if self.kernel.strided and rng.random() < 0.5 else problem
                yield why, next(self._allowed((gapped, problem)))

    def _randomly_gapped(self, problem: Problem, rng: random.Random) -> Problem:
        leading = {}
        for axis in _GAPS:
            step = rng.choice(_GAP_STEPS)
            leading[axis] = -(-(getattr(problem, axis) + rng.randint(1, _MOST_GAP)) // step) * step
        return replace(problem, **leading).packed_except(self.kernel.strided)

    def _allowed(self, problems: Iterable[Problem]) -> Iterator[Problem]:
        return (problem for problem in problems if not self.kernel.violations(problem, self.config))

    def _first(self, why: str, problems: Iterable[Problem]) -> _Products:
        """Return the first allowed product, if any."""
        return ((why, problem) for problem in itertools.islice(self._allowed(problems), 1))

    def _sized(self, sizes: Iterable[Sequence[int]]) -> Iterator[Problem]:
        return (with_fixed_sides(self.kernel, self.config, *each) for each in sizes)

    @cached_property
    def _base(self) -> Problem:
        """The allowed product whose neighbours are tried: about one block, a square, or the product of least work.

        Of a kernel whose source fixes its sizes, it is one of those.
        """
        block = self.config.block
        flat = ((size, block.x, size) for size in range(min(block.x, 32), 129))
        one_block = _SQUARES[max(block) - 1 :] if max(block) ** 3 * 4 <= USUAL_WORK else flat
        multiples = (factor * extent for extent in block for factor in (1, 2, 3, 4, 6, 8))
        others = sorted(itertools.product({1, 16, *multiples, *_LARGE}, repeat=3), key=math.prod)
        usual = self._sized(itertools.chain(one_block, _SQUARES, others))
        for problem in self._allowed(itertools.chain(fixed_products(self.kernel, self.config), usual)):
            return problem
        raise InvalidKernel(f"{self.kernel.name}: no product was found that is allowed with {self.config}")

    def _products(self) -> _Products:
        for number, problem in enumerate(itertools.islice(self._allowed(self._sized(_SQUARES)), 4)):
            yield "a small m = n = k" if number else "the smallest m = n = k allowed", problem
        yield "a whole block", self._base
        yield from (("sizes that the source fixes", each) for each in fixed_products(self.kernel, self.config))
        rows, columns = self._tiles[0]
        for why, sizes in usual_sizes(self.config.block, rows, columns, USUAL_WORK):
            yield why, with_fixed_sides(self.kernel, self.config, *sizes)
        # Some mistakes need many tiles each way.
        counts = ((count * rows, count * columns) for count in (9, 5, 3))
        wide = [sizes for m, n in counts for sizes in ((m + 1, n + 1, 9), (m, n, 8), (m, n, 32))]
        affordable = (sizes for sizes in wide if math.prod(sizes) <= USUAL_WORK)
        yield from self._first("a wide and tall grid of tiles", self._sized(affordable))
        # Two tiles each way, with and without a remainder, as deep as is affordable.
        m, n = 2 * rows, 2 * columns
        k = next((k for k in (256, 128, 64) if (m + 1) * (n + 1) * (k + 1) <= USUAL_WORK), 32)
        deep = list(self._sized([(m + 1, n + 1, k + 1), (m, n, k)]))
        yield from self._first("a deep grid of tiles", deep)
        for axis in "mnk":
            smaller = varied(self._base, axis, ((0, size) for size in range(1, getattr(self._base, axis))))
            yield from self._first(f"the smallest {axis} allowed", smaller)
        for problem in (self._base, *deep) if self.kernel.strided else ():
            yield from self._with_gaps(problem)
        for axis in "mnk":
            # A kernel's tile may be many times as large as its block.
            starts = (self.kernel.problem(_THIN, _THIN, _THIN), self._base)
            long = [(0, _LONG + step) for step in range(_STEPS_AWAY)]
            yield from self._first(f"a long {axis}", (each for start in starts for each in varied(start, axis, long)))
        yield from self._neighbours()

    @cached_property
    def _tiles(self) -> list[tuple[int, int]]:
        """The rows and columns that are whole tiles of every launch, unless they are too many; those of each launch."""
        several = [0]
        with contextlib.suppress(InvalidKernel):
            several = [*range(len(self.kernel.launches(self._base, self.config, self.device)))]
        tiles = [(self._tile("m", number), self._tile("n", number)) for number in several]
        rows, columns = (math.lcm(*extents) for extents in zip(*tiles, strict=True))
        return [*([(rows, columns)] if max(rows, columns) <= _LARGEST else []), *tiles]

    def _tile(self, axis: str, number: int) -> int:
        """Return an allowed multiple of the rows (m) or columns (n) that a block computes, found from the grid."""
        extent = USUAL_TILE
        problems = varied(self._base, axis, ((0, size) for size in range(1, _LARGEST + 2)))
        blocks = (self.kernel.launches(each, self.config, self.device)[number].grid_dim.size for each in problems)
        with contextlib.suppress(InvalidKernel, IndexError):
            first = next(blocks)
            changed = (size for size, several in enumerate(blocks, 1) if several != first)
            # A grid that is rounded down has no block below the first whole tile.
            extent = next((size + (first == 0) for size in changed), USUAL_TILE)
        multiples = varied(self._base, axis, ((0, size) for size in range(extent, _LARGEST + 1, extent)))
        return next((getattr(each, axis) for each in self._allowed(multiples)), extent)

    def _with_gaps(self, problem: Problem) -> _Products:
        """Yield gaps between the rows of all matrices that may have some, and of each one."""
        taken = [f"ld{matrix.lower()}" for matrix in self.kernel.strided]
        for axes in (tuple(taken), *((axis,) for axis in taken)):
            usual = {axis: getattr(problem, axis) + _GAPS[axis] for axis in axes}
            steps = (1 << shift for shift in range(8))
            stepped = ({axis: (getattr(problem, axis) // step + 1) * step for axis in axes} for step in steps)
            gapped = (replace(problem, **leading) for leading in (usual, *stepped))
            found = list(self._first(f"gaps between rows: {', '.join(axes)}", gapped))
            yield from found
            if found and len(axes) > 1 and problem is not self._base:
                return

    def _neighbours(self) -> _Products:
        """Yield the nearest allowed and violating sizes on either side of the base, axis by axis.

        Several axes change together if one of them cannot change alone.
        """
        immovable: set[str] = set()
        for axes in _DIRECTIONS:
            if len(axes) > 1 and immovable.isdisjoint(axes):
                continue
            movable = False
            for name, sign in (("more", 1), ("less", -1)):
                why = f"{name} {' = '.join(axes)}"
                near = list(varied(self._base, axes, ((1, sign * step) for step in range(1, _STEPS_AWAY + 1))))
                yield from (allowed := list(self._first(why, near)))
                movable |= bool(allowed)
                yield from [(why, each) for each in near if self.kernel.violations(each, self.config)][:1]
            immovable |= set() if movable else set(axes)

    def _strange(self) -> Iterator[tuple[Problem, Config]]:
        """Yield the base in other configs, products near it, and multiples of it, which only size limits can forbid.

        The other configs have another block of at most 1024 threads, or another value of one numeric parameter.
        """
        x, y, z = self.config.block
        shapes = [(x, y, z + 1), (x + 1, y, z), (x, y + 1, z), (2 * x, y, z), (x, 2 * y, z), (1, 1, 1), (3, 2, 1)]
        if x > 1 and x * y == _THREADS:
            shapes += [(x // 2, y, 1), (x // 2, y, 2)]
        changes: list[dict[str, Any]] = [{BLOCK: shape} for shape in shapes if dim3(shape).size <= _THREADS]
        free = {name: value for name, value in self.config.items() if name not in self.config.derived}
        for name, value in free.items():
            changes += [{name: other} for other in (value + 1, 2 * value)] if isinstance(value, int) else []
        for change in changes:
            with contextlib.suppress(InvalidBlock, InvalidConfig):
                yield self._base, self.kernel.config(**{**free, **change})
        changed = [(1, 1), (1, -1), (1, 2), (1, -2), *((1 << shift, 0) for shift in range(1, 31))]
        yield from ((problem, self.config) for axes in _DIRECTIONS for problem in varied(self._base, axes, changed))
