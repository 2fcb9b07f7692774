"""Hints for a result: other readings of a wrong kernel, tried at a small size."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import TypeAlias

from mmcore.cell import Cell
from mmcore.kernel.constraints import Square
from mmcore.kernel.declaration import Kernel
from mmcore.kernel.sizes import size_text
from mmcore.kernel_reference import FileKernel
from mmcore.registry import registry
from mmcore.result import Result
from mmcore_sources.cuda_file.hints.asserted_sizes import allowed_sizes
from mmcore_sources.cuda_file.hints.counted_steps import counted_loop
from mmcore_sources.cuda_file.hints.endless_loops import endless_loop
from mmcore_sources.cuda_file.hints.equal_blocks import equal_blocks
from mmcore_sources.cuda_file.hints.equal_sizes import equal_sizes
from mmcore_sources.cuda_file.hints.exchanged_grids import exchanged_call
from mmcore_sources.cuda_file.hints.fixed_rows import fixed_rows, right_with_rows
from mmcore_sources.cuda_file.hints.larger_shared import is_guess_too_small, larger_shared
from mmcore_sources.cuda_file.hints.own_sizes import own_sizes
from mmcore_sources.cuda_file.hints.readings import exchanged, readings
from mmcore_sources.cuda_file.hints.right_maps import right_maps
from mmcore_sources.cuda_file.hints.rounded_down import rounded_down
from mmcore_sources.cuda_file.hints.tried_cells import TRIED_SECONDS, at_sizes, hint_of, is_right, size_of, small_cell
from mmcore_sources.cuda_file.hints.usual_kernel import usual_kernel
from mmcore_sources.cuda_file.hints.vector_rows import vector_rows
from mmcore_sources.cuda_file.hints.whole_tiles import is_by_value, is_without_remainder, of_whole_tiles
from mmcore_sources.cuda_file.inference.expressions import LaunchText
from mmcore_sources.cuda_file.inference.fixed_sizes import FixedSizes
from mmcore_sources.cuda_file.inference.one_block import OneBlock
from mmcore_sources.cuda_file.repairs.barriers import barriers
from mmcore_sources.cuda_file.repairs.search import NONE_RIGHT
from mmcore_sources.cuda_file.repairs.trial import REPAIRED, remainder_repairs, repairs
from mmcore_sources.python_file import endless_loops as python_loops

_LONGEST = 512
_OF_GRIDS = ("empty-grid", "rounded-down-grid", "uncovered-product")
_Attempt: TypeAlias = Callable[[Result, FileKernel], Iterable[str]]


def hints(result: Result) -> Iterator[str]:
    """Yield the guesses behind a wrong product, and options or a change of the source that make it right."""
    file = registry().files.get(result.kernel)
    if file is None or "kernel" in file.reference or result.cell.force:
        return
    if result.timed_out:
        endless = _endless(result, file.kernel)
        yield from [f"hint: {endless}"] if endless else _less_work(result.cell, file.kernel)
        return
    if maps := [*right_maps(result, file)]:
        yield from maps
        return
    if call := [*exchanged_call(result, file)]:
        yield from call
        return
    if result.violations and result.verification is not None and {*result.violations} <= {*file.bugs}:
        yield from _of_right_kernel(result, file)
        return
    if (allowed := allowed_sizes(result, file.kernel)) is not None:
        yield allowed
        return
    if is_guess_too_small(result, file):
        yield from larger_shared(result, file)
        return
    yield from rounded_down(result, file)
    # Whole tiles first: where they are right, a change of a word is looked for only for a short time.
    right = result.verification is not None and result.verification.verified and not result.verified
    vectors = [*vector_rows(result, file)]
    tiles = vectors or ([*of_whole_tiles(result, file)] if right and not is_by_value(result) else [])
    repaired = functools.partial(_repairs, whole=bool(vectors) or is_without_remainder(tiles))
    # A Python program shows how its arrays are stored, and --column-major says it, so that a function is changed before
    # it is read in another way.
    of_text: list[_Attempt] = [_counted_steps, _fixed_rows] if file.kernel.build is None else []
    is_stated = file.kernel.build is not None or "column_major" in file.reference
    last: list[_Attempt] = [exchanged, repaired, readings] if is_stated else [readings, repaired]
    found = list[str]()
    for attempt in (_barriers, larger_shared, *of_text, *last, _equal_blocks):
        found += attempt(result, file)
        if any(each.startswith("hint") for each in found):
            break
    found += tiles
    if not any(each.startswith("hint") for each in found) and not is_by_value(result):
        found += [*own_sizes(result, file)] or equal_sizes(result, file)
    if not _names_a_change(found) and is_without_remainder(found):
        found += remainder_repairs(result, file.kernel)
    fruitless = [each for each in found if each.endswith(NONE_RIGHT)]
    # Of several searches without success, the longest is said, unless another one found a change.
    longest = "" if _names_a_change(found) else max(fruitless, key=_number_of_changes, default="")
    yield from (each for each in found if each not in fruitless or each == longest)
    yield from _smaller(result, file.kernel)


def _number_of_changes(sentence: str) -> int:
    """Return the number of changes that a search without success tried, in its sentence."""
    return int("".join(re.findall(r"^tried (\d+)", sentence)) or 0)


def _names_a_change(found: Iterable[str]) -> bool:
    return any(each.startswith(REPAIRED) for each in found)


def _of_right_kernel(result: Result, file: FileKernel) -> Iterator[str]:
    """Yield the grid with which a kernel is right of which only the program's grid is wrong."""
    if any(isinstance(each, OneBlock) for each in file.kernel.constraints):
        return  # no grid covers what the threads of one block compute
    if isinstance(file.kernel.launch, LaunchText) and any(each.kind in _OF_GRIDS for each in result.violations):
        yield f"hint: with the grid {file.kernel.launch.grid} the product is right at {size_of(result.cell)}"


