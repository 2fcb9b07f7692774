"""The products that a kernel allows, the tiles of its grid, and estimates of the time of a run on the emulator."""

from __future__ import annotations

import bisect
import contextlib
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial

from mmcore.cell import Cell
from mmcore.errors import MmcoreError
from mmcore.kernel.configs import Config
from mmcore.kernel.constraints import Multiple, equal_sizes
from mmcore.kernel.declaration import Kernel
from mmcore.kernel.launch import known_tile
from mmcore.kernel.problem import Problem
from mmcore.kernel.properties import DeviceProperties
from mmcore.planning.plan import Plan
from mmcore_emulator.adapter.single_blocks import LARGEST, largest_matrix, seconds_of_blocks
from mmcore_emulator.ptx.instructions import Function

FEW = 5  # rows and columns of a C that costs little
LARGEST_TILE = 1024
_LEAST_TILE = 8
_DEPTHS = 67, 35  # more than a step of 64, or of 32
PLAIN = 6  # a run without observed accesses is so many times as fast
# Seconds of a product of two elements, by whether tensor cores compute it.
_RATES = {False: 3e-7, True: 3e-8}


@dataclass(frozen=True)
class Size:
    """A product to try, and the reason."""

    problem: Problem
    why: str
    is_extra: bool = False  # true if it is only tried where work is left
    is_due: bool = False  # true if it is tried in any case
    is_plain: bool = False  # true if it is too large for a run with every access observed: only its product is verified
    joins: bool = False  # true if it only joins sides of comparisons that sizes before it reach
    is_beside: bool = False  # true if the work of the examination does not include its own
    of_blocks: bool = False  # true if the products of its first and last block alone are verified

    def cell(self, like: Cell) -> Cell:
        """Return a cell of this product that is otherwise like another."""
        problem = self.problem
        lda, ldb, ldc = (0, 0, 0) if problem == problem.packed else (problem.lda, problem.ldb, problem.ldc)
        return replace(like, m=problem.m, n=problem.n, k=problem.k, lda=lda, ldb=ldb, ldc=ldc)


