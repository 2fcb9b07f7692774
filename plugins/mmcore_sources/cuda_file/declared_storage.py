"""A hint for a wrong registered kernel: the storage of A, B and C with which its product is right."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from mmcore.cell import Cell
from mmcore.registry import referenced_kernel, registry
from mmcore.result import Result
from mmcore_sources.cuda_file.hints import LAYOUTS, measured, reads_by_columns, size_of, small_cell

_LARGEST = 1 << 24
"""The largest m·n·k of a product that is computed again as it is, if the kernel refuses a small one."""


def declared_storage(result: Result) -> Iterator[str]:
    """Yield the ``column_major`` that makes the product of a registered kernel right, if there is one."""
    wrong = result.verification is not None and not result.verification.verified
    if not wrong or result.timed_out or result.cell.force or result.kernel in registry().files:
        return
    kernel = referenced_kernel(result.cell.kernel)
    cell = _smallest_wrong(result.cell)
    if cell is None or not kernel.source.is_file():
        return
    for layout in LAYOUTS:
        values = {"column_major": layout}
        reference = {
            "kernel": result.cell.kernel,
            "file": str(kernel.source),
            "name": f"{kernel.name}.columns_{layout.lower()}",
        }
        usual = measured(replace(cell, kernel={**reference, **values})) if layout != kernel.column_major else None
        if usual is not None and usual.verified:
            says = reads_by_columns(kernel, values)
            yield f'hint: with column_major="{layout}" the product is right at {size_of(cell)}{says}'
            return


def _smallest_wrong(asked: Cell) -> Cell | None:
    """Return a small product that is wrong, else the one asked for unless it is large."""
    small = small_cell(asked, referenced_kernel(asked.kernel))
    same = replace(asked, timings=(), timeout=small.timeout)
    cells = (small, same) if asked.m * asked.n * asked.k <= _LARGEST else (small,)
    return next((each for each in cells if (usual := measured(each)) is not None and not usual.verified), None)
