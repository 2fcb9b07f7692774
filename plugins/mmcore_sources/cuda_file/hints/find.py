"""Hints for a result: other readings of a wrong kernel, tried at a small size."""

from __future__ import annotations

import functools
import itertools
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, TypeAlias

from mmcore.cell import Cell
from mmcore.kernel.configs import BLOCK
from mmcore.kernel.constraints import Square
from mmcore.kernel.declaration import Kernel
from mmcore.kernel_reference import FileKernel
from mmcore.messages import quoted
from mmcore.registry import registry
from mmcore.result import Result
from mmcore.verdict import BY_VALUE
from mmcore_sources.cuda_file.files import inferred_of
from mmcore_sources.cuda_file.hints.asserted_sizes import allowed_sizes
from mmcore_sources.cuda_file.hints.counted_steps import counted_loop
from mmcore_sources.cuda_file.hints.endless_loops import endless_loop
from mmcore_sources.cuda_file.hints.equal_blocks import equal_blocks
from mmcore_sources.cuda_file.hints.exchanged_grids import exchanged_grids, right_in_squares
from mmcore_sources.cuda_file.hints.fixed_rows import fixed_rows, right_with_rows
from mmcore_sources.cuda_file.hints.other_sizes import other_sizes
from mmcore_sources.cuda_file.hints.own_sizes import own_sizes
from mmcore_sources.cuda_file.hints.right_maps import right_maps
from mmcore_sources.cuda_file.hints.rounded_down import programs_grid, rounded_down
from mmcore_sources.cuda_file.hints.tile_blocks import blocks_of_tiles, smaller_blocks
from mmcore_sources.cuda_file.hints.tried_cells import (
    TRIED_SECONDS,
    at_sizes,
    hint_of,
    is_right,
    measured,
    size_of,
    small_cell,
    unequal_cell,
)
from mmcore_sources.cuda_file.hints.usual_kernel import usual_kernel
from mmcore_sources.cuda_file.hints.vector_rows import vector_rows
from mmcore_sources.cuda_file.hints.whole_cells import WHOLE, whole_cell
from mmcore_sources.cuda_file.hints.whole_tiles import is_without_remainder, of_whole_tiles, without_remainder
from mmcore_sources.cuda_file.inference.expressions import LaunchText
from mmcore_sources.cuda_file.inference.fixed_sizes import FixedSizes
from mmcore_sources.cuda_file.repairs.barriers import barriers
from mmcore_sources.cuda_file.repairs.search import NONE_RIGHT
from mmcore_sources.cuda_file.repairs.trial import REPAIRED, parameter_roles, remainder_repairs, repairs

_HALF, _BFLOAT = r"(?:__half|half)2?", r"(?:__)?nv_bfloat162?"
_SIGNS = {
    "tf32": (r"\bwmma::precision::tf32\b", r"\.tf32\b", r"\w*tf32\w*"),
    "float16": (rf"accumulator\b[^;>]*\b{_HALF}\b", r"\.f16\.f16\b", rf"\b{_HALF}\s+\w+(?:\[\w*\])*\s*="),
    "bfloat16": (r"__hfma\w*", rf"\b{_BFLOAT}\s+\w+(?:\[\w*\])*\s*="),
}
_LONGEST = 512
_OF_GRIDS = ("empty-grid", "rounded-down-grid", "uncovered-product")
_Attempt: TypeAlias = Callable[[Result, FileKernel], Iterable[str]]
LAYOUTS = "B", "ABC", "A", "AB", "C", "AC", "BC", ""
"""The values of ``column_major``, likely ones first."""


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
    if result.violations and result.verification is not None and {*result.violations} <= {*file.bugs}:
        yield from _of_right_kernel(result, file)
        return
    if (allowed := allowed_sizes(result, file.kernel)) is not None:
        yield allowed
        return
    yield from rounded_down(result, file)
    # Whole tiles first: where they are right, a change of a word is looked for only for a short time.
    right = result.verification is not None and result.verification.verified and not result.verified
    vectors = [*vector_rows(result, file)]
    tiles = vectors or ([*of_whole_tiles(result, file)] if right and not _is_by_value(result) else [])
    repaired = functools.partial(_repairs, whole=bool(vectors) or is_without_remainder(tiles))
    # A Python program shows how its arrays are stored, and --column-major says it, so that a function is changed before
    # it is read in another way.
    of_text: list[_Attempt] = [_counted_steps, _fixed_rows] if file.kernel.build is None else []
    is_stated = file.kernel.build is not None or "column_major" in file.reference
    last: list[_Attempt] = [repaired, _readings] if is_stated else [_readings, repaired]
    found = list[str]()
    for attempt in (_barriers, *of_text, *last, _equal_blocks):
        found += attempt(result, file)
        if any(each.startswith("hint") for each in found):
            break
    found += tiles
    if not any(each.startswith("hint") for each in found):
        found += own_sizes(result, file)
    if not _names_a_change(found) and is_without_remainder(found):
        found += remainder_repairs(result, file.kernel)
    changed = _names_a_change(found)  # perhaps after a search without success
    yield from (each for each in found if not (changed and each.endswith(NONE_RIGHT)))
    yield from _smaller(result, file.kernel)


