"""Readings of a file in which the axes of the grid are exchanged, which may be right in squares either way."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from mmcore.cell import Cell
from mmcore.kernel.constraints import Square
from mmcore.kernel.declaration import Kernel
from mmcore_sources.cuda_file.hints.tried_cells import at_sizes, is_clean, measured, size_of
from mmcore_sources.cuda_file.inference.expressions import LaunchText


def exchanged_grids(kernel: Kernel) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the grid whose axes are exchanged, or those of rows and columns if a grid lacks one of them."""
    grids = _swapped(kernel)
    if isinstance(kernel.launch, LaunchText) and not {"m", "n"} <= {*re.findall(r"\w+", kernel.launch.grid)}:
        # Another kernel of the program may compute the rest, such as the last columns.
        square = any(isinstance(each, Square) for each in kernel.constraints)
        grids = grids if square else ["ceil(n / bx), ceil(m / by)", "ceil(m / bx), ceil(n / by)"]
    yield from ((f"--grid '{grid}'", {"grid": grid}) for grid in grids)


def _swapped(kernel: Kernel) -> list[str]:
    """Return the grids with rows and columns exchanged, and with its axes exchanged; none if it has one axis."""
    if not isinstance(kernel.launch, LaunchText) or len(kernel.launch.parts) < 2:
        return []
    parts, other = kernel.launch.parts, {"m": "n", "n": "m"}
    turned = [re.sub(r"\b[mn]\b", lambda name: other[name[0]], part) for part in parts]
    several = [turned] if re.search(r"\bb[xy]\b", kernel.launch.grid) else [[parts[1], parts[0], *parts[2:]], turned]
    return list(dict.fromkeys(", ".join(each) for each in several if each != parts))


def right_in_squares(cell: Cell, kernel: Kernel) -> str:
    """Return the clause that a wrong product of a kernel is right where m = n; "" if it has faults there too."""
    edge = max(cell.m, cell.n)
    square = at_sizes(cell, kernel, edge, edge, cell.k)
    if cell.m == cell.n or square.m != square.n or not is_clean(measured(square), kernel):
        return ""
    return f"; without it, it is right where m = n, as at {size_of(square)}"
