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
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from mmcore.cell import Cell, referenced_kernel
from mmcore.devices.base import Device
from mmcore.errors import InvalidBlock, InvalidConfig, InvalidKernel, NoDevice
from mmcore.kernel.configs import BLOCK, Config
from mmcore.kernel.constraints import Constraint
from mmcore.kernel.declaration import Kernel
from mmcore.kernel.geometry import dim3
from mmcore.kernel.problem import Problem
from mmcore.kernel.properties import DeviceProperties
from mmcore.measure import Phases
from mmcore_conform.outcome import Case
from mmcore_conform.sizes import USUAL_WORK, Sizes, deep_grid, grids_of_tiles, tile, usual_sizes, whole_tiles

LARGEST = 512
"""The largest size m = n = k that is searched for."""

LARGEST_SIZES = (640, 768, 1024, 1536, 2048, 4096)
"""Sizes along one axis that are tried where no smaller product is allowed."""

MOST_PER_CONFIG = 48
"""Products tested in each config."""

_AXES = ("m", "n", "k")
_DIRECTIONS = (("m",), ("n",), ("k",), ("m", "n"), ("m", "k"), ("n", "k"), _AXES)
_STEPS_AWAY = 128
_LONG, _THIN = 257, 5
_LARGEST_INT = 2**31 - 1
_THREADS = 1024
_GAPS = {"lda": 3, "ldb": 5, "ldc": 7}
_LEADING_STEPS = (1, 2, 4, 8, 16, 32, 64, 128)


@dataclass(frozen=True)
class Cases:
    """The test cases of a kernel.

    Attributes:
        allowed: cases that its constraints allow.
        violating: cases that violate them.
        unviolated: descriptions of constraints that no case was found to violate.
        left_out: how many allowed cases were found beyond the most that are tested.
        gapless: whether the kernel takes leading dimensions, and no gap between rows was found that it allows.
    """

    allowed: tuple[Case, ...]
    violating: tuple[Case, ...]
    unviolated: tuple[str, ...]
    left_out: int
    gapless: bool = False

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Cases:
        """What :func:`found_json` returns."""
        several = {name: tuple(map(Case.from_json, values[name])) for name in ("allowed", "violating")}
        return cls(**{**values, **several})


def found_json(device: Device, phases: Phases, reference: str) -> dict[str, Any]:
    """:func:`find_cases` for a worker process; raises NoDevice where the device has too low a compute capability."""
    kernel, capability = referenced_kernel(reference), device.properties.compute_capability
    if capability < kernel.min_compute_capability:
        needed, has = (".".join(map(str, pair)) for pair in (kernel.min_compute_capability, capability))
        raise NoDevice(f"{kernel.name} needs compute capability {needed}; {device.name} has {has}")
    with phases("plan"):
        found = find_cases(kernel, device.properties, reference)
    several = {name: [case.to_json() for case in getattr(found, name)] for name in ("allowed", "violating")}
    return {**vars(found), **several}


def find_cases(kernel: Kernel, device: DeviceProperties, reference: str = "") -> Cases:
    """The test cases of a kernel, in each of its usual configs.

    Args:
        kernel: the kernel.
        device: what the launch rule is told of the device.
        reference: how cells name the kernel; by its own name when empty.

    Raises:
        InvalidKernel: its constraints fail, or allow no product in one of its configs.
    """
    allowed: list[Case] = []
    violating: list[Case] = []
    left_out = 0
    violated: set[str] = set()
    for config in kernel.usual_configs:
        search = _search(kernel, config, device, reference or kernel.name)
        chosen = search.affordable()[:MOST_PER_CONFIG]
        allowed += chosen
        left_out += len(search.allowed) - len(chosen)
        violating += search.violating.values()
        for problem, other in search.violating:
            violated |= {each.description for each in kernel.constraints if each.violation(problem, other)}
    unviolated = [each.description for each in kernel.constraints if each.description not in violated]
    gapless = kernel.strided and not any(case.gaps for case in allowed)
    return Cases(tuple(allowed), tuple(violating), tuple(dict.fromkeys(unviolated)), left_out, gapless)


@dataclass
class _Search:
    """The cases of one config, in the order they were found, each once."""

    kernel: Kernel
    config: Config
    reference: str
    allowed: dict[Problem, Case] = field(default_factory=dict)
    violating: dict[tuple[Problem, Config], Case] = field(default_factory=dict)

    def allows(self, problem: Problem) -> bool:
        return not self.kernel.violations(problem, self.config)

    def first(self, problems: Iterable[Problem | None]) -> Problem | None:
        """The first that is allowed, if any is."""
        return next((problem for problem in problems if problem is not None and self.allows(problem)), None)

    def add(self, problem: Problem | None, why: str, config: Config | None = None) -> None:
        if problem is None:
            return
        config = config or self.config
        gaps = {} if problem == problem.packed else {name: getattr(problem, name) for name in _GAPS}
        cell = Cell(self.reference, problem.m, problem.n, problem.k, config=config.to_json(), **gaps)
        case = Case(cell, config.id, why)
        if self.kernel.violations(problem, config):
            self.violating.setdefault((problem, config), case)
        elif config == self.config:
            self.allowed.setdefault(problem, case)

    def affordable(self) -> list[Case]:
        """The allowed cases that take little work; the least two where there are no such."""
        cases = [case for case in self.allowed.values() if case.work <= USUAL_WORK]
        return cases or sorted(self.allowed.values(), key=lambda case: case.work)[:2]


