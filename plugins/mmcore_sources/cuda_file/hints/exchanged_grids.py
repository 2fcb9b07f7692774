"""Readings of a file in which another grid is launched: with exchanged axes or sizes, or that of the index into C."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from mmcore.cell import Cell
from mmcore.kernel.arguments import SIZES
from mmcore.kernel.constraints import equal_sizes
from mmcore.kernel.declaration import Kernel
from mmcore.kernel_reference import FileKernel
from mmcore.result import Result
from mmcore_cuda.cuda_source.program import read_program
from mmcore_cuda.cuda_source.tree import text_of
from mmcore_sources.cuda_file.hints.tried_cells import (
    at_sizes,
    is_clean,
    is_right,
    measured,
    size_of,
    small_cell,
    unequal_cell,
)
from mmcore_sources.cuda_file.hints.whole_cells import whole_cell
from mmcore_sources.cuda_file.inference.body import Body
from mmcore_sources.cuda_file.inference.body_geometry import by_body
from mmcore_sources.cuda_file.inference.expressions import LaunchText
from mmcore_sources.cuda_file.inference.host_code import Reader
from mmcore_sources.cuda_file.inference.layout import layout_of
from mmcore_sources.cuda_file.repairs.trial import parameter_roles


def exchanged_grids(kernel: Kernel) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the grid whose axes are exchanged, or those of rows and columns if a grid lacks one of them."""
    grids = _swapped(kernel)
    if isinstance(kernel.launch, LaunchText) and not {"m", "n"} <= {*re.findall(r"\w+", kernel.launch.grid)}:
        # Another kernel of the program may compute the rest, such as the last columns.
        square = {*"mn"} <= {*equal_sizes(kernel.constraints)}
        grids = grids if square else ["ceil(n / bx), ceil(m / by)", "ceil(m / bx), ceil(n / by)"]
    yield from ((f"--grid '{grid}'", {"grid": grid}) for grid in grids)


def exchanged_call(result: Result, file: FileKernel) -> Iterator[str]:
    """Yield that a product is right whose launch passes two sizes for each other, if their exchange there mends it.

    Another grid, or other axes in the kernel, would be right for exchanged sizes alone.
    """
    bug = next((each for each in file.bugs if each.kind == "exchanged-sizes"), None)
    if bug is None or result.verified or result.verification is None:
        return
    small = small_cell(result.cell, file.kernel)
    cell = unequal_cell(whole_cell(small, file.kernel) or small, file.kernel)
    for _, grid in exchanged_grids(file.kernel):
        if is_right(replace(cell, kernel={**file.reference, **grid})):
            where = f"in the call of line {bug.line}, the product is right at {size_of(cell)}"
            yield f"hint: with the sizes exchanged {where}"
            return


def grid_of_index(kernel: Kernel) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the grid that the source's index into C shows; none if it is that of the launch, or unclear.

    A kernel that goes by the number of blocks needs no other one.
    """
    source, name = read_program(kernel.source_text()), kernel.entry.partition("<")[0]
    function = source.function(name)
    if function is None or not isinstance(kernel.launch, LaunchText) or "gridDim" in text_of(function.body):
        return
    by_columns = "C" in kernel.column_major
    roles, body = parameter_roles(kernel), Body(function)
    c = next((parameter for parameter, role in roles.items() if role == "C"), "")
    lengths = ("m" if by_columns else "n", "ldc")
    layout = layout_of(body, c, {parameter for parameter, role in roles.items() if role in lengths})
    layout = layout.turned() if layout is not None and by_columns else layout
    sizes: dict[str, ast.expr] = {parameter: ast.Name(role) for parameter, role in roles.items() if role in SIZES}
    grid = by_body(Reader(source, sizes), body, layout)[1] if layout is not None else None
    if grid is not None and grid.text != kernel.launch.grid:
        yield f"--grid '{grid.text}'", {"grid": grid.text}


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
