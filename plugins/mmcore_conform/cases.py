"""The test cases of a kernel: products and configs on both sides of each of its constraints.

They are found by asking the constraints, of which nothing else is known, so a third party's are searched as ours are.
The usual sizes come first, whole tiles among them, whose extent the grid tells. What violates a constraint becomes a
case that must be refused. Then the sizes next to an allowed one are tried, axis by axis, until an allowed and a
violating one are found on either side, and the smallest that is allowed along each axis.
"""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

from mmcore.cell import Cell
from mmcore.errors import InvalidBlock, InvalidConfig, InvalidKernel
from mmcore.kernel.configs import BLOCK, Config
from mmcore.kernel.constraints import Constraint
from mmcore.kernel.declaration import Kernel
from mmcore.kernel.geometry import Dim3, dim3
from mmcore.kernel.problem import Problem
from mmcore.kernel.properties import DeviceProperties
from mmcore_conform.outcome import Case
from mmcore_conform.sizes import USUAL_WORK, Sizes, deep_grid, tile, usual_sizes, whole_tiles, wide_grid

MOST_PER_CONFIG = 48
"""Products tested in each config."""

# Sizes that are searched one by one, and those along one axis that are tried where no smaller product is allowed.
_LARGEST, _LARGE = 512, (640, 768, 1024, 1536, 2048, 4096)
_DIRECTIONS = (("m",), ("n",), ("k",), ("m", "n"), ("m", "k"), ("n", "k"), ("m", "n", "k"))
_STEPS_AWAY = 128
_LONG, _THIN = 257, 5
_GAPS = {"lda": 3, "ldb": 5, "ldc": 7}
_THREADS, _LARGEST_INT = 1024, 2**31 - 1

_Products: TypeAlias = Iterator[tuple[str, Problem]]
"""Why each is tested, and the product."""


@dataclass(frozen=True)
class Cases:
    """The test cases of a kernel.

    Attributes:
        allowed: cases that its constraints allow.
        violating: cases that violate them.
        not_found: properties, and what there should be a case of: a constraint violated, gaps between rows.
        left_out: how many allowed cases were found beyond the most that are tested.
    """

    allowed: tuple[Case, ...] = ()
    violating: tuple[Case, ...] = ()
    not_found: tuple[tuple[str, str], ...] = ()
    left_out: int = 0

    def to_json(self) -> dict[str, Any]:
        """The cases as JSON-ready values."""
        several = {name: [case.to_json() for case in getattr(self, name)] for name in ("allowed", "violating")}
        return {**vars(self), **several}

    @classmethod
    def from_json(cls, values: Mapping[str, Any], **cell: Any) -> Cases:
        """What :meth:`to_json` made, with other attributes of every cell."""
        found = {name: [Case.from_json(each, **cell) for each in values[name]] for name in ("allowed", "violating")}
        return cls(**{**values, **{name: tuple(cases) for name, cases in found.items()}})


def find_cases(kernel: Kernel, device: DeviceProperties) -> Cases:
    """The test cases of a kernel, in each of its usual configs.

    Raises:
        InvalidKernel: its constraints fail, or allow no product in one of its configs.
    """
    allowed: list[Case] = []
    violating: list[Case] = []
    left_out = 0
    violated: set[str] = set()
    for config in kernel.usual_configs:
        search = _Search(kernel, config)
        found = search.found(device)
        cases = [_case(kernel, problem, config, found[problem]) for problem in search.allowed(found)]
        small = [case for case in cases if case.work <= USUAL_WORK]
        chosen = (small or sorted(cases, key=lambda case: case.work)[:2])[:MOST_PER_CONFIG]
        allowed += chosen
        left_out += len(cases) - len(chosen)
        others = {(problem, config): why for problem, why in found.items() if kernel.violations(problem, config)}
        for constraint in kernel.constraints:
            if nearest := search.violation(constraint):
                others.setdefault(nearest, f"violates: {constraint.description}")
        violating += [_case(kernel, *pair, why) for pair, why in others.items()]
        violated |= {each.description for each in kernel.constraints if any(each.violation(*pair) for pair in others)}
    not_found = [("constraints", each.description) for each in kernel.constraints if each.description not in violated]
    if kernel.strided and not any(case.cell.lda for case in allowed):
        not_found.append(("product", "gaps between rows"))
    return Cases(tuple(allowed), tuple(violating), tuple(not_found), left_out)