def _is_by_value(result: Result) -> bool:
    """Return whether a value of A or B decides what a kernel computes, so that no size is known to be right."""
    return any(each.endswith(BY_VALUE) for each in result.warnings)


def _names_a_change(found: Iterable[str]) -> bool:
    return any(each.startswith(REPAIRED) for each in found)


def _of_right_kernel(result: Result, file: FileKernel) -> Iterator[str]:
    """Yield the grid with which a kernel is right of which only the program's grid is wrong."""
    if isinstance(file.kernel.launch, LaunchText) and any(each.kind in _OF_GRIDS for each in result.violations):
        yield f"hint: with the grid {file.kernel.launch.grid} the product is right at {size_of(result.cell)}"


def _smaller(result: Result, kernel: Kernel) -> Iterator[str]:
    """Yield that a wrong product is smaller than the one whose sizes the source fixes."""
    for each in kernel.constraints if not result.verified else ():
        why = each.why_smaller(*(getattr(result.cell, name) for name in "mnk")) if isinstance(each, FixedSizes) else ""
        if why:
            yield f"wrong at {size_of(result.cell)}: {why}"


def _endless(result: Result, kernel: Kernel) -> str:
    """Return why the loop in which a kernel was stopped never ends, as a clause; "" if it may end."""
    name, lines = kernel.entry.partition("<")[0], set[int]()
    for each in result.violations:
        places = [(each.source, each.line), *each.callers] if each.kind == "timeout" else []
        lines |= {line for source, line in places if line and source == kernel.source.name}
    return endless_loop(kernel.source_text(), name, lines) if name and kernel.build is None else ""


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


def _readings(result: Result, file: FileKernel) -> Iterator[str]:
    """Yield the guesses, and the options."""
    guessed = [note for note in inferred_of(file.reference).notes if note.guessed]
    if guessed and not result.verified:
        yield f"guessed: {'; '.join(f'{note.what} {note.value} ({note.option})' for note in guessed)}"
    if result.verification is not None and result.verification.verified:
        if not result.verified and any(note.what == "block" for note in guessed):
            yield from _tried((small_cell(result.cell, file.kernel),), file, smaller_blocks(file.kernel))
        failed = next((each for each in result.sizes if not each["right"] and each["why"].startswith(WHOLE)), None)
        if failed is not None:
            cell = at_sizes(small_cell(result.cell, file.kernel), file.kernel, *(failed[name] for name in "mnk"))
            if not is_right(cell):  # a race alone leaves the product right
                yield from _tried((cell,), file, _alike_in_squares(file.kernel))
        return
    small = small_cell(result.cell, file.kernel)
    tiles = whole_cell(small, file.kernel)
    if tiles is not None and (of_tiles := measured(tiles)) is not None:
        if of_tiles.verified:
            rest = at_sizes(tiles, file.kernel, *(getattr(tiles, name) + 1 for name in "mnk"))
            if is_right(rest):
                clause = _no_remainder(rest, file.kernel) if _reaches(rest, result.cell, file.kernel) else ""
                yield hint_of(f"the product is right at {size_of(rest)}{clause}", rest)
            elif not _is_by_value(result):
                yield from without_remainder(tiles)
            return
        yield from _tried((tiles, small), file, _others(file))
    elif (usual := measured(small)) is not None and not usual.verified:
        yield from _tried((small,), file, _others(file))


def _reaches(right: Cell, wrong: Cell, kernel: Kernel) -> bool:
    """Return whether a product with remainders has those of a wrong one, and is as large.

    A wrong one may have taken branches that smaller ones do not, or whole tiles and a remainder together.
    """
    tiles = whole_cell(wrong, kernel)
    sizes = [(getattr(right, name), getattr(wrong, name), getattr(tiles, name, None)) for name in "mnk"]
    return all(other >= size and size != of_tiles for other, size, of_tiles in sizes)


