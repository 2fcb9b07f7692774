"""What to try of a kernel: products and blocks on both sides of each of its constraints.

They are found by asking the constraints, of which nothing is known but that they allow or refuse: a third party's own
are searched as ours are. Wishes come first (size 1, prime sizes, k smaller than the tile, …), among them whole tiles,
of which the launch rule tells the extent. One that the constraints refuse becomes a case that must be refused. Then the
sizes next to an allowed one are tried, axis by axis, until one that is allowed and one that is refused are found on
either side, and the smallest that is allowed along each axis.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace

from mmcore_conform.tiling import tile
from mmcore_conform.wishes import USUAL_WORK, Sizes, deep_grid, grids_of_tiles, whole_tiles, wishes
from mmcore.errors import InvalidKernel
from mmcore.kernel.constraints import Constraint
from mmcore.kernel.geometry import Dim3, dim3
from mmcore.kernel.declaration import Kernel
from mmcore.kernel.properties import DeviceProperties
from mmcore.kernel.problem import Problem

LARGEST = 512
"""The largest size m = n = k that is searched for."""

LARGEST_SIZES = (640, 768, 1024, 1536, 2048, 4096)
"""Sizes along one axis that are tried where no smaller product is allowed; one that is allowed must exist."""

MOST_PER_BLOCK = 48
"""Products tried in each block."""

_AXES = ("m", "n", "k")
_DIRECTIONS = (("m",), ("n",), ("k",), ("m", "n"), ("m", "k"), ("n", "k"), _AXES)
_STEPS_AWAY = 128
_LONG, _THIN = 257, 5
_LARGEST_INT = 2**31 - 1
_THREADS = 1024
_GAPS = {"lda": 3, "ldb": 5, "ldc": 7}
_LEADING_STEPS = (1, 2, 4, 8, 16, 32, 64, 128)


@dataclass(frozen=True)
class Case:
    """A product in a block.

    Attributes:
        problem: the product.
        block: threads per block.
        why: what is interesting about it, in a few words.
    """

    problem: Problem
    block: Dim3
    why: str

    def __str__(self) -> str:
        rows = self.problem
        strides = "" if rows == rows.packed else f", lda {rows.lda}, ldb {rows.ldb}, ldc {rows.ldc},"
        return f"{self.problem}{strides} in {self.block} blocks ({self.why})"

    @property
    def work(self) -> int:
        """Multiplications: m·n·k."""
        return self.problem.m * self.problem.n * self.problem.k


@dataclass(frozen=True)
class Cases:
    """What to try of a kernel.

    Attributes:
        allowed: cases that its constraints allow.
        refused: cases that they refuse.
        unbroken: constraints that no case was found to break, by their sentences.
        left_out: how many allowed cases were found and are not tried.
        gapless: whether the kernel takes leading dimensions, and no gap between rows was found that it allows.
    """

    allowed: tuple[Case, ...]
    refused: tuple[Case, ...]
    unbroken: tuple[str, ...]
    left_out: int
    gapless: bool = False


@dataclass
class _Found:
    """The cases of one block, in the order they were found, each once."""

    kernel: Kernel
    block: Dim3
    allowed: dict[Problem, Case] = field(default_factory=dict)
    refused: dict[tuple[Problem, Dim3], Case] = field(default_factory=dict)

    def allows(self, problem: Problem) -> bool:
        return not self.kernel.refusals(problem, self.block)

    def first(self, problems: Iterable[Problem | None]) -> Problem | None:
        """The first that is allowed, if any is."""
        return next((problem for problem in problems if problem is not None and self.allows(problem)), None)

    def add(self, problem: Problem, why: str, block: Dim3 | None = None) -> None:
        case = Case(problem, block or self.block, why)
        if self.kernel.refusals(problem, case.block):
            self.refused.setdefault((problem, case.block), case)
        elif case.block == self.block:
            self.allowed.setdefault(problem, case)

    def affordable(self) -> list[Case]:
        """The allowed cases that take little work; the least two where there are no such."""
        cases = [case for case in self.allowed.values() if case.work <= USUAL_WORK]
        return cases or sorted(self.allowed.values(), key=lambda case: case.work)[:2]


def find_cases(kernel: Kernel, limits: DeviceProperties) -> Cases:
    """What to try of a kernel, in every block that it declares.

    Args:
        kernel: the kernel.
        limits: what the launch rule is told of the device.

    Raises:
        InvalidKernel: its constraints fail, or allow no product in one of its blocks.
    """
    allowed: list[Case] = []
    refused: dict[tuple[Problem, Dim3], Case] = {}
    broken: set[str] = set()
    left_out = 0
    for block in dict.fromkeys(dim3(shape) for shape in kernel.blocks):
        found = _find(kernel, block, limits)
        chosen = found.affordable()[:MOST_PER_BLOCK]
        allowed += chosen
        left_out += len(found.allowed) - len(chosen)
        refused |= found.refused
    for case in refused.values():
        broken |= {each.sentence for each in kernel.constraints if each.refusal(case.problem, case.block)}
    unbroken = [each.sentence for each in kernel.constraints if each.sentence not in broken]
    gapless = kernel.strided and all(case.problem == case.problem.packed for case in allowed)
    return Cases(tuple(allowed), tuple(refused.values()), tuple(dict.fromkeys(unbroken)), left_out, gapless)


def _find(kernel: Kernel, block: Dim3, limits: DeviceProperties) -> _Found:
    found = _Found(kernel, block)
    squares = list(itertools.islice(_allowed_squares(found), 4))
    for number, problem in enumerate(squares):
        found.add(problem, "the smallest m = n = k allowed" if number == 0 else "a small m = n = k")
    base = _base(found) or (squares[0] if squares else _any_product(found))
    if base is None:
        raise InvalidKernel(f"{kernel.name}: no product was found that is allowed in {block} blocks")
    found.add(base, "a whole block")
    rows, columns = tile(kernel, base, block, limits)
    rows, columns = _allowed_multiple(found, base, "m", rows), _allowed_multiple(found, base, "n", columns)
    for why, sizes in (*wishes(block), *whole_tiles(rows, columns)):
        found.add(kernel.problem(*sizes), why)
    for why, either in grids_of_tiles(rows, columns):
        grid = found.first(kernel.problem(*sizes) for sizes in either)
        if grid is not None:
            found.add(grid, why)
    _add_smallest(found, base)
    if kernel.strided:
        _add_gaps(found, base, deep_grid(rows, columns))
    _add_long(found, base)
    _add_neighbours(found, base)
    for constraint in kernel.constraints:
        _add_breach(found, constraint, base)
    return found


def _base(found: _Found) -> Problem | None:
    """A product of about one block, whose neighbours can be tried: square if the block is not too long for that."""
    x = found.block.x
    if max(found.block) ** 3 * 4 <= USUAL_WORK:
        return next(_allowed_squares(found, max(found.block)), None)
    problems = (found.kernel.problem(size, x, size) for size in range(min(x, 32), 129))
    return found.first(problems)


def _allowed_squares(found: _Found, least: int = 1) -> Iterator[Problem]:
    problems = (found.kernel.problem(size, size, size) for size in range(least, LARGEST + 1))
    return filter(found.allows, problems)


def _any_product(found: _Found) -> Problem | None:
    """An allowed product where none with m = n = k is: some of the block's own sizes, their multiples, and large ones.

    The one that takes least work comes first.
    """
    sizes = {1, 16, *(factor * extent for extent in found.block for factor in (1, 2, 3, 4, 6, 8)), *LARGEST_SIZES}
    products = sorted(itertools.product(sizes, repeat=3), key=math.prod)
    return found.first(found.kernel.problem(*product) for product in products)


def _allowed_multiple(found: _Found, base: Problem, axis: str, extent: int) -> int:
    """The smallest multiple of a tile's extent that is allowed along one axis; the extent itself where none is."""
    sizes = range(extent, LARGEST + 1, extent)
    allowed = found.first(_resized(base, axis, size) for size in sizes)
    return extent if allowed is None else int(getattr(allowed, axis))