def _case(kernel: Kernel, problem: Problem, config: Config, why: str) -> Case:
    gaps = {} if problem == problem.packed else {name: getattr(problem, name) for name in _GAPS}
    return Case(Cell(kernel.name, problem.m, problem.n, problem.k, config=config.to_json(), **gaps), config.id, why)


@dataclass(frozen=True)
class _Search:
    """The search for the test cases of a kernel in one config."""

    kernel: Kernel
    config: Config

    def found(self, device: DeviceProperties) -> dict[Problem, str]:
        """The products that are worth testing, allowed or not, in the order they are found, and why they are tested."""
        found: dict[Problem, str] = {}
        for why, problem in self._products(device):
            found.setdefault(problem, why)
        apart = [problem for problem in self.allowed(found) if len({problem.m, problem.n, problem.k}) > 1][:8]
        mixed = ((one.m, other.n, one.k) for one in apart for other in apart)
        different = self._sized(sizes for sizes in mixed if len(set(sizes)) == 3)
        for why, problem in self._first("three different sizes", different):
            found.setdefault(problem, why)
        return found

    def allowed(self, problems: Iterable[Problem]) -> Iterator[Problem]:
        """Those of the products that the constraints allow."""
        return (problem for problem in problems if not self.kernel.violations(problem, self.config))

    def violation(self, constraint: Constraint) -> tuple[Problem, Config] | None:
        """A product and a config that violate one constraint, and as few others as can be."""
        alone = replace(self.kernel, constraints=(constraint,))
        strange = [(self._base, other) for other in _other_configs(self.kernel, self.config)]
        strange += [(problem, self.config) for problem in _other_products(self._base)]
        violating = [each for each in strange if alone.violations(*each)]
        return min(violating, key=lambda each: len(self.kernel.violations(*each)), default=None)

    @cached_property
    def _base(self) -> Problem:
        """An allowed product, of about one block if there is such, whose neighbours can be tried."""
        base = next(self.allowed(self._sized(_base_sizes(self.config.block))), None)
        if base is None:
            raise InvalidKernel(f"{self.kernel.name}: no product was found that is allowed with {self.config}")
        return base

    def _sized(self, sizes: Iterable[Iterable[int]]) -> Iterator[Problem]:
        return (self.kernel.problem(*each) for each in sizes)

    def _first(self, why: str, problems: Iterable[Problem]) -> _Products:
        """The first that is allowed, if any is."""
        return ((why, problem) for problem in itertools.islice(self.allowed(problems), 1))

    def _products(self, device: DeviceProperties) -> _Products:
        for number, problem in enumerate(itertools.islice(self.allowed(self._sized(_squares(1))), 4)):
            yield "a small m = n = k" if number else "the smallest m = n = k allowed", problem
        yield "a whole block", self._base
        extents = []
        for axis, extent in zip("mn", tile(self.kernel, self._base, self.config, device), strict=True):
            multiples = ({axis: size} for size in range(extent, _LARGEST + 1, extent))
            allowed = next(self.allowed(_resized(self._base, multiples)), None)
            extents.append(extent if allowed is None else int(getattr(allowed, axis)))
        for why, sizes in (*usual_sizes(self.config.block), *whole_tiles(*extents)):
            yield why, self.kernel.problem(*sizes)
        yield from self._first("a wide and tall grid of tiles", self._sized(wide_grid(*extents)))
        deep = [*self._sized(deep_grid(*extents))]
        yield from self._first("a deep grid of tiles", deep)
        for axis in "mnk":
            smaller = ({axis: size} for size in range(1, getattr(self._base, axis)))
            yield from self._first(f"the smallest {axis} allowed", _resized(self._base, smaller))
        for problem in (self._base, *deep) if self.kernel.strided else ():
            yield from self._with_gaps(problem)
        for axis in "mnk":
            # A kernel's tile may be many times as large as its block.
            long = [{axis: _LONG + step} for step in range(_STEPS_AWAY)]
            starts = (self.kernel.problem(_THIN, _THIN, _THIN), self._base)
            yield from self._first(f"a long {axis}", (each for start in starts for each in _resized(start, long)))
        yield from self._neighbours()

    def _with_gaps(self, problem: Problem) -> _Products:
        """Gaps between the rows of all three matrices, as wide as is allowed; of each, for the base or if needed."""
        for axes in (tuple(_GAPS), *((axis,) for axis in _GAPS)):
            usual = {axis: getattr(problem, axis) + _GAPS[axis] for axis in axes}
            steps = (1 << shift for shift in range(8))
            stepped = ({axis: (getattr(problem, axis) // step + 1) * step for axis in axes} for step in steps)
            gapped = (replace(problem, **leading) for leading in (usual, *stepped))
            found = [*self._first(f"gaps between rows: {', '.join(axes)}", gapped)]
            yield from found
            if found and len(axes) > 1 and problem is not self._base:
                return

    def _neighbours(self) -> _Products:
        """The nearest sizes on either side of the base, one allowed and one violating, axis by axis.

        Several axes are moved together where one of them alone cannot be.
        """
        immovable: set[str] = set()
        for direction in _DIRECTIONS:
            if len(direction) > 1 and immovable.isdisjoint(direction):
                continue
            moved = False
            for name, sign in (("more", 1), ("less", -1)):
                near = [*_moved(self._base, direction, range(sign, sign * (_STEPS_AWAY + 1), sign))]
                allowed = next(self.allowed(near), None)
                violating = next((each for each in near if self.kernel.violations(each, self.config)), None)
                moved |= allowed is not None
                yield from ((f"{name} {' = '.join(direction)}", each) for each in (allowed, violating) if each)
            if not moved:
                immovable |= set(direction)


def _base_sizes(block: Dim3) -> Iterator[Iterable[int]]:
    """Sizes of about one block, square if it is not too long for that; squares; others, those of least work first."""
    if max(block) ** 3 * 4 <= USUAL_WORK:
        yield from _squares(max(block))
    else:
        yield from ((size, block.x, size) for size in range(min(block.x, 32), 129))
    yield from _squares(1)
    multiples = (factor * extent for extent in block for factor in (1, 2, 3, 4, 6, 8))
    yield from sorted(itertools.product({1, 16, *multiples, *_LARGE}, repeat=3), key=math.prod)


def _squares(least: int) -> Iterator[Sizes]:
    return ((size, size, size) for size in range(least, _LARGEST + 1))


def _moved(base: Problem, axes: Iterable[str], distances: Iterable[int]) -> Iterator[Problem]:
    """The base with some of its sizes changed."""
    return _resized(base, ({axis: getattr(base, axis) + distance for axis in axes} for distance in distances))


def _resized(base: Problem, sizes: Iterable[Mapping[str, int]]) -> Iterator[Problem]:
    """The base with some of its sizes replaced; those are left out that no int can be."""
    for each in sizes:
        if all(1 <= size <= _LARGEST_INT for size in each.values()):
            yield replace(base, **{"lda": 0, "ldb": 0, "ldc": 0, **each})  # type: ignore[arg-type]


def _other_products(base: Problem) -> Iterator[Problem]:
    """Products near the base, and multiples of it: nothing but their extent is against those."""
    for axes in _DIRECTIONS:
        yield from _moved(base, axes, (1, -1, 2, -2))
        yield from _resized(base, ({axis: getattr(base, axis) << shift for axis in axes} for shift in range(1, 31)))


def _other_configs(kernel: Kernel, config: Config) -> Iterator[Config]:
    """The config with another block of at most 1024 threads, or another value of one other number."""
    x, y, z = config.block
    shapes = [(x, y, z + 1), (x + 1, y, z), (x, y + 1, z), (2 * x, y, z), (x, 2 * y, z), (1, 1, 1), (3, 2, 1)]
    if x > 1 and x * y == _THREADS:
        shapes += [(x // 2, y, 1), (x // 2, y, 2)]
    changes: list[dict[str, Any]] = [{BLOCK: shape} for shape in shapes if dim3(shape).size <= _THREADS]
    free = {name: value for name, value in config.items() if name not in config.derived}
    for name, value in free.items():
        changes += [{name: other} for other in (value + 1, 2 * value)] if isinstance(value, int) else []
    for change in changes:
        with contextlib.suppress(InvalidBlock, InvalidConfig):
            yield kernel.config(**{**free, **change})
