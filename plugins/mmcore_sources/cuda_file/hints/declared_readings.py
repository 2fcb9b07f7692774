"""A hint for a wrong registered kernel: the other declaration with which its product is right."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from mmcore.cell import Cell
from mmcore.errors import MmcoreError
from mmcore.kernel.arguments import Argument, Scalar
from mmcore.kernel.declaration import Kernel
from mmcore.registry import referenced_kernel, registry
from mmcore.result import Result
from mmcore_sources.cuda_file.hints.declared_repairs import declared_repairs
from mmcore_sources.cuda_file.hints.declared_types import types_of_source
from mmcore_sources.cuda_file.hints.readings import LAYOUTS, reads_by_columns, says
from mmcore_sources.cuda_file.hints.tried_cells import at_sizes, is_right, is_wrong, size_of, small_cell, unequal_cell
from mmcore_sources.cuda_file.repairs.launch_changes import renamed

_LARGEST = 1 << 24
"""The largest m·n·k of a product that is computed again as it is, if the kernel refuses a small one."""


def declared_readings(result: Result) -> Iterator[str]:
    """Yield the first change of a registered kernel's declaration that makes its product right, if there is one."""
    right = result.verified and all(each["right"] for each in result.sizes)
    if right or result.timed_out or result.cell.force or result.kernel in registry().files:
        return
    kernel = referenced_kernel(result.cell.kernel)
    cell = _smallest_wrong(result, kernel) if kernel.source.is_file() else None
    for values in _readings(cell, kernel) if cell is not None else ():
        if cell is not None and (where := _where_right(cell, replace(kernel, **values))):
            declared = " and ".join(f"{name}={_shown(value)}" for name, value in values.items())
            source = says(kernel.source_text(), values) or reads_by_columns(kernel, values)
            yield f"hint: with {declared} the product is right at {where}{source}"
            return
    yield from declared_repairs(result, kernel) if kernel.source.is_file() else ()


def _smallest_wrong(result: Result, kernel: Kernel) -> Cell | None:
    """Return a small product that is wrong on the emulator, else the one asked for unless it is large."""
    asked = replace(result.cell, device="emulator", baseline="", against="")
    small = small_cell(asked, kernel)
    cells = [at_sizes(small, kernel, *(each[name] for name in "mnk")) for each in result.sizes if not each["right"]]
    if result.verification is not None and not result.verification.verified:
        same = replace(asked, timings=(), timeout=small.timeout)
        cells = [small, same, *cells] if asked.m * asked.n * asked.k <= _LARGEST else [small, *cells]
    return next((each for each in cells if is_wrong(each, kernel)), None)


def _where_right(cell: Cell, kernel: Kernel) -> str:
    """Return a cell's size and another one with three lengths, in words, if a kernel is right at both; else ""."""
    other = unequal_cell(cell, kernel)
    cells = [cell] if other == cell else [cell, other]
    return " and at ".join(map(size_of, cells)) if all(is_right(each, kernel) for each in cells) else ""


def _readings(cell: Cell, kernel: Kernel) -> Iterator[Mapping[str, Any]]:
    """Yield changes of a declaration, likely ones first."""
    if types := types_of_source(cell, kernel):
        yield types
    values = [each.value if isinstance(each, Scalar) else each for each in _arguments(kernel)]
    if kernel.initial_c == "poison" and not kernel.beta and "beta" in values:
        yield {"initial_c": "zeros"}  # 0 times what is not a number is none
    narrow = kernel.dtype in ("float16", "bfloat16") and kernel.accumulator == "float32"
    if narrow:
        yield {"accumulator": kernel.dtype}
    yield from ({"arguments": each} for each in _exchanges(kernel))
    yield from ({"column_major": layout} for layout in LAYOUTS if layout != kernel.column_major)
    if narrow:
        yield from ({"accumulator": kernel.dtype, "column_major": layout} for layout in ("B", "ABC"))


def _arguments(kernel: Kernel) -> tuple[Argument, ...]:
    """Return the arguments of a kernel's function; none if it has several functions."""
    try:
        return kernel.arguments_of(kernel.entry_named())
    except MmcoreError:
        return ()


def _exchanges(kernel: Kernel) -> list[tuple[Argument, ...]]:
    """Return the arguments with A and B exchanged, or m, n and k, two of them first, and then with both."""
    arguments = _arguments(kernel)
    orders = sorted(itertools.permutations("mnk"), key=lambda order: sum(map(str.__ne__, order, "mnk")))
    sizes = [dict(zip("mnk", order, strict=True)) for order in orders]
    matrices = {"A": "B", "B": "A"}
    names = [matrices, *sizes, *(matrices | each for each in sizes)]
    changed = (tuple(renamed(each, some) for each in arguments) for some in names)
    return [each for each in dict.fromkeys(changed) if each != arguments]


def _shown(value: str | tuple[Argument, ...]) -> str:
    """Return a value as Python source."""
    if isinstance(value, tuple):
        return f"({', '.join(json.dumps(each) if isinstance(each, str) else repr(each) for each in value)})"
    return json.dumps(value)
