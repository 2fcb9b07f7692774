"""Other readings of a file that make a wrong product right: another grid, layout, type, factor or block."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from mmcore.cell import Cell
from mmcore.kernel.configs import BLOCK
from mmcore.kernel.declaration import Kernel
from mmcore.kernel_reference import FileKernel
from mmcore.messages import quoted
from mmcore.registry import registry
from mmcore.result import Result
from mmcore_sources.cuda_file.files import inferred_of
from mmcore_sources.cuda_file.hints.exchanged_grids import exchanged_grids, grid_of_index, right_in_squares
from mmcore_sources.cuda_file.hints.larger_shared import is_beyond_shared
from mmcore_sources.cuda_file.hints.other_sizes import other_sizes, sizes_in_vectors
from mmcore_sources.cuda_file.hints.rounded_down import of_program
from mmcore_sources.cuda_file.hints.tile_blocks import (
    blocks_of_tiles,
    bounded_blocks,
    flat_blocks,
    more_warps,
    smaller_blocks,
)
from mmcore_sources.cuda_file.hints.tried_cells import (
    TRIED_SECONDS,
    at_sizes,
    hint_of,
    is_clean,
    is_right,
    measured,
    size_of,
    small_cell,
    unequal_cell,
)
from mmcore_sources.cuda_file.hints.whole_cells import WHOLE, is_whole, whole_cell
from mmcore_sources.cuda_file.hints.whole_tiles import of_right_tiles
from mmcore_sources.cuda_file.repairs.edits import device_nodes
from mmcore_sources.cuda_file.repairs.product_edits import rounded_products
from mmcore_sources.cuda_file.repairs.trial import parameter_roles

_HALF, _BFLOAT = r"(?:__half|half)2?", r"(?:__)?nv_bfloat162?"
_SIGNS = {
    "tf32": (r"\bwmma::precision::tf32\b", r"\.tf32\b", r"\w*tf32\w*"),
    "float16": (rf"accumulator\b[^;>]*\b{_HALF}\b", r"\.f16\.f16\b", rf"\b{_HALF}\s+\w+(?:\[\w*\])*\s*="),
    "bfloat16": (r"__hfma\w*", rf"\b{_BFLOAT}\s+\w+(?:\[\w*\])*\s*="),
}
LAYOUTS = "B", "ABC", "A", "AB", "C", "AC", "BC", ""
"""The values of ``column_major``, likely ones first."""


def exchanged(result: Result, file: FileKernel) -> Iterator[str]:
    """Yield the grid with exchanged axes that makes a wrong product right, if there is one."""
    small = small_cell(result.cell, file.kernel)
    if result.verification is not None and not result.verification.verified:
        yield from _tried((whole_cell(small, file.kernel) or small,), file, exchanged_grids(file.kernel))
    elif (cell := _wrong_whole_tiles(result, file.kernel)) is not None:
        yield from _tried((cell,), file, exchanged_grids(file.kernel))


def readings(result: Result, file: FileKernel) -> Iterator[str]:
    """Yield the guesses, and the options."""
    guessed = [note for note in inferred_of(file.reference).notes if note.guessed]
    if guessed and not result.verified:
        yield f"guessed: {'; '.join(f'{note.what} {note.value} ({note.option})' for note in guessed)}"
    if result.verification is not None and result.verification.verified:
        is_guess = any(note.what == "block" for note in guessed)
        if not result.verified and (is_guess or is_beyond_shared(result)):
            blocks = smaller_blocks(file.kernel) if is_guess else blocks_of_tiles(file.kernel)
            yield from _tried((small_cell(result.cell, file.kernel),), file, blocks, _has_no_hazard)
        beyond = any(each.kind.startswith("out-of-bounds") for each in result.violations)
        if beyond and is_whole(result.cell, "", file.kernel):  # of superfluous blocks, perhaps
            same = replace(result.cell, timings=(), timeout=TRIED_SECONDS)
            yield from _tried((same,), file, grid_of_index(file.kernel))
        if (cell := _wrong_whole_tiles(result, file.kernel)) is not None:
            yield from _tried((cell,), file, _alike_in_squares(file.kernel))
        return
    small = small_cell(result.cell, file.kernel)
    tiles = whole_cell(small, file.kernel)
    if tiles is not None and (of_tiles := measured(tiles)) is not None:
        if of_tiles.verified:
            yield from of_right_tiles(result, tiles, file.kernel)
            return
        yield from _tried((tiles, small), file, _others(file))
    elif (usual := measured(small)) is not None and not usual.verified:
        yield from _tried((small,), file, _others(file))


def _wrong_whole_tiles(result: Result, kernel: Kernel) -> Cell | None:
    """Return the product of whole tiles that is wrong where a square is right; None without one."""
    failed = next((each for each in result.sizes if not each["right"] and each["why"].startswith(WHOLE)), None)
    if failed is None:
        return None
    cell = at_sizes(small_cell(result.cell, kernel), kernel, *(failed[name] for name in "mnk"))
    return None if is_right(cell) else cell  # a race alone leaves the product right


def _has_no_hazard(cell: Cell) -> bool:
    return is_clean(measured(cell), registry().kernel(cell.kernel))


def _tried(
    cells: tuple[Cell, ...],
    file: FileKernel,
    readings: Iterable[tuple[str, Mapping[str, Any]]],
    is_good: Callable[[Cell], bool] = is_right,
) -> Iterator[str]:
    """Yield the first of some readings, each with its options, that makes the first product right.

    It makes one of unequal sizes right, too. The hint names the last of the products that it alone makes right.
    """
    unequal = unequal_cell(cells[0], file.kernel)
    needed = [cells[0]] if unequal == cells[0] else [cells[0], unequal]
    cells = (*needed, *cells[1:])
    for option, values in readings:
        launch = {BLOCK: values[BLOCK]} if BLOCK in values else {}
        others = (
            replace(cell, kernel={**file.reference, **values}, config={**cell.config, **launch}) for cell in cells
        )
        right = list(itertools.takewhile(is_good, others))
        if len(right) >= len(needed):
            pairs = reversed([*zip(right, cells, strict=False)])
            cured = next((cell for cell, before in pairs if not is_good(before)), None)
            if cured is None:
                return
            why = says(file.kernel.source_text(), values) or reads_by_columns(file.kernel, values)
            if "grid" in values:
                why = _instead_of_programs(file, "grid") + (why or right_in_squares(cells[0], file.kernel))
            elif "block" in values:
                why = _instead_of_programs(file, "block")
            yield hint_of(f"with {option} the product is right at {size_of(cured)}{why}", cured)
            return


def _instead_of_programs(file: FileKernel, what: str) -> str:
    """Return the block or grid of the file's program, with its line, as the contrast to another; "" if it has none."""
    return next((f", not with {note.value}, {note.why}" for note in of_program(file, what)), "")


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
    kernel, inferred = file.kernel, inferred_of(file.reference)
    yield from bounded_blocks(kernel)
    yield from flat_blocks(kernel)
    if any(note.what == "block" and note.guessed for note in inferred.notes):
        yield from more_warps(kernel)
        yield from smaller_blocks(kernel)
    factors = {name: value for name, value in inferred.factors.items()
               if value != getattr(kernel, name) and name not in file.reference}  # fmt: skip
    if factors:
        yield " ".join(f"--{name} {value:g}" for name, value in factors.items()), factors
    narrow = (
        kernel.dtype in ("float16", "bfloat16") and kernel.accumulator == "float32" and not _rounds_products(kernel)
    )
    if narrow:
        yield f"--accumulator {kernel.dtype}", {"accumulator": kernel.dtype}
    if kernel.dtype == "float32":
        yield "--dtype tf32", {"dtype": "tf32"}
    layouts = [] if inferred.shows_storage else [each for each in LAYOUTS if each != kernel.column_major]
    yield from _alike_in_squares(kernel)
    for layout in layouts:
        yield f"--column-major '{layout}'", {"column_major": layout}
    if not kernel.beta:
        yield "--beta 1 (C = C + A·B)", {"beta": 1.0}
    else:
        yield "--beta 0 (C = A·B)", {"beta": 0.0}
    for layout in ("B", "ABC") if narrow and layouts else ():
        both = {"accumulator": kernel.dtype, "column_major": layout}
        yield f"--accumulator {kernel.dtype} --column-major {layout}", both


def _rounds_products(kernel: Kernel) -> bool:
    """Return whether a kernel converts rounded products to float; its sums are wide then."""
    nodes = device_nodes(kernel.source_text(), kernel.entry.partition("<")[0])
    return any(True for _ in rounded_products(nodes))


def _alike_in_squares(kernel: Kernel) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield other readings that may be right where square matrices are."""
    yield from sizes_in_vectors(kernel)
    yield from exchanged_grids(kernel)
    yield from other_sizes(kernel)
    yield from blocks_of_tiles(kernel)
    yield from grid_of_index(kernel)
