"""Hints for a wrong registered kernel: changes of its launches and of its source, tried at a small size."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeAlias

from mmcore.cell import Cell
from mmcore.errors import MmcoreError
from mmcore.kernel.declaration import Kernel
from mmcore.planning.plan import Plan
from mmcore.result import Result
from mmcore_sources.cuda_file.hints.declared_launches import emulated_plan, launched_functions
from mmcore_sources.cuda_file.hints.tried_cells import at_sizes, is_right, is_wrong
from mmcore_sources.cuda_file.repairs.launch_changes import launch_changes
from mmcore_sources.cuda_file.repairs.tiled_grids import long_cells, source_grid, tiled_grids
from mmcore_sources.cuda_file.repairs.trial import (
    ALL_SECONDS,
    FEW_SECONDS,
    REPAIRED,
    first_right,
    is_right_at_whole_tiles,
    remainder_changes,
    seconds_of_search,
    small_cells,
    source_changes,
)

_TILES = 128  # a multiple of the usual sides of tiles
_Changes: TypeAlias = Callable[[Kernel], Iterator[tuple[Kernel, str]]]


def declared_repairs(result: Result, kernel: Kernel) -> Iterator[str]:
    """Yield a hint with the first change of a launch or of the source that makes a registered kernel right.

    The mistakes of a kernel with ``known_bugs`` are meant, and not looked for.
    """
    cells = [] if kernel.is_code or kernel.call is not None or kernel.known_bugs else small_cells(result, kernel)
    try:
        planned = emulated_plan(cells[0], kernel) if cells else None
        functions = launched_functions(planned) if planned is not None else []
    except MmcoreError:
        return
    if planned is None:
        return
    if is_right(cells[0], kernel):
        wrong = [each for each in long_cells(cells[0], kernel) if is_wrong(each, kernel)]
        yield from _of_launch([*wrong, *cells], planned) if wrong else ()
        return
    found = [*_of_launch(cells, planned)]
    whole = is_right_at_whole_tiles(result) or (not result.sizes and is_right(_of_tiles(cells[0], kernel), kernel))
    if not found:
        of_words = _of_source(kernel, functions, partial(source_changes, result=result))
        found = [*first_right(cells, of_words, seconds_of_search(result, whole=whole))]
    if whole and not any(each.startswith(REPAIRED) for each in found):
        at_remainders = _of_source(kernel, functions, remainder_changes)
        found = [*first_right(cells, at_remainders, ALL_SECONDS)]
    yield from (each for each in found if each.startswith(REPAIRED))


def _of_launch(cells: Sequence[Cell], planned: Plan) -> Iterator[str]:
    """Yield a hint with the first change of the launches that makes the kernel right."""
    kernel = planned.kernel
    if kernel.launch is None and kernel.grid is None:
        several = [*cells, *long_cells(cells[0], kernel)]
        found = [*first_right(several, tiled_grids(planned, several), FEW_SECONDS)]
        yield from found
        if found:
            return
    changes = launch_changes(planned)
    if kernel.grid is not None:
        changes = itertools.chain(source_grid(planned, "the declared grid"), changes)
    yield from first_right(cells, changes, FEW_SECONDS)


def _of_tiles(cell: Cell, kernel: Kernel) -> Cell:
    """Return the launch for a product that is likely to consist of whole tiles."""
    return at_sizes(cell, kernel, *(_TILES,) * 3)


def _of_source(kernel: Kernel, functions: Iterable[Kernel], changes: _Changes) -> Iterator[tuple[Kernel, str]]:
    """Yield the kernel with one change of its source, in one of its functions."""
    for changed, what in itertools.chain.from_iterable(map(changes, functions)):
        yield replace(kernel, text=changed.text), what
