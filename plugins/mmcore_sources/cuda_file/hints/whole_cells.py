"""The products of whole tiles that are tried for a hint."""

from __future__ import annotations

from dataclasses import replace

from mmcore.cell import Cell
from mmcore.kernel.constraints import equal_sizes
from mmcore.kernel.declaration import Kernel
from mmcore_sources.cuda_file.hints.tried_cells import at_sizes
from mmcore_sources.cuda_file.inference.expressions import LaunchText
from mmcore_sources.cuda_file.inference.whole_tiles import whole

WHOLE = "whole tiles"
"""The reason for a size, as the verdict names it."""
_LARGEST = 256  # size of whole tiles that are tried in place of a small product


def whole_cell(cell: Cell, kernel: Kernel) -> Cell | None:
    """Return the launch for the whole tiles of the grid that hold a product, if it differs and is not much larger."""
    if not isinstance(kernel.launch, LaunchText):
        return None
    equal = equal_sizes(kernel.constraints)
    problem = whole(kernel.launch, cell.problem(kernel), kernel.config(**cell.config), equal=equal)
    problem = kernel.with_fixed_sizes(problem, kernel.config(**cell.config))
    sizes = problem.m, problem.n, problem.k
    return None if sizes == (cell.m, cell.n, cell.k) or max(sizes) > _LARGEST else at_sizes(cell, kernel, *sizes)


def with_remainders(tiles: Cell, other: Cell, kernel: Kernel) -> Cell:
    """Return the launch for whole tiles, and another tile that lacks as much as the last one of another product."""
    if not isinstance(kernel.launch, LaunchText):
        return tiles
    equal, config = equal_sizes(kernel.constraints), kernel.config(**other.config)
    asked, least = other.problem(kernel), tiles.problem(kernel)
    filled = whole(kernel.launch, asked, config, equal=equal)
    lacks = {name: getattr(filled, name) - getattr(asked, name) for name in "mnk"}
    some = {name: getattr(least, name) + bool(lacks[name]) for name in "mnk"}
    more = whole(kernel.launch, replace(least, **some, lda=0, ldb=0, ldc=0), config, equal=equal)
    return at_sizes(tiles, kernel, *(getattr(more, name) - lacks[name] for name in "mnk"))


def is_whole(cell: Cell, why: str, kernel: Kernel) -> bool:
    """Return whether a size is made of whole tiles of the grid."""
    if why.startswith(WHOLE) or not isinstance(kernel.launch, LaunchText):
        return why.startswith(WHOLE)
    problem = cell.problem(kernel)
    equal = "mnk" if problem.m == problem.n == problem.k else ""
    of_tiles = whole(kernel.launch, problem, kernel.config(**cell.config), equal=equal)
    return (of_tiles.m, of_tiles.n, of_tiles.k) == (cell.m, cell.n, cell.k)


def has_whole_rows_and_columns(cell: Cell, kernel: Kernel) -> bool:
    """Return whether the rows and columns of C are whole tiles of the grid."""
    if not isinstance(kernel.launch, LaunchText):
        return False
    of_tiles = whole(kernel.launch, cell.problem(kernel), kernel.config(**cell.config), equal="")
    return (of_tiles.m, of_tiles.n) == (cell.m, cell.n)


def exchanged_cell(cell: Cell, kernel: Kernel) -> Cell | None:
    """Return a launch for whole tiles with as many rows as A had columns, and the other way round; None without one."""
    other = at_sizes(cell, kernel, cell.k, cell.n, cell.m)
    other = whole_cell(other, kernel) or other
    greater = (cell.m > cell.k, other.m > other.k), (cell.m < cell.k, other.m < other.k)
    fits = not kernel.violations(other.problem(kernel), kernel.config(**other.config))
    return other if fits and is_whole(other, "", kernel) and all(one != two for one, two in greater) else None
