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
from dataclasses import dataclass, field, replace
from typing import Any

from mmcore.cell import Cell, referenced_kernel
from mmcore.devices.base import Device
from mmcore.errors import ConstraintViolation, InvalidBlock, InvalidConfig, InvalidKernel
from mmcore.kernel.configs import BLOCK, Config
from mmcore.kernel.constraints import Constraint
from mmcore.kernel.declaration import Kernel
from mmcore.kernel.geometry import dim3
from mmcore.kernel.problem import Problem
from mmcore.kernel.properties import DeviceProperties
from mmcore.measure import Phases
from mmcore_conform.outcome import Case
from mmcore_conform.sizes import USUAL_WORK, deep_grid, tile, usual_sizes, whole_tiles, wide_grid

MOST_PER_CONFIG = 48
"""Products tested in each config."""

# Sizes that are searched one by one, and those along one axis that are tried where no smaller product is allowed.
_LARGEST, _LARGE = 512, (640, 768, 1024, 1536, 2048, 4096)
_DIRECTIONS = (("m",), ("n",), ("k",), ("m", "n"), ("m", "k"), ("n", "k"), ("m", "n", "k"))
_STEPS_AWAY = 128
_LONG, _THIN = 257, 5
_GAPS = {"lda": 3, "ldb": 5, "ldc": 7}
_THREADS, _LARGEST_INT = 1024, 2**31 - 1


@dataclass(frozen=True)
class Cases:
    """The test cases of a kernel.

    Attributes:
        allowed: cases that its constraints allow.
        violating: cases that violate them.
        not_found: properties, and what there should be a case of: a constraint violated, gaps between rows.
        left_out: how many allowed cases were found beyond the most that are tested.
    """

    allowed: tuple[Case, ...]
    violating: tuple[Case, ...]
    not_found: tuple[tuple[str, str], ...]
    left_out: int

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Cases:
        """What :func:`found_json` returns."""
        several = {name: tuple(map(Case.from_json, values[name])) for name in ("allowed", "violating")}
        return cls(**{**values, **several})


def found_json(device: Device, phases: Phases, reference: str) -> dict[str, Any]:
    """:func:`find_cases` for a worker process; a ConstraintViolation where the kernel needs another device."""
    kernel, capability = referenced_kernel(reference), device.properties.compute_capability
    if capability < kernel.min_compute_capability:
        needed, has = (".".join(map(str, pair)) for pair in (kernel.min_compute_capability, capability))
        raise ConstraintViolation(kernel.name, [f"it needs compute capability {needed}; {device.name} has {has}"])
    with phases("plan"):
        found = find_cases(kernel, device.properties)
    several = {name: [case.to_json() for case in getattr(found, name)] for name in ("allowed", "violating")}
    return {**vars(found), **several}


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
        search = _search(kernel, config, device)
        chosen = search.affordable()[:MOST_PER_CONFIG]
        allowed += chosen
        left_out += len(search.allowed) - len(chosen)
        violating += search.violating.values()
        for problem, other in search.violating:
            violated |= {each.description for each in kernel.constraints if each.violation(problem, other)}
    not_found = [("constraints", each.description) for each in kernel.constraints if each.description not in violated]
    if kernel.strided and not any(case.cell.lda for case in allowed):
        not_found.append(("product", "gaps between rows"))
    return Cases(tuple(allowed), tuple(violating), tuple(not_found), left_out)


@dataclass
class _Search:
    """The cases of one config, in the order they were found, each once."""

    kernel: Kernel
    config: Config
    allowed: dict[Problem, Case] = field(default_factory=dict)
    violating: dict[tuple[Problem, Config], Case] = field(default_factory=dict)

    def allows(self, problem: Problem) -> bool:
        return not self.kernel.violations(problem, self.config)

    def first(self, problems: Iterable[Problem | None]) -> Problem | None:
        """The first that is allowed, if any is."""
        return next((problem for problem in problems if problem is not None and self.allows(problem)), None)

    def first_of(self, sizes: Iterable[tuple[int, ...]]) -> Problem | None:
        return self.first(self.kernel.problem(m, n, k) for m, n, k in sizes)

    def add(self, problem: Problem | None, why: str, config: Config | None = None) -> None:
        if problem is None:
            return
        config = config or self.config
        gaps = {} if problem == problem.packed else {name: getattr(problem, name) for name in _GAPS}
        cell = Cell(self.kernel.name, problem.m, problem.n, problem.k, config=config.to_json(), **gaps)
        case = Case(cell, config.id, why)
        if self.kernel.violations(problem, config):
            self.violating.setdefault((problem, config), case)
        elif config == self.config:
            self.allowed.setdefault(problem, case)

    def affordable(self) -> list[Case]:
        """The allowed cases that take little work; the least two where there are no such."""
        cases = [case for case in self.allowed.values() if case.work <= USUAL_WORK]
        return cases or sorted(self.allowed.values(), key=lambda case: case.work)[:2]