def _no_remainder(right: Cell, kernel: Kernel) -> str:
    """Return a clause that no remainder is the cause of a wrong product, since another with remainders is right."""
    fixed = any(isinstance(each, Square | FixedSizes) for each in kernel.constraints)
    if right.m == right.n == right.k and not fixed:
        return ", where the sizes are equal: no remainder is the cause, but a size in another's place may be"
    return ", so that no remainder is the cause"


def _tried(
    cells: tuple[Cell, ...], file: FileKernel, readings: Iterable[tuple[str, Mapping[str, Any]]]
) -> Iterator[str]:
    """Yield the first of some readings, each with its options, that makes the first product right.

    It makes one of unequal sizes right, too. The hint names the last of the products that are right then.
    """
    unequal = unequal_cell(cells[0], file.kernel)
    needed = [cells[0]] if unequal == cells[0] else [cells[0], unequal]
    cells = (*needed, *cells[1:])
    for option, values in readings:
        launch = {BLOCK: values[BLOCK]} if BLOCK in values else {}
        others = (
            replace(cell, kernel={**file.reference, **values}, config={**cell.config, **launch}) for cell in cells
        )
        right = list(itertools.takewhile(is_right, others))
        if len(right) >= len(needed):
            why = says(file.kernel.source_text(), values) or reads_by_columns(file.kernel, values)
            if "grid" in values:
                why = _instead_of_programs(file) + (why or right_in_squares(cells[0], file.kernel))
            yield hint_of(f"with {option} the product is right at {size_of(right[-1])}{why}", right[-1])
            return


def _instead_of_programs(file: FileKernel) -> str:
    """Return the grid of the file's program, with its line, as the contrast to another; empty if it has none."""
    return next((f", not with {note.value}, {note.why}" for note in programs_grid(file)), "")


def says(text: str, values: Mapping[str, Any]) -> str:
    """Return the first line of the source that names a type, and its words; empty without one."""
    for sign in _SIGNS.get(str(next(iter(values.values()))), ()):
        if match := re.search(sign, text):
            line = text.count("\n", 0, match.start()) + 1
            return f"; line {line} says {quoted(match[0])}"
    return ""


def reads_by_columns(kernel: Kernel, values: Mapping[str, Any]) -> str:
    """Return the first line that reads the matrix which another storage concerns; empty for other readings."""
    text, matrix = kernel.source_text(), str(values.get("column_major", ""))
    pointer = next((name for name, role in parameter_roles(kernel).items() if role == matrix), "")
    lines = enumerate(text.splitlines(), 1)
    line = next((number for number, each in lines if pointer and re.search(rf"\b{pointer}\s*\[", each)), 0)
    return f"; line {line} indexes {pointer} as stored by columns" if line and matrix else ""


def _others(file: FileKernel) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield other readings, likely ones first, each with its options."""
    kernel = file.kernel
    factors = {name: value for name, value in inferred_of(file.reference).factors.items()
               if value != getattr(kernel, name) and name not in file.reference}  # fmt: skip
    if factors:
        yield " ".join(f"--{name} {value:g}" for name, value in factors.items()), factors
    narrow = kernel.dtype in ("float16", "bfloat16") and kernel.accumulator == "float32"
    if narrow:
        yield f"--accumulator {kernel.dtype}", {"accumulator": kernel.dtype}
    if kernel.dtype == "float32":
        yield "--dtype tf32", {"dtype": "tf32"}
    layouts = [each for each in LAYOUTS if each != kernel.column_major]
    yield from _alike_in_squares(kernel)
    for layout in layouts:
        yield f"--column-major '{layout}'", {"column_major": layout}
    if not kernel.beta:
        yield "--beta 1 (C = C + A·B)", {"beta": 1.0}
    else:
        yield "--beta 0 (C = A·B)", {"beta": 0.0}
    for layout in ("B", "ABC") if narrow else ():
        both = {"accumulator": kernel.dtype, "column_major": layout}
        yield f"--accumulator {kernel.dtype} --column-major {layout}", both


def _alike_in_squares(kernel: Kernel) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield other readings that may be right where square matrices are."""
    yield from exchanged_grids(kernel)
    yield from other_sizes(kernel)
    yield from blocks_of_tiles(kernel)