def _add_long(found: _Found, base: Problem) -> None:
    """Products that are long along one axis: a kernel's tile may be many times as large as its block."""
    thin = found.kernel.problem(_THIN, _THIN, _THIN)
    for axis in _AXES:
        nearest = found.first(
            _resized(start, axis, _LONG + step) for start in (thin, base) for step in range(_STEPS_AWAY)
        )
        if nearest is not None:
            found.add(nearest, f"a long {axis}")


def _add_smallest(found: _Found, base: Problem) -> None:
    """The smallest size allowed along each axis."""
    for axis in _AXES:
        smallest = found.first(_resized(base, axis, size) for size in range(1, getattr(base, axis)))
        if smallest is not None:
            found.add(smallest, f"the smallest {axis} allowed")


def _add_gaps(found: _Found, base: Problem, deep: Iterable[Sizes]) -> None:
    """Gaps between the rows of the base and of a deep grid of tiles: of all three matrices at once, and of each."""
    every = tuple(_GAPS)
    for problem, where in ((base, ""), *((found.kernel.problem(*sizes), " of a deep grid") for sizes in deep)):
        gapped = {axes: _gapped(found, problem, axes) for axes in (every, *((axis,) for axis in _GAPS))}
        for axes, each in gapped.items():
            whose = "all" if axes == every else f"{axes[0][-1].upper()}'s"
            # Which matrix it is that goes wrong, the base shows.
            if each is not None and (axes == every or not where or gapped[every] is None):
                found.add(each, f"gaps between {whose} rows{where}")