def _smaller(result: Result, kernel: Kernel) -> Iterator[str]:
    """Yield that a wrong product is smaller than the one whose sizes the source fixes."""
    wrong = next((tried for tried in result.sizes if not tried["right"]), vars(result.cell))
    for each in kernel.constraints if not result.verified else ():
        why = each.why_smaller(*(wrong[name] for name in "mnk")) if isinstance(each, FixedSizes) else ""
        if why:
            yield f"wrong at {size_text(wrong)}: {why}"


def _endless(result: Result, kernel: Kernel) -> str:
    """Return why the loop in which a kernel was stopped never ends, as a clause; "" if it may end."""
    name, lines = kernel.entry.partition("<")[0], set[int]()
    for each in result.violations:
        places = [(each.source, each.line), *each.callers] if each.kind == "timeout" else []
        lines |= {line for source, line in places if line and source == kernel.source.name}
    if kernel.build is not None:
        return python_loops.endless_loop(kernel.source_text(), lines)
    return endless_loop(kernel.source_text(), name, lines) if name else ""


def _counted_steps(result: Result, file: FileKernel) -> Iterator[str]:
    """Yield the size at which a wrong product is right because its loop along k counts a fixed number of steps."""
    kernel = file.kernel
    wrong = result.verification is not None and not result.verification.verified
    loop = counted_loop(kernel, kernel.config(**result.cell.config)) if wrong and kernel.entry else None
    if loop is None or loop.k == result.cell.k or loop.k > _LONGEST:
        return
    square = any(isinstance(each, Square) for each in kernel.constraints)
    cell = small_cell(result.cell, kernel)
    cell = at_sizes(
        replace(cell, timeout=3 * TRIED_SECONDS), kernel, *((loop.k,) * 3 if square else (cell.m, cell.n, loop.k))
    )
    if is_right(cell):
        yield hint_of(f"line {loop.line} covers k = {loop.k} alone: at {size_of(cell)} the product is right", cell)


def _fixed_rows(result: Result, file: FileKernel) -> Iterator[str]:
    """Yield the line that fixes the lengths of rows in a wrong product, and a size at which it is right, if found."""
    wrong = result.verification is not None and not result.verification.verified
    rows = fixed_rows(file.kernel) if wrong and file.kernel.entry else None
    if rows is None or (rows.n, rows.k) == (result.cell.n, result.cell.k):
        return
    cell, allowed = right_with_rows(result.cell, file.kernel, rows)
    if cell is not None:
        right = f"{rows}: at {size_of(cell)} the product is right"
        yield hint_of(right, cell) if allowed else f"hint: {right}"


def _equal_blocks(result: Result, file: FileKernel) -> Iterator[str]:
    """Yield why all blocks of a wrong kernel compute the same elements, if they do."""
    kernel = file.kernel
    wrong = result.verification is not None and not result.verification.verified
    if wrong and kernel.entry and kernel.build is None and len(result.launched) == 1:
        blocks = result.launched[0].grid._asdict()
        if clause := equal_blocks(kernel.source_text(), kernel.entry.partition("<")[0], blocks):
            yield f"hint: {clause}"


def _less_work(cell: Cell, kernel: Kernel) -> Iterator[str]:
    """Yield the command for the smaller product that the kernel allows."""
    problem = kernel.square_problem(max(cell.m, cell.n, cell.k, 4) // 4)
    smaller = replace(cell, m=problem.m, n=problem.n, k=problem.k, lda=0, ldb=0, ldc=0)
    if math.prod((problem.m, problem.n, problem.k)) < cell.m * cell.n * cell.k:
        yield hint_of(f"{size_of(smaller)} is less work", smaller)


def _barriers(result: Result, file: FileKernel) -> Iterator[str]:
    yield from barriers(result, file.kernel)


def _repairs(result: Result, file: FileKernel, *, whole: bool) -> Iterator[str]:
    if not result.verified:
        yield from repairs(result, usual_kernel(file), whole=whole)
