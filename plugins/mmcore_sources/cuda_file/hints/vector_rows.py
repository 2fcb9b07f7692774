"""Hints that a kernel is right where each row is a whole number of the vectors that it loads and stores."""

from __future__ import annotations

import re
from collections.abc import Iterator

from mmcore.cell import Cell
from mmcore.kernel.declaration import Kernel
from mmcore.kernel.geometry import ceil_div
from mmcore.kernel.problem import dtype_named
from mmcore.kernel_reference import FileKernel
from mmcore.result import Result
from mmcore_sources.cuda_file.hints.tried_cells import at_sizes, hint_of, is_clean, measured, size_of, small_cell
from mmcore_sources.cuda_file.repairs.grids import rounded_up_grid

_BYTES = re.compile(r"no multiple of (\d+), for ")


def vector_rows(result: Result, file: FileKernel) -> Iterator[str]:
    """Yield a size at which a kernel with misaligned vectors is right, near the one at which it is wrong.

    Where none is, its grid may be rounded down, too.
    """
    if (found := right_in_vectors(result, file.kernel)) is not None:
        cell, need = found
        yield hint_of(f"the product is right at {size_of(cell)}: {need}", cell)
    elif (up := rounded_up_grid(file.kernel)) and (found := right_in_vectors(result, up[0])) is not None:
        cell, need = found
        yield f"hint: the product is right at {size_of(cell)} with {up[1]}; {need}"


def right_in_vectors(result: Result, kernel: Kernel) -> tuple[Cell, str] | None:
    """Return the launch that is right near one with misaligned vectors, and what its sizes have to be, as a clause.

    None without misaligned vectors, or where no such size is right.
    """
    misaligned = (_BYTES.search(each.message) for each in result.violations if each.kind == "misaligned")
    width = max((int(found[1]) for found in misaligned if found), default=0)
    count = width // dtype_named(kernel.dtype).itemsize
    if count < 2:
        return None
    like = {name: getattr(result.cell, name) for name in "mnk"}
    failed = next((each for each in result.sizes if not each["right"]), like)
    small = small_cell(result.cell, kernel)
    for names, which in (("k", "k"), ("n", "n"), ("nk", "n and k"), ("mnk", "m, n and k")):
        sizes = (ceil_div(failed[name], count) * count if name in names else failed[name] for name in "mnk")
        cell = at_sizes(small, kernel, *sizes)
        if is_clean(measured(cell, kernel), kernel):
            return cell, f"vectors of {count} elements need multiples of {count} for {which}"
    return None