def _gapped(found: _Found, problem: Problem, axes: Collection[str]) -> Problem | None:
    """The product with some of its rows further apart, if any distance is found that is allowed."""
    wished = {axis: getattr(problem, axis) + _GAPS[axis] for axis in axes}
    stepped = ({axis: (getattr(problem, axis) // step + 1) * step for axis in axes} for step in _LEADING_STEPS)
    return found.first(replace(problem, **leading) for leading in (wished, *stepped))


def _add_neighbours(found: _Found, base: Problem) -> None:
    """The nearest sizes on either side of the base, one that is allowed and one that is not, axis by axis.

    Several axes are moved together where one of them alone cannot be.
    """
    immovable: set[str] = set()
    for direction in _DIRECTIONS:
        if len(direction) > 1 and immovable.isdisjoint(direction):
            continue
        where = " = ".join(direction)
        moved = False
        for name, sign in (("more", 1), ("less", -1)):
            steps = [_moved(base, direction, sign * step) for step in range(1, _STEPS_AWAY + 1)]
            problems = [problem for problem in steps if problem is not None]
            for allowed in (True, False):
                nearest = next((problem for problem in problems if found.allows(problem) is allowed), None)
                if nearest is not None:
                    found.add(nearest, f"{name} {where}")
                    moved |= allowed
        if not moved:
            immovable |= set(direction)
    apart = [problem for problem in found.allowed if len({problem.m, problem.n, problem.k}) > 1]
    for one in apart[:8]:
        for other in apart[:8]:
            found_problem = found.kernel.problem(one.m, other.n, one.k)
            if len({one.m, other.n, one.k}) == 3 and found.allows(found_problem):
                found.add(found_problem, "three different sizes")
                return


def _moved(base: Problem, axes: Iterable[str], distance: int) -> Problem | None:
    """The base with some of its sizes changed; None where one leaves what an int can be."""
    sizes = {axis: getattr(base, axis) + distance for axis in axes}
    if not all(1 <= size <= _LARGEST_INT for size in sizes.values()):
        return None
    return replace(base, lda=0, ldb=0, ldc=0, **sizes)


def _resized(base: Problem, axis: str, size: int) -> Problem | None:
    """The base with one size replaced; None where that is no int."""
    return _moved(base, (axis,), size - getattr(base, axis))


def _add_breach(found: _Found, constraint: Constraint, base: Problem) -> None:
    """A case that breaks one constraint and as few others as can be."""
    alone = replace(found.kernel, constraints=(constraint,))
    breaches = [strange for strange in _strange(base, found.block) if alone.refusals(*strange)]
    if breaches:
        problem, block = min(breaches, key=lambda breach: len(found.kernel.refusals(*breach)))
        found.add(problem, f"breaks: {constraint.sentence}", block)


def _strange(base: Problem, block: Dim3) -> Iterator[tuple[Problem, Dim3]]:
    """The base in other blocks, and products near it and far larger in its own."""
    x, y, z = block
    for shape in ((x, y, z + 1), (x + 1, y, z), (x, y + 1, z), (2 * x, y, z), (x, 2 * y, z), (1, 1, 1), (3, 2, 1)):
        if dim3(shape).size <= _THREADS:
            yield base, dim3(shape)
    if x > 1 and x * y == _THREADS:
        yield base, Dim3(x // 2, y, 1)
        yield base, Dim3(x // 2, y, 2)
    for axes in _DIRECTIONS:
        for distance in (1, -1, 2, -2):
            if (near := _moved(base, axes, distance)) is not None:
                yield near, block
        for doublings in range(1, 31):
            # Multiples of what is allowed, so that nothing but their extent forbids them.
            sizes = {axis: getattr(base, axis) << doublings for axis in axes}
            if max(sizes.values()) <= _LARGEST_INT:
                yield replace(base, lda=0, ldb=0, ldc=0, **sizes), block