@dataclass(frozen=True)
class AllowedSizes:
    """The products that a kernel allows in one config.

    ``functions`` returns the PTX functions of a plan, by name expression.
    """

    kernel: Kernel
    config: Config
    device: DeviceProperties
    functions: Callable[[Plan], Mapping[str, Function]]
    most: float  # estimated seconds of the largest run
    on_tensor_cores: bool = False  # true if tensor cores compute its products

    def planned(self, problem: Problem, slower: float = 1) -> Plan | None:
        """Return the plan of a product; None if it is not allowed, or would take ``slower`` times too long."""
        with contextlib.suppress(MmcoreError):
            if not self.kernel.violations(problem, self.config):
                several = self.kernel.launches(problem, self.config, self.device)
                planned = Plan(self.kernel, problem, self.config, several)
                return planned if self.cost(planned) <= self.most * slower else None
        return None

    def seconds(self, problem: Problem, *, plain: bool = False) -> float:
        """Return an estimate of the seconds that a run takes on the emulator; infinite if not allowed."""
        faster = PLAIN if plain else 1
        planned = self.planned(problem, faster)
        return math.inf if planned is None else self.cost(planned) / faster

    def seconds_of_blocks(self, problem: Problem) -> float:
        """Return an estimate of the seconds that the first and the last block take; infinite if not allowed."""
        planned = self.planned(problem, math.inf)
        if planned is None or largest_matrix(problem) > LARGEST:
            return math.inf
        return seconds_of_blocks(planned, 2, _RATES[self.on_tensor_cores])

    def cost(self, planned: Plan) -> float:
        problem = planned.problem
        threads = sum(launch.grid_dim.size * launch.block_dim.size for launch in planned.launches)
        products = max(problem.m * problem.n, threads) * problem.k
        return 0.05 + _RATES[self.on_tensor_cores] * products + 5e-4 * problem.k

    def first(
        self, why: str, sizes: Iterable[tuple[int, int, int]], slower: float = 1, kept: str = ""
    ) -> Iterator[Size]:
        """Yield the first size that is allowed and affordable, as :meth:`planned`.

        A kernel may fix some sizes or have one parameter for two, but not change those that are ``kept``.
        """
        for size in (each for each in itertools.islice(sizes, 400) if min(each) > 0):
            problem, asked = with_fixed_sides(self.kernel, self.config, *size), dict(zip("mnk", size, strict=True))
            is_kept = all(getattr(problem, name) == asked[name] for name in kept)
            if is_kept and self.planned(problem, slower) is not None:
                yield Size(problem, why)
                return

    @cached_property
    def tile(self) -> tuple[int, int]:
        """The rows and columns of C that are whole in every launch, found from the grids, or as the config says.

        Where the grid depends on one of them alone, threads go over all of the other. The multiples of a kernel with a
        constant grid are those of its tiles, which its launch rule may know, too.
        """
        counted = known_tile(self.kernel.launch) or (0, 0)
        rows, columns = (
            self._least_extent(axis) or self.multiple(axis) or edge for axis, edge in zip("mn", counted, strict=True)
        )
        if (rows or columns) and equal_sizes(self.kernel.constraints) == "mn":
            rows = columns = math.lcm(rows or 1, columns or 1)
        if rows or columns:
            return rows or _LEAST_TILE, columns or _LEAST_TILE
        return max(self.config.tile[0], _LEAST_TILE), max(self.config.tile[1], _LEAST_TILE)

    def is_whole(self, problem: Problem) -> bool:
        """Return whether the rows and columns of C are whole tiles."""
        rows, columns = self.tile
        return problem.m % rows == problem.n % columns == 0

    def deeper(self, problem: Problem) -> list[Problem]:
        """Return products of the same rows and columns with more steps along k."""
        return [replace(problem, k=depth, lda=0, ldb=0, ldc=0) for depth in _DEPTHS if depth > problem.k]

    def multiple(self, axis: str) -> int:
        """Return the multiple that the kernel asks for along an axis; 0 for none."""
        constraints = (*self.kernel.constraints, *self.kernel.program_sizes)
        asked = [each.of for each in constraints if isinstance(each, Multiple) and axis in each.sizes]
        whole = [each for each in asked if isinstance(each, int)]
        return math.lcm(*whole) if whole else 0

    def _least_extent(self, axis: str) -> int:
        """Return the extent of a tile; a grid that covers the larger of two sizes depends on k as well."""
        return min(filter(None, (self._extent(axis, k) for k in (64, 1))), default=0)

    def _extent(self, axis: str, k: int) -> int:
        """Return the extent of a tile, a multiple of those of all launches; 0 if no grid depends on the size.

        The extent of one launch is the number of sizes with its first grid that is not empty, along x, y or z.
        """

        def blocks(size: int) -> list[int]:
            # A grid that is rounded down is empty if the other size is small.
            sizes = {"m": LARGEST_TILE, "n": LARGEST_TILE, axis: size}
            problem = self.kernel.problem(sizes["m"], sizes["n"], k)
            launches = self.kernel.launches(problem, self.config, self.device)
            return [each for launch in launches for each in launch.grid_dim]

        extents = list[int]()
        with contextlib.suppress(MmcoreError, IndexError):  # other sizes may have fewer launches
            for number, first in enumerate(blocks(1)):
                along = partial(lambda number, size: blocks(size)[number], number)
                sizes = range(1, 2 * LARGEST_TILE + 1)
                empty = 0 if first else bisect.bisect_right(sizes, 0, key=along)
                size = bisect.bisect_right(sizes, along(empty + 1), key=along) - empty
                extents += [size] if size < LARGEST_TILE else []
        common = math.lcm(*extents)
        return (common if common <= LARGEST_TILE else max(extents)) if extents else 0


def with_fixed_sides(kernel: Kernel, config: Config, m: int, n: int, k: int) -> Problem:
    """Return the product of these sizes, less those that its source fixes or that equal others, if it leaves some."""
    problem = kernel.problem(m, n, k)
    fixed = kernel.with_fixed_sizes(problem, config)
    return fixed if fixed.m == m or fixed.n == n else problem


def gapped(kernel: Kernel, problem: Problem, gaps: tuple[int, int, int]) -> Problem:
    """Return a product with gaps of so many elements between the rows (or columns) of A, B and C.

    Matrices whose leading dimension the kernel does not take stay as they are.
    """
    lda, ldb, ldc = (problem.leading(matrix) + gap for matrix, gap in zip("ABC", gaps, strict=True))
    return replace(problem, lda=lda, ldb=ldb, ldc=ldc).packed_except(kernel.strided)
