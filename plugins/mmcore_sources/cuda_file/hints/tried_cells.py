"""The small products that are tried for a hint: their sizes, and whether they are right."""

from __future__ import annotations

import contextlib
from dataclasses import replace

from mmcore.cell import Cell
from mmcore.errors import MmcoreError
from mmcore.executor import try_cell
from mmcore.kernel.declaration import Kernel
from mmcore.kernel.problem import Problem
from mmcore.kernel.sizes import size_text
from mmcore.result import Result
from mmcore.verdict import judged
from mmcore_emulator.adapter.api import checked
from mmcore_emulator.adapter.launch_facts import launch_command

_SMALL = 64
TRIED_SECONDS = 10.0
"""The usual time limit of a product that is tried."""
MOST_WORK = 1 << 28
"""The multiplications of the largest product that is tried."""


def size_of(cell: Cell) -> str:
    """Return the sizes of a cell's product as a text."""
    return size_text({name: getattr(cell, name) for name in "mnk"})


def small_cell(cell: Cell, kernel: Kernel) -> Cell:
    """Return the launch for a small product with the same remainders, and sizes in the same order."""
    asked = (cell.m, cell.n, cell.k)
    ranks = [sum(size > other for other in asked) for size in asked]
    small = [_SMALL + _SMALL // 2 * rank + size % _SMALL for rank, size in zip(ranks, asked, strict=True)]
    m, n, k = asked if max(asked) <= _SMALL else small
    return at_sizes(replace(cell, timings=(), timeout=TRIED_SECONDS), kernel, m, n, k)


def unequal_cell(cell: Cell, kernel: Kernel) -> Cell:
    """Return the launch for three different sizes, multiples of a cell's; the cell itself if the kernel refuses those.

    Readings that exchange sizes may both be right where two are equal.
    """
    if len({cell.m, cell.n, cell.k}) == 3:
        return cell
    other = at_sizes(cell, kernel, cell.m, 2 * cell.n, 3 * cell.k)
    return cell if kernel.violations(other.problem(kernel), kernel.config(**other.config)) else other


def at_sizes(cell: Cell, kernel: Kernel, m: int, n: int, k: int) -> Cell:
    """Return the launch for other sizes, or the nearest ones of a source that fixes some, with gaps as there were."""
    asked = cell.problem(kernel)
    packed = replace(asked, m=m, n=n, k=k, lda=0, ldb=0, ldc=0)
    other = kernel.with_fixed_sizes(packed, kernel.config(**cell.config))
    lda, ldb, ldc = (_leading(asked, other, matrix) for matrix in "ABC")
    return replace(cell, m=other.m, n=other.n, k=other.k, lda=lda, ldb=ldb, ldc=ldc)


def allowed_at(cell: Cell, kernel: Kernel, m: int, n: int, k: int) -> Cell | None:
    """Return the launch for other sizes as :func:`at_sizes` does; None if the kernel's constraints forbid it."""
    with contextlib.suppress(MmcoreError):
        other = at_sizes(cell, kernel, m, n, k)
        if not kernel.violations(other.problem(kernel), kernel.config(**cell.config)):
            return other
    return None


def _leading(asked: Problem, other: Problem, matrix: str) -> int:
    """Return a leading dimension for another problem with the same remainder by 64; 0 without gaps.

    It exceeds rows and columns, so that it fits either storage order.
    """
    _, length = asked.stored_shape(matrix)
    least = max(other.shape(matrix)) + 1
    return least + (asked.leading(matrix) - least) % _SMALL if asked.leading(matrix) > length else 0


def measured(cell: Cell, kernel: Kernel | None = None) -> Result | None:
    """Return the result of a cell; None if it cannot be run, or not within its time limit.

    ``kernel`` is the kernel itself, if the cell cannot name it.
    """
    try:
        result = try_cell(cell, kernel=kernel)
    except MmcoreError:
        return None
    return None if result.timed_out else result


def is_clean(result: Result | None, kernel: Kernel) -> bool:
    """Return whether a product is right and has no hazards."""
    return result is not None and result.verified and judged(result, kernel, "hazards").verified


def is_checked(cell: Cell) -> bool:
    """Return whether a product is right, without hazards at its own sizes."""
    try:
        return is_right(cell) and not checked(cell, quiet=True, wrong=False).violations
    except MmcoreError:
        return False


def is_right(cell: Cell, kernel: Kernel | None = None) -> bool:
    """Return whether a cell's product is right; the arguments are those of :func:`measured`."""
    result = measured(cell, kernel)
    return result is not None and result.verified


def is_wrong(cell: Cell, kernel: Kernel | None = None) -> bool:
    """Return whether a cell's product is wrong, or its launch is; the arguments are those of :func:`measured`."""
    result = measured(cell, kernel)
    return result is not None and not result.verified


def hint_of(text: str, cell: Cell) -> str:
    """Return a hint, with the command that runs the product which it is about."""
    return f"hint: {text}\n  {launch_command('run', replace(cell, seed=None))}"
