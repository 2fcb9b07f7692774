"""Rows of A and B whose lengths a source fixes although sizes are passed: it is right at one n and k alone."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from mmcore.cell import Cell
from mmcore.kernel.arguments import MATRICES, SIZES, Argument
from mmcore.kernel.constraints import Square
from mmcore.kernel.declaration import Kernel
from mmcore_cuda.cuda_source.functions import Function
from mmcore_cuda.cuda_source.program import read_program
from mmcore_sources.cuda_file.hints.tried_cells import MOST_WORK, TRIED_SECONDS, at_sizes, is_right, small_cell
from mmcore_sources.cuda_file.inference.body import Body
from mmcore_sources.cuda_file.inference.host_code import Reader
from mmcore_sources.cuda_file.inference.storage import strides_of
from mmcore_sources.cuda_file.repairs.launch_changes import renamed

_LEAST = 33  # longer than the edge of most tiles
_FEW_ROWS = 32


@dataclass(frozen=True)
class FixedRows:
    """The lengths of the rows of A, which is k, and of B, which is n, and the line of the source that has one."""

    k: int
    n: int
    line: int

    def __str__(self) -> str:
        lengths = f"rows of {self.k} elements" if self.k == self.n else f"rows of {self.k} and {self.n} elements"
        return f"line {self.line} gives A and B {lengths}, whatever the sizes are"


def fixed_rows(kernel: Kernel) -> FixedRows | None:
    """Return the lengths of rows that constants fix in a kernel that is passed sizes; None without them."""
    program, name = read_program(kernel.source_text()), kernel.entry.partition("<")[0]
    function = program.function(name)
    if function is None or kernel.column_major:
        return None
    roles = {one.name: _role(role) for one, role in zip(function.parameters, kernel.arguments, strict=False)}
    pointers = {role: name for name, role in roles.items() if role in MATRICES}
    sizes = {name for name, role in roles.items() if role in SIZES or role.startswith("ld")}
    if pointers.keys() != {*MATRICES} or not sizes:
        return None
    body, reader = Body(function), Reader(program)
    lengths = list[tuple[int, str]]()
    for matrix in "AB":
        if strides_of(body, pointers[matrix], sizes):
            return None
        words = {factor for index in body.indexes(pointers[matrix]) for term in index for factor in term}
        values = {word: number for word in words if (number := reader.whole(word) or 0) >= _LEAST}
        strides = strides_of(body, pointers[matrix], {*values})
        if not strides:
            return None
        lengths.append(max((values[each], each) for each in strides))
    (k, word), (n, _) = lengths
    return FixedRows(k, n, _line(function, pointers["A"], word))


def _role(argument: Argument) -> str:
    return str(getattr(argument, "value", argument))


def _line(function: Function, pointer: str, word: str) -> int:
    """Return the line of a function that indexes a pointer with a word, or else the first one with the word."""
    text = (function.body.text or b"").decode(errors="replace")
    lines = list(enumerate(text.splitlines(), function.body.start_point.row + 1))
    named = [(number, line) for number, line in lines if re.search(rf"\b{re.escape(word)}\b", line)]
    indexing = (number for number, line in named if re.search(rf"\b{pointer}\s*\[", line))
    return next(indexing, (named or lines)[0][0])


def right_with_rows(cell: Cell, kernel: Kernel, rows: FixedRows) -> tuple[Cell | None, bool]:
    """Return a launch with such rows that is right, None without one, and whether the kernel's declaration allows it.

    Few rows of C are tried, and a square.
    """
    small = replace(small_cell(cell, kernel), timeout=3 * TRIED_SECONDS)
    of_rows = _without_squares(kernel)
    sizes = [(of_rows, _FEW_ROWS)] + [(kernel, rows.k)] * (of_rows is not kernel and rows.k == rows.n)
    for each, m in sizes:
        other = at_sizes(small, each, m, rows.n, rows.k)
        if other.m * other.n * other.k <= MOST_WORK and is_right(other, each):
            return other, each is kernel
    return None, False


def _without_squares(kernel: Kernel) -> Kernel:
    """Return a kernel of square matrices as one whose single size is the number of C's rows; others as they are."""
    constraints = tuple(each for each in kernel.constraints if not isinstance(each, Square))
    if len(constraints) == len(kernel.constraints):
        return kernel
    sizes = {_role(each) for each in kernel.arguments} & {*SIZES}
    names = dict.fromkeys(sizes, "m") if len(sizes) == 1 else {}
    return replace(kernel, constraints=constraints, arguments=tuple(renamed(each, names) for each in kernel.arguments))
