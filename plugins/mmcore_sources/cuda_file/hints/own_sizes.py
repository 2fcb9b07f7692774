"""Hints that a wrong kernel is right at the size with which its own program launches it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from mmcore.kernel_reference import FileKernel
from mmcore.result import Result
from mmcore_sources.cuda_file.files import inferred_of
from mmcore_sources.cuda_file.hints.tried_cells import TRIED_SECONDS, at_sizes, hint_of, is_right, size_of, small_cell

_MOST_WORK = 1 << 28  # multiplications of a product that is tried
_LEAST = 64


def own_sizes(result: Result, file: FileKernel) -> Iterator[str]:
    """Yield the size with which the program launches a kernel, or a fraction of it, if the product is right there."""
    sizes, kernel = inferred_of(file.reference).launched_sizes, file.kernel
    if sizes is None or result.verified:
        return
    whole, parts = tuple(sizes), 1
    while whole[0] * whole[1] * whole[2] > _MOST_WORK:
        if any(size % 2 or size <= _LEAST for size in whole):
            return
        whole, parts = tuple(size // 2 for size in whole), 2 * parts
    cell = replace(small_cell(result.cell, kernel), timeout=4 * TRIED_SECONDS)
    cell = at_sizes(cell, kernel, *whole)
    asked = result.cell.m, result.cell.n, result.cell.k
    if (cell.m, cell.n, cell.k) == whole != asked and is_right(cell):
        own = "the size" if parts == 1 else f"1/{parts} of the size"
        yield hint_of(f"at {size_of(cell)}, {own} with which the program launches it, the product is right", cell)
