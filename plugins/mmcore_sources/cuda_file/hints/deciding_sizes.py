"""The size that decides where a product without remainders is right, from products that differ in it alone."""

from __future__ import annotations

from mmcore.cell import Cell
from mmcore.kernel.declaration import Kernel
from mmcore.kernel.geometry import ceil_div
from mmcore_sources.cuda_file.hints.tried_cells import at_sizes, is_right, is_wrong


def deciding_size(right: Cell, wrong: Cell, kernel: Kernel) -> tuple[str, Cell]:
    """Return what decides between two products in a clause, empty if that is not known, and the wrong one it is about.

    Each claim was tried. For "m may not exceed k", products with the same multiples of tiles in either order are run.
    For "a size must be a multiple", two products are run where it is none.
    """
    rows = right.m * ceil_div(2 * right.k, right.m)
    larger = at_sizes(right, kernel, rows, right.n, right.k)
    if is_wrong(larger):
        deeper = at_sizes(right, kernel, rows, right.n, right.k * ceil_div(2 * rows, right.k))
        return ("it depends on which of m and k is greater" if is_right(deeper) else "m decides"), larger
    for axis in "km":
        least = getattr(right, axis)
        other = _with(right, kernel, axis, getattr(wrong, axis))
        if not is_wrong(other):
            continue
        parts = [_with(right, kernel, axis, size) for size in (least // 2, 3 * least // 2)]
        multiples = all(is_wrong(each) for each in parts) and is_right(_with(right, kernel, axis, 2 * least))
        named = " and ".join(str(getattr(each, axis)) for each in parts)
        return (f"{axis} must be a multiple of {least}: {named} are wrong" if multiples else f"{axis} decides"), other
    return "", wrong


def _with(cell: Cell, kernel: Kernel, axis: str, size: int) -> Cell:
    """Return the launch for another size along one axis."""
    sizes = {name: getattr(cell, name) for name in "mnk"} | {axis: size}
    return at_sizes(cell, kernel, **sizes)
