"""The usual sizes to try of a kernel: tiles with and without remainders, edges, gaps, vectors, passes of a grid."""

from __future__ import annotations

import bisect
import contextlib
import itertools
import math
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import replace
from functools import cached_property

from mmcore.errors import MmcoreError
from mmcore.kernel.constraints import equal_sizes
from mmcore.kernel.geometry import Dim3, ceil_div
from mmcore.kernel.launch import known_tile
from mmcore.kernel.problem import Problem
from mmcore_emulator.adapter.allowed_sizes import FEW, PLAIN, AllowedSizes, Size, gapped
from mmcore_emulator.adapter.single_blocks import are_independent
from mmcore_emulator.isa.table import effect
from mmcore_emulator.ptx.instructions import Instruction

_LONG_K = 575  # modulo 64, all bits are set: loops over a remainder take all their turns
_DEPTHS = (64, 96, 128, 160, 192, 256, 384, 512)
_ELEMENTS = 4  # of C that a thread may compute along each axis
BLOCKS = "its first and last block were run"
PASSES = "more than one pass of the grid"
_LARGE = 1 << 13  # the side of a product with a grid that may grow no further


class UsualSizes(AllowedSizes):
    """The sizes that are tried of every kernel, the most revealing ones first."""

    @cached_property
    def early(self) -> list[Size]:
        """The first two sizes, those that these lack, and those with more than one pass of the grid."""
        more = (self._affordable(size) for size in (*self._missing(), *self._beyond_grid(1)))
        return [*self._all[:2], *more]

    @property
    def _multiples(self) -> tuple[int, ...]:
        """The least multiples of the number that k is a multiple of, which may be larger than the usual k."""
        step = self.multiple("k")
        return (step, 2 * step) if step else ()

    def _missing(self) -> Iterator[Size]:
        """Yield a square of two tiles along each side, and one with remainders, if no affordable size is such a one.

        One block alone shows no exchanged indexes of blocks, and whole tiles show no missing guards.
        """
        (rows, columns), tile = self.tile, max(self.tile)
        remainder = tile // 2 + 3

        def has_several(problem: Problem) -> bool:
            return problem.m > rows and problem.n > columns

        def has_rest(problem: Problem) -> bool:
            return not self.is_whole(problem)

        for why, holds, leasts in (
            ("several tiles", has_several, (2 * tile, 3 * tile, 4 * tile, 8 * tile)),
            ("tiles with remainders", has_rest, (tile + remainder, 2 * tile + remainder)),
        ):
            if not any(holds(each.problem) for each in self._all):
                found = (Size(each, why) for each in self._squares(leasts) if holds(each))
                yield from itertools.islice(found, 1)

    def _squares(self, leasts: Iterable[int]) -> Iterator[Problem]:
        """Yield the squares from some sizes up, also those that the kernel's own program does not use.

        A product with a longer k stands for a square that is much larger.
        """
        kernel = replace(self.kernel, program_sizes=())
        yield from (kernel.least_problem(least, self.config) for least in leasts)

    def unequal_of_program(self) -> Iterator[Size]:
        """Yield the least product of three different sides that the kernel's own program uses.

        Squares alone do not show a length of rows in the place of another one.
        """
        rows, columns = self.tile
        sides = ((rows * down, columns * along) for down, along in itertools.product((1, 2, 3), repeat=2))
        sizes = sorted(
            ((m, n, k) for m, n in sides for k in {*_DEPTHS, *self._multiples} if len({m, n, k}) == 3), key=math.prod
        )
        used = [each for each in sizes if self.kernel.in_program(self.kernel.problem(*each), self.config)]
        observed = list(self.first("whole tiles of different sides", used))
        yield from observed or map(self._affordable, self.first("whole tiles of different sides", used, PLAIN))

    def whole_passes(self, k: int) -> list[Size]:
        """Return sizes of whole tiles with more than one pass of the grid, and a k, that may be run in any case."""
        (rows, columns), beyond = self.tile, [*self._beyond_grid(1)]
        sides = (
            (ceil_div(each.problem.m, rows) * rows, ceil_div(each.problem.n, columns) * columns) for each in beyond
        )
        whole = (Size(self.kernel.problem(m, n, k), PASSES) for m, n in sides)
        return [size for size in map(self._affordable, whole) if size.is_due]

    def _affordable(self, size: Size) -> Size:
        """Return a size with the run that it gets in any case; if each run takes too long, one that is named."""
        due = replace(size, is_due=True, is_beside=True)
        if self.planned(size.problem) is not None:
            return due
        if self.planned(size.problem, PLAIN) is not None:
            return replace(due, is_plain=True)
        planned = self.planned(size.problem, math.inf)
        by_blocks = planned is not None and self.seconds_of_blocks(size.problem) <= self.most
        if planned is not None and by_blocks and are_independent(planned, [*self.functions(planned).values()]):
            return replace(due, why=f"{size.why}; {BLOCKS}", of_blocks=True)
        return replace(size, is_plain=True)

    def usual(self) -> list[Size]:
        """Return the sizes, those of half vectors after the early ones."""
        several = (size for size in self._beyond_grid(_ELEMENTS) if self.planned(size.problem, PLAIN) is not None)
        distinct = dict[Problem, Size]()
        for size in (*self.early, *self._halves(self._all), *self._all[2:], *several):
            distinct.setdefault(size.problem, size)
        return [*distinct.values()]

    @cached_property
    def _all(self) -> list[Size]:
        return list({size.problem: size for size in reversed([*self._usual()])}.values())[::-1]

    def with_remainders(self) -> Size | None:
        """Return the first usual size that is not made of whole tiles; None if all are."""
        return next((size for size in self._usual() if not self.is_whole(size.problem)), None)

    def least_with_remainders(self) -> Size | None:
        """Return a product slightly larger than a tile; None if none is allowed."""
        (rows, columns), k = self.tile, 19
        sizes = [(rows + 3, columns + 3, k), (rows + 8, columns + 8, 24), (max(self.tile) + 3,) * 3]
        found = (size for size in self.first("a tile with remainders", sizes) if not self.is_whole(size.problem))
        return next(found, None)

    def _usual(self) -> Iterator[Size]:
        """Yield tiles with and without remainders, single rows and columns, long ones, and gaps.

        If only squares of these are allowed, or none, yield squares with and without remainders too, or the sizes that
        the source fixes.
        """
        yield from (usual := list(self._tiles()))
        if all(each.problem.m == each.problem.n == each.problem.k for each in usual):
            yield from self._further_squares({each.problem.n for each in usual})

    def squares_of_program(self) -> Iterator[Size]:
        """Yield squares with and without remainders if the kernel's own program uses nothing but squares."""
        if equal_sizes(self.kernel.program_sizes) == "mnk":
            yield from self._further_squares(set())

    def _further_squares(self, known: Set[int]) -> Iterator[Size]:
        """Yield squares with and without remainders, other than the known ones."""
        tile = max(self.tile)
        remainder = tile // 2 + 3
        for leasts in ((2 * tile, tile), (2 * tile + remainder, tile + remainder, remainder), (1,)):
            squares = [*self._squares(leasts)]
            is_square = all(each.m == each.n == each.k for each in squares)
            why = "a square" if is_square else "sizes that its source can be compiled for"
            found = [*self.first(why, ((each.m, each.n, each.k) for each in squares if each.n not in known))]
            known = known | {each.problem.n for each in found}
            yield from found

    def _tiles(self) -> Iterator[Size]:
        rows, columns = self.tile
        depths = (64, 32, 48, 128, 96, 256, 16, 8, 512, *self._multiples)
        whole = ((2, 3), (1, 2), (2, 1), (1, 1), (2, 2))
        yield from self.first(
            "whole tiles", ((rows * down, columns * along, k) for k in depths for down, along in whole)
        )
        offsets = [(rows // 2 + 1, columns // 4 + 1, 3), (rows // 2, columns // 4 or 1, 8), (8, 16, 0), (0, 0, 0)]
        edges = self.first(
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
        yield from self.first("a remainder of k alone", inside, kept="mk")
        yield from self._rows_of_tiles()
        few = [FEW, 8, 16, 64, rows, columns]
        yield from self.first(
            "one row", ((1, n, k) for k in (131, 128, 64) for n in (columns + 1, columns, FEW)), kept="m"
        )
        yield from self.first(
            "one column", ((m, 1, k) for k in (131, 128, 64) for m in (rows + 1, rows, FEW)), kept="n"
        )
        least = ((rows + 1, columns + 2, k) for k in (1, 2, 3, 4, 5, 6, 7, 8, 16))
        for size in self.first("k = 1", least, kept="k"):
            yield size if size.problem.k == 1 else replace(size, why="the least k")
        yield from self.first(
            "a long k",
            ((m, n, k) for k in (_LONG_K, 512, 576, 1024) for m, n in itertools.product(few, repeat=2)),
            kept="k",
        )
        if self.kernel.strided:
            yield from self._gaps()

    def _rows_of_tiles(self) -> Iterator[Size]:
        """Yield a tall and a wide product, with remainders if the kernel's program may use them."""
        rows, columns = (math.lcm(edge, self.multiple(axis) or 1) for edge, axis in zip(self.tile, "mn", strict=True))
        tall = ((8 * rows + 1, FEW), (9 * rows, FEW), (8 * rows + 1, columns), (9 * rows, columns))
        wide = ((FEW, 8 * columns + 1), (FEW, 9 * columns), (rows, 8 * columns + 1), (rows, 9 * columns))
        for why, sides in (("a column of tiles", tall), ("a row of tiles", wide)):
            sizes = ((m, n, k) for k in (3, 8, 16, 32, 64, *self._multiples) for m, n in sides)
            used = (each for each in sizes if self.kernel.in_program(self.kernel.problem(*each), self.config))
            yield from self.first(why, used, kept="mn")

    def _beyond_grid(self, elements: int) -> Iterator[Size]:
        """Yield a product with more elements of C than the threads, or more tiles, of a grid that grows no further.

        Where the grid does not depend on sizes, a thread may compute so many elements along each axis in one pass.
        """
        with contextlib.suppress(MmcoreError):
            launches = self.kernel.launches(self.kernel.problem(_LARGE, _LARGE, 64), self.config, self.device)
            blocks = max(each.grid_dim.size for each in launches)
            threads = max(each.grid_dim.size * each.block_dim.size for each in launches)
            (rows, columns), side = self.tile, math.isqrt(threads) + 3
            if self._grids(_LARGE, _LARGE) != self._grids(2 * _LARGE, 2 * _LARGE):
                yield from self._beyond_axes() if elements == 1 else ()
            elif self._grids(1, 1) == self._grids(_LARGE, _LARGE) and not self._knows_tile():
                yield from self._beyond(elements * side, elements * side)
            elif elements == 1:
                side = max(side, math.isqrt(blocks * rows * columns) + 3)
                yield from self._beyond(side, side)

    def _knows_tile(self) -> bool:
        """Return whether the multiples or the launch rule of a kernel with a constant grid say what a tile is."""
        return bool(self.multiple("m") and self.multiple("n")) or known_tile(self.kernel.launch) is not None

    def _beyond_axes(self) -> Iterator[Size]:
        """Yield a product of more rows, and one of more columns, than a grid that grows no further along one axis."""
        (rows, columns), sizes = self.tile, range(1, _LARGE)
        large = self._grids(_LARGE, _LARGE)
        if self._grids(2 * _LARGE, _LARGE) == large:
            most = bisect.bisect_left(sizes, True, key=lambda m: self._grids(m, _LARGE) == large)
            yield from self._beyond(most + 1 + rows, columns) if most else ()
        if self._grids(_LARGE, 2 * _LARGE) == large:
            most = bisect.bisect_left(sizes, True, key=lambda n: self._grids(_LARGE, n) == large)
            yield from self._beyond(rows, most + 1 + columns) if most else ()

    def _grids(self, m: int, n: int) -> list[Dim3]:
        """Return the grids of the launches for so many rows and columns."""
        launches = self.kernel.launches(self.kernel.problem(m, n, 64), self.config, self.device)
        return [each.grid_dim for each in launches]

    def _beyond(self, rows: int, columns: int) -> Iterator[Size]:
        """Yield a product of at least so many rows and columns that is allowed, with a short k; or else a square.

        It may take too long.
        """
        sizes = list[tuple[int, int, int]]()
        for vector in (1, 8):  # copies may need rows of whole vectors
            steps = (math.lcm(self.multiple(axis) or 1, vector) for axis in "mn")
            m, n = (ceil_div(size, step) * step for size, step in zip((rows, columns), steps, strict=True))
            sizes += [*((m, n, k) for k in (1, 5, 8, 16, 32, 64, 128, *self._multiples)), (max(m, n),) * 3]
        used = [each for each in sizes if self.kernel.in_program(self.kernel.problem(*each), self.config)]
        yield from itertools.islice(
            (size for slower in (PLAIN, math.inf) for size in self.first(PASSES, used, slower)), 1
        )

    def _halves(self, usual: Sequence[Size]) -> Iterator[Size]:
        """Yield sizes that end in the middle of a vector, if the code loads, stores or copies vectors."""
        rows, columns = self.tile
        planned = self.planned(usual[0].problem) if usual else None
        functions = () if planned is None else self.functions(planned).values()
        if any(_moves_vectors(at) for function in functions for at in function.body):
            for half in (2, 4):
                sizes = itertools.product((3 * half, rows), (5 * half, columns), (32 + half,))
                yield from self.first(f"k is a multiple of {half}, not of {2 * half}", sizes)

    def _gaps(self) -> Iterator[Size]:
        """Yield leading dimensions that are multiples of a vector's width, with gaps between the rows.

        They differ if that is allowed. Kernels that load vectors need aligned rows, so others are no fault of theirs.
        """
        (rows, columns), side = self.tile, self.kernel.square_problem(FEW * 8, self.config).n
        sizes = (33, 35, 37), (40, 48, 40), (rows, columns, 64), (side, side, side)
        base = next(iter(self.first("", sizes)), None)
        for width in (8, 16, 64) if base else ():
            assert base is not None
            problem = base.problem
            a, b, c = (width - problem.leading(matrix) % width for matrix in "ABC")
            several = (gapped(self.kernel, problem, gaps) for gaps in ((a, b + width, c + 2 * width), (a, b, c)))
            if other := next((each for each in several if self.planned(each) is not None), None):
                yield Size(other, f"gaps between rows, which begin at multiples of {width} elements")


def _moves_vectors(at: Instruction) -> bool:
    kind = effect(at).kind
    return kind == "copy" or (kind in ("load", "store") and any(isinstance(each, tuple) for each in at.operands))
