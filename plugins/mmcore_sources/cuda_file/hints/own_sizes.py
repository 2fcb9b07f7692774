"""Hints that a wrong kernel is right at the size with which its own program launches it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from mmcore.kernel_reference import FileKernel
from mmcore.result import Result
from mmcore_sources.cuda_file.files import inferred_of
from mmcore_sources.cuda_file.hints.tried_cells import (
    MOST_WORK,
    TRIED_SECONDS,
    at_sizes,
    hint_of,
    is_clean,
    measured,
    size_of,
    small_cell,
)


def own_sizes(result: Result, file: FileKernel) -> Iterator[str]:
    """Yield a size at which a wrong kernel is right: one like its program's, or the program's own."""
    own, kernel = inferred_of(file.reference).launched_sizes, file.kernel
    if own is None or result.verified:
        return
    asked = result.cell.m, result.cell.n, result.cell.k
    like = small_cell(replace(result.cell, m=own.m, n=own.n, k=own.k, lda=0, ldb=0, ldc=0), kernel)
    whole = at_sizes(replace(like, timeout=4 * TRIED_SECONDS), kernel, *own)
    what = "m = n = k, as in the program's launch" if len({*own}) == 1 else "sizes in the order of the program's launch"
    cells = {(like.m, like.n, like.k): (like, what)}
    cells[whole.m, whole.n, whole.k] = whole, "the size with which the program launches it"
    for sizes, (cell, said) in cells.items():
        if sizes != asked and cell.m * cell.n * cell.k <= MOST_WORK and is_clean(measured(cell), kernel):
            yield hint_of(f"at {size_of(cell)}, {said}, the product is right", cell)
            return
