"""Hints that a wrong kernel is right at the size with which its own program launches it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from mmcore.cell import Cell
from mmcore.kernel.declaration import Kernel
from mmcore.kernel.geometry import ceil_div
from mmcore.kernel_reference import FileKernel
from mmcore.result import Result
from mmcore.verdict import judged
from mmcore_emulator.adapter.findings import are_of_sizes
from mmcore_emulator.adapter.usual_sizes import PASSES
from mmcore_sources.cuda_file.files import inferred_of
from mmcore_sources.cuda_file.hints.tried_cells import (
    MOST_WORK,
    TRIED_SECONDS,
    at_sizes,
    hint_of,
    is_clean,
    is_right,
    measured,
    size_of,
    small_cell,
)

_SECONDS = 4 * TRIED_SECONDS


def own_sizes(result: Result, file: FileKernel) -> Iterator[str]:
    """Yield the size of a wrong kernel's program, or one as near as can be tried, if the kernel is right there.

    A small one of the same kind says less: it may be too small for a stage in shared memory to be refilled.
    """
    own, kernel = inferred_of(file.reference).launched_sizes, file.kernel
    if own is None or result.verified or (own.m, own.n, own.k) == (result.cell.m, result.cell.n, result.cell.k):
        return
    packed = replace(result.cell, m=own.m, n=own.n, k=own.k, lda=0, ldb=0, ldc=0, timings=(), timeout=_SECONDS)
    m, n, k = _tried(own.m, own.n, own.k)
    cell, what = at_sizes(packed, kernel, m, n, k), "the size with which the program launches it"
    if m < own.m:
        if not is_clean(measured(small_cell(packed, kernel)), kernel):
            return
        if _takes_one_pass(cell, result):
            what = "where the grid makes one pass"
        elif is_right(_of_other_shape(cell, kernel), kernel):
            return
        else:
            order = "sizes in the order of the program's launch"
            what = "m = n = k, as in the program's launch" if m == n == k else order
    if _is_right_there(measured(cell), kernel):
        yield hint_of(f"at {size_of(cell)}, {what}, the product is right", cell)


def _takes_one_pass(cell: Cell, result: Result) -> bool:
    """Return whether a result was first wrong at a size with more than one pass of its grid, and a cell is smaller."""
    wrong = next((tried for tried in result.sizes if not tried["right"]), None)
    return wrong is not None and wrong["why"].startswith(PASSES) and cell.m * cell.n < wrong["m"] * wrong["n"]


def _of_other_shape(cell: Cell, kernel: Kernel) -> Cell:
    """Return a cell with sizes in another order, or with different ones if they are equal."""
    if len({cell.m, cell.n, cell.k}) == 1:
        return at_sizes(cell, kernel, cell.m, ceil_div(cell.n, 2), ceil_div(cell.k, 4))
    return at_sizes(cell, kernel, *sorted((cell.m, cell.n, cell.k), reverse=cell.m < cell.k))


def _tried(m: int, n: int, k: int) -> tuple[int, int, int]:
    """Return sizes halved until a product of them can be tried."""
    while m * n * k > MOST_WORK:
        m, n, k = (ceil_div(size, 2) for size in (m, n, k))
    return m, n, k


def _is_right_there(result: Result | None, kernel: Kernel) -> bool:
    """Return whether a product is right, and has no hazards that a small product of another shape shows."""
    if result is None or not result.verified:
        return False
    return are_of_sizes(judged(result, kernel, "hazards").violations)
