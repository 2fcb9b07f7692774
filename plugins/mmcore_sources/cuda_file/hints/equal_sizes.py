"""Hints that a product is right where some of its sizes are equal, as where the length of other rows is taken."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from mmcore.cell import Cell
from mmcore.kernel.declaration import Kernel
from mmcore.kernel_reference import FileKernel
from mmcore.result import Result
from mmcore_sources.cuda_file.hints.tried_cells import (
    MOST_WORK,
    TRIED_SECONDS,
    allowed_at,
    hint_of,
    is_clean,
    is_right,
    is_wrong,
    measured,
    size_of,
)

_GROUPS = ("nk", "mk", "mn", "mnk")


def equal_sizes(result: Result, file: FileKernel) -> Iterator[str]:
    """Yield the sizes that have to be equal where a product with different ones is wrong, if four products agree.

    Of small products, one with equal sizes is right, and so are a larger one and one with another third size. One with
    different sizes is wrong: a kernel that fails from k = 1024 on is right at 1×1×1 for another reason.
    """
    wrong = next((each for each in result.sizes if not each["right"]), vars(result.cell))
    sizes, kernel = {name: int(wrong[name]) for name in "mnk"}, file.kernel
    if result.verified:
        return
    like = replace(result.cell, lda=0, ldb=0, ldc=0, timings=(), timeout=3 * TRIED_SECONDS)
    for names in (each for each in _GROUPS if len({sizes[name] for name in each}) > 1):
        cell = _equal(like, kernel, sizes, names)
        if cell is None or not is_clean(measured(cell), kernel):
            continue
        least = min(sizes[name] for name in names)
        unequal = {name: getattr(cell, name) * (3 if sizes[name] > least else 1) for name in names}
        larger = {name: 3 * getattr(cell, name) for name in names}
        other = {name: 3 * getattr(cell, name) for name in "mnk" if name not in names}
        right = (replace(cell, **each) for each in (other, larger) if each)
        if is_wrong(replace(cell, **unequal)) and all(map(is_right, right)):
            equal = " = ".join(names)
            differ = f"wrong at {'×'.join(map(str, sizes.values()))}, where they differ"
            yield hint_of(f"the product is right where {equal}, as at {size_of(cell)}, and {differ}", cell)
            return


def _equal(like: Cell, kernel: Kernel, sizes: dict[str, int], names: str) -> Cell | None:
    """Return the least launch of some sizes, of which the named ones have the value of one; None if none is allowed."""
    for side in sorted(sizes[name] for name in names):
        cell = allowed_at(like, kernel, **(sizes | dict.fromkeys(names, side)))
        fits = cell is not None and kernel.in_program(cell.problem(kernel), cell.config_of(kernel))
        if cell is not None and fits and cell.m * cell.n * cell.k <= MOST_WORK:
            return cell
    return None