def _search(kernel: Kernel, config: Config, device: DeviceProperties, reference: str) -> _Search:
    found = _Search(kernel, config, reference)
    squares = list(itertools.islice(_allowed_squares(found), 4))
    for number, problem in enumerate(squares):
        found.add(problem, "the smallest m = n = k allowed" if number == 0 else "a small m = n = k")
    base = _base(found) or (squares[0] if squares else _any_product(found))
    if base is None:
        raise InvalidKernel(f"{kernel.name}: no product was found that is allowed with {config}")
    found.add(base, "a whole block")
    rows, columns = tile(kernel, base, config, device)
    rows, columns = _allowed_multiple(found, base, "m", rows), _allowed_multiple(found, base, "n", columns)
    for why, sizes in (*usual_sizes(config.block), *whole_tiles(rows, columns)):
        found.add(kernel.problem(*sizes), why)
    for why, either in grids_of_tiles(rows, columns):
        found.add(found.first(kernel.problem(*sizes) for sizes in either), why)
    for axis in _AXES:
        smaller = (_resized(base, axis, size) for size in range(1, getattr(base, axis)))
        found.add(found.first(smaller), f"the smallest {axis} allowed")
    if kernel.strided:
        _add_gaps(found, base, deep_grid(rows, columns))
    thin = kernel.problem(_THIN, _THIN, _THIN)
    for axis in _AXES:
        # A kernel's tile may be many times as large as its block.
        long = (_resized(start, axis, _LONG + step) for start in (thin, base) for step in range(_STEPS_AWAY))
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
    return found.first(found.kernel.problem(size, block.x, size) for size in range(min(block.x, 32), 129))


def _allowed_squares(found: _Search, least: int = 1) -> Iterator[Problem]:
    problems = (found.kernel.problem(size, size, size) for size in range(least, LARGEST + 1))
    return filter(found.allows, problems)


def _any_product(found: _Search) -> Problem | None:
    """The allowed product of least work among some of the block's extents, their multiples, and large sizes."""
    multiples = (factor * extent for extent in found.config.block for factor in (1, 2, 3, 4, 6, 8))
    products = sorted(itertools.product({1, 16, *multiples, *LARGEST_SIZES}, repeat=3), key=math.prod)
    return found.first(found.kernel.problem(*product) for product in products)


def _allowed_multiple(found: _Search, base: Problem, axis: str, extent: int) -> int:
    """The smallest multiple of a tile's extent that is allowed along one axis; the extent itself where none is."""
    allowed = found.first(_resized(base, axis, size) for size in range(extent, LARGEST + 1, extent))
    return extent if allowed is None else int(getattr(allowed, axis))


def _add_gaps(found: _Search, base: Problem, deep: Iterable[Sizes]) -> None:
    """Gaps between the rows of the base and of a deep grid of tiles: of all three matrices at once, and of each."""
    every = tuple(_GAPS)
    for problem, where in ((base, ""), *((found.kernel.problem(*sizes), " of a deep grid") for sizes in deep)):
        gapped = {axes: _gapped(found, problem, axes) for axes in (every, *((axis,) for axis in _GAPS))}
        for axes, each in gapped.items():
            whose = "all" if axes == every else f"{axes[0][-1].upper()}'s"
            # Which matrix it is that goes wrong, the base shows.
            if axes == every or not where or gapped[every] is None:
                found.add(each, f"gaps between {whose} rows{where}")


def _gapped(found: _Search, problem: Problem, axes: Collection[str]) -> Problem | None:
    """The product with some of its rows further apart, if any distance is found that is allowed."""
    usual = {axis: getattr(problem, axis) + _GAPS[axis] for axis in axes}
    stepped = ({axis: (getattr(problem, axis) // step + 1) * step for axis in axes} for step in _LEADING_STEPS)
    return found.first(replace(problem, **leading) for leading in (usual, *stepped))


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
    mixed = (found.kernel.problem(one.m, other.n, one.k) for one in apart for other in apart)
    different = (problem for problem in mixed if len({problem.m, problem.n, problem.k}) == 3)
    found.add(found.first(different), "three different sizes")


def _moved(base: Problem, axes: Iterable[str], distance: int) -> Problem | None:
    """The base with some of its sizes changed; None where one leaves what an int can be."""
    sizes = {axis: getattr(base, axis) + distance for axis in axes}
    if not all(1 <= size <= _LARGEST_INT for size in sizes.values()):
        return None
    return replace(base, lda=0, ldb=0, ldc=0, **sizes)


def _resized(base: Problem, axis: str, size: int) -> Problem | None:
    """The base with one size replaced; None where that is no int."""
    return _moved(base, (axis,), size - getattr(base, axis))


def _add_violation(found: _Search, constraint: Constraint, base: Problem) -> None:
    """A case that violates one constraint, and as few others as can be."""
    alone = replace(found.kernel, constraints=(constraint,))
    violating = [strange for strange in _strange(found.kernel, base, found.config) if alone.violations(*strange)]
    if violating:
        problem, config = min(violating, key=lambda each: len(found.kernel.violations(*each)))
        found.add(problem, f"violates: {constraint.description}", config)


def _strange(kernel: Kernel, base: Problem, config: Config) -> Iterator[tuple[Problem, Config]]:
    """The base in other configs, and products near it and far larger in its own."""
    yield from ((base, other) for other in _other_configs(kernel, config))
    for axes in _DIRECTIONS:
        for distance in (1, -1, 2, -2):
            if (near := _moved(base, axes, distance)) is not None:
                yield near, config
        for doublings in range(1, 31):
            # Multiples of what is allowed, so that only their extent is against them.
            sizes = {axis: getattr(base, axis) << doublings for axis in axes}
            if max(sizes.values()) <= _LARGEST_INT:
                yield replace(base, lda=0, ldb=0, ldc=0, **sizes), config


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