def _search(kernel: Kernel, config: Config, device: DeviceProperties) -> _Search:
    found = _Search(kernel, config)
    squares = list(itertools.islice(_allowed_squares(found, 1), 4))
    for number, problem in enumerate(squares):
        found.add(problem, "the smallest m = n = k allowed" if number == 0 else "a small m = n = k")
    base = _base(found) or (squares[0] if squares else _any_product(found))
    if base is None:
        raise InvalidKernel(f"{kernel.name}: no product was found that is allowed with {config}")
    found.add(base, "a whole block")
    extents = []
    for axis, extent in zip("mn", tile(kernel, base, config, device), strict=True):
        allowed = found.first(_resized(base, axis, size) for size in range(extent, _LARGEST + 1, extent))
        extents.append(extent if allowed is None else int(getattr(allowed, axis)))
    for why, sizes in (*usual_sizes(config.block), *whole_tiles(*extents)):
        found.add(kernel.problem(*sizes), why)
    found.add(found.first_of(wide_grid(*extents)), "a wide and tall grid of tiles")
    deep = [kernel.problem(*sizes) for sizes in deep_grid(*extents)]
    found.add(found.first(deep), "a deep grid of tiles")
    for axis in "mnk":
        smaller = (_resized(base, axis, size) for size in range(1, getattr(base, axis)))
        found.add(found.first(smaller), f"the smallest {axis} allowed")
    if kernel.strided:
        for problem in (base, *deep):
            _add_gaps(found, problem, each=problem is base)
    for axis in "mnk":
        # A kernel's tile may be many times as large as its block.
        thin = (kernel.problem(_THIN, _THIN, _THIN), base)
        long = (_resized(start, axis, _LONG + step) for start in thin for step in range(_STEPS_AWAY))
        found.add(found.first(long), f"a long {axis}")
    _add_neighbours(found, base)
    for constraint in kernel.constraints:
        _add_violation(found, constraint, base)
    return found


def _base(found: _Search) -> Problem | None:
    """A product of about one block, whose neighbours can be tried: square if the block is not too long for that."""
    block = found.config.block
    if max(block) ** 3 * 4 <= USUAL_WORK:
        return next(_allowed_squares(found, max(block)), None)
    return found.first_of((size, block.x, size) for size in range(min(block.x, 32), 129))


def _allowed_squares(found: _Search, least: int) -> Iterator[Problem]:
    problems = (found.kernel.problem(size, size, size) for size in range(least, _LARGEST + 1))
    return filter(found.allows, problems)


def _any_product(found: _Search) -> Problem | None:
    """The allowed product of least work among some of the block's extents, their multiples, and large sizes."""
    multiples = (factor * extent for extent in found.config.block for factor in (1, 2, 3, 4, 6, 8))
    products = itertools.product({1, 16, *multiples, *_LARGE}, repeat=3)
    return found.first_of(sorted(products, key=math.prod))


def _add_gaps(found: _Search, problem: Problem, *, each: bool) -> None:
    """Gaps between the rows of all three matrices, as wide as is allowed; and of each, if asked for or needed."""
    for axes in (tuple(_GAPS), *((axis,) for axis in _GAPS)):
        usual = {axis: getattr(problem, axis) + _GAPS[axis] for axis in axes}
        steps = (1 << shift for shift in range(8))
        stepped = ({axis: (getattr(problem, axis) // step + 1) * step for axis in axes} for step in steps)
        gapped = found.first(replace(problem, **leading) for leading in (usual, *stepped))
        found.add(gapped, f"gaps between rows: {', '.join(axes)}")
        if gapped and len(axes) > 1 and not each:
            return


def _add_neighbours(found: _Search, base: Problem) -> None:
    """The nearest sizes on either side of the base, one allowed and one violating, axis by axis.

    Several axes are moved together where one of them alone cannot be.
    """
    immovable: set[str] = set()
    for direction in _DIRECTIONS:
        if len(direction) > 1 and immovable.isdisjoint(direction):
            continue
        moved = False
        for name, sign in (("more", 1), ("less", -1)):
            steps = (_moved(base, direction, sign * step) for step in range(1, _STEPS_AWAY + 1))
            problems = [problem for problem in steps if problem is not None]
            for allowed in (True, False):
                nearest = next((problem for problem in problems if found.allows(problem) is allowed), None)
                found.add(nearest, f"{name} {' = '.join(direction)}")
                moved |= allowed and nearest is not None
        if not moved:
            immovable |= set(direction)
    apart = [problem for problem in found.allowed if len({problem.m, problem.n, problem.k}) > 1][:8]
    mixed = ((one.m, other.n, one.k) for one in apart for other in apart)
    found.add(found.first_of(sizes for sizes in mixed if len(set(sizes)) == 3), "three different sizes")


def _moved(base: Problem, axes: Iterable[str], distance: int) -> Problem | None:
    """The base with some of its sizes changed; None where one leaves what an int can be."""
    return _with(base, {axis: getattr(base, axis) + distance for axis in axes})


def _resized(base: Problem, axis: str, size: int) -> Problem | None:
    """The base with one size replaced; None where that is no int."""
    return _with(base, {axis: size})


def _with(base: Problem, sizes: Mapping[str, int]) -> Problem | None:
    if not all(1 <= size <= _LARGEST_INT for size in sizes.values()):
        return None
    return replace(base, **{"lda": 0, "ldb": 0, "ldc": 0, **sizes})  # type: ignore[arg-type]


def _add_violation(found: _Search, constraint: Constraint, base: Problem) -> None:
    """A case that violates one constraint, and as few others as can be."""
    alone = replace(found.kernel, constraints=(constraint,))
    strange = [(base, other) for other in _other_configs(found.kernel, found.config)]
    strange += [(problem, found.config) for problem in _other_products(base)]
    if violating := [each for each in strange if alone.violations(*each)]:
        problem, config = min(violating, key=lambda each: len(found.kernel.violations(*each)))
        found.add(problem, f"violates: {constraint.description}", config)


def _other_products(base: Problem) -> Iterator[Problem]:
    """Products near the base, and multiples of it: nothing but their extent is against those."""
    for axes in _DIRECTIONS:
        near = [_moved(base, axes, distance) for distance in (1, -1, 2, -2)]
        far = [_with(base, {axis: getattr(base, axis) << shift for axis in axes}) for shift in range(1, 31)]
        yield from (problem for problem in (*near, *far) if problem is not None)


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
