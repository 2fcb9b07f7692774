"""What to try of a kernel: products and blocks on both sides of each of its constraints.

They are found by asking the constraints, of which nothing is known but that they allow or refuse: a third party's own
are searched as ours are. Wishes come first (size 1, prime sizes, k smaller than the tile, …), among them whole tiles,
of which the launch rule tells the extent. One that the constraints refuse becomes a case that must be refused. Then the
sizes next to an allowed one are tried, axis by axis, until one that is allowed and one that is refused are found on
either side, and the smallest that is allowed along each axis.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import islice

from mmcore.conformance.tiling import tile
from mmcore.errors import InvalidKernel
from mmcore.planning.constraints import Constraint
from mmcore.planning.geometry import Dim3, dim3
from mmcore.planning.kernel import Kernel
from mmcore.planning.limits import Limits
from mmcore.planning.problem import Problem

LARGEST = 512
"""The largest size m = n = k that is searched for; one that is allowed below it must exist."""

USUAL_WORK = 1 << 21
"""m·n·k of the largest product that is tried if smaller ones are allowed: a second of emulation, and several blocks."""

MOST_PER_BLOCK = 40
"""Products tried in each block."""

_AXES = ("m", "n", "k")
_DIRECTIONS = (("m",), ("n",), ("k",), ("m", "n"), ("m", "k"), ("n", "k"), _AXES)
_STEPS_AWAY = 128
_LONG, _THIN = 257, 5
_LARGEST_INT = 2**31 - 1
_THREADS = 1024
_DEPTHS = (8, 16, 32, 64, 96, 120, 128)
_REST = 33


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
    """

    allowed: tuple[Case, ...]
    refused: tuple[Case, ...]
    unbroken: tuple[str, ...]
    left_out: int


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


def find_cases(kernel: Kernel, limits: Limits) -> Cases:
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
    return Cases(tuple(allowed), tuple(refused.values()), tuple(dict.fromkeys(unbroken)), left_out)


def _find(kernel: Kernel, block: Dim3, limits: Limits) -> _Found:
    found = _Found(kernel, block)
    squares = list(islice(_allowed_squares(found), 4))
    for number, problem in enumerate(squares):
        found.add(problem, "the smallest m = n = k allowed" if number == 0 else "a small m = n = k")
    base = _base(found) or (squares[0] if squares else _any_product(found))
    if base is None:
        raise InvalidKernel(f"{kernel.name}: no product up to {LARGEST} is allowed in {block} blocks")
    found.add(base, "a whole block")
    rows, columns = tile(kernel, base, block, limits)
    whole = _whole_tiles(_allowed_multiple(found, base, "m", rows), _allowed_multiple(found, base, "n", columns))
    for why, sizes in (*_wishes(block), *whole):
        found.add(kernel.problem(*sizes), why)
    _add_smallest(found, base)
    if kernel.strided:
        lda, ldb, ldc = base.k + 3, base.n + 5, base.n + 7
        found.add(replace(base, lda=lda, ldb=ldb, ldc=ldc), "gaps between all rows")
        found.add(replace(base, lda=lda), "gaps between A's rows")
        found.add(replace(base, ldb=ldb), "gaps between B's rows")
        found.add(replace(base, ldc=ldc), "gaps between C's rows")
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
    """An allowed product where none with m = n = k is: some of the block's own sizes and their multiples."""
    sizes = sorted({1, *(factor * extent for extent in found.block for factor in (1, 2, 3, 4, 6, 8))})
    problems = (found.kernel.problem(m, n, k) for m in sizes for n in sizes for k in sizes)
    return found.first(problems)


def _wishes(block: Dim3) -> Iterator[tuple[str, tuple[int, int, int]]]:
    """What every kernel should be tried with, if its constraints allow it."""
    x, y = block.x, block.y
    yield "size 1", (1, 1, 1)
    yield "k smaller than the tile", (y + 1, x + 1, max(1, min(x, 32) // 2 - 1))
    yield "prime sizes", _primes(y + 1, x + 1, min(x, 32) + 1)
    yield "blocks and a rest", (2 * y + 1, 2 * x + 1, 2 * x + 1)
    yield "one row", (1, x + 2, y + 1)
    yield "one column", (y + 2, 1, x + 1)
    yield "k = 1", (y + 1, x + 2, 1)
    yield "one less than a block", (max(1, y - 1), max(1, x - 1), max(1, x - 1))
    yield "one more than a block", (y + 1, x + 1, x + 1)
    yield "wide", (y, 3 * x, 2 * x)
    yield "tall", (3 * y, x, 2 * x)
    yield "deep", (y, 2 * x, 3 * x)


def _allowed_multiple(found: _Found, base: Problem, axis: str, extent: int) -> int:
    """The smallest multiple of a tile's extent that is allowed along one axis; the extent itself where none is."""
    sizes = range(extent, LARGEST + 1, extent)
    allowed = found.first(_resized(base, axis, size) for size in sizes)
    return extent if allowed is None else int(getattr(allowed, axis))


def _whole_tiles(rows: int, columns: int) -> Iterator[tuple[str, tuple[int, int, int]]]:
    """Tiles without a remainder, for which a kernel may have code of its own, in m, in n and in k.

    How deep a kernel's tiles are nobody tells; that of most divides a power of two, 96 or 120.
    """
    depths = [k for k in _DEPTHS if rows * columns * k <= USUAL_WORK] or _DEPTHS[:1]
    for k in depths:
        yield f"a whole tile, k = {k}", (rows, columns, k)
    size = max(rows, columns)
    if size**3 <= USUAL_WORK:
        yield "a whole tile, m = n = k", (size, size, size)
    yield "whole tiles and a rest", (rows + 1, columns + 1, _REST)
    if 4 * rows * columns * _REST <= USUAL_WORK:
        yield "whole tiles", (2 * rows, 2 * columns, _REST - 1)
        yield "whole tiles but for a row and a column", (2 * rows - 1, 2 * columns - 1, _REST - 2)


def _primes(*least: int) -> tuple[int, int, int]:
    """Three different primes, each at least as large as asked for."""
    primes: list[int] = []
    for number in least:
        while number in primes or number < 2 or any(number % divisor == 0 for divisor in range(2, number)):
            number += 1
        primes.append(number)
    m, n, k = primes
    return m, n, k


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
