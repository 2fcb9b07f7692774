"""Hints that a product of whole tiles is right, which has faults with remainders."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from mmcore.cell import Cell
from mmcore.kernel.constraints import Square
from mmcore.kernel.declaration import Kernel
from mmcore.kernel.geometry import ceil_div
from mmcore.kernel_reference import FileKernel
from mmcore.registry import registry
from mmcore.result import Result
from mmcore.verdict import BY_VALUE
from mmcore_emulator.adapter.usual_sizes import PASSES
from mmcore_sources.cuda_file.files import inferred_of
from mmcore_sources.cuda_file.hints.deciding_sizes import deciding_size
from mmcore_sources.cuda_file.hints.tried_cells import (
    MOST_WORK,
    TRIED_SECONDS,
    at_sizes,
    hint_of,
    is_checked,
    is_clean,
    is_right,
    is_wrong,
    measured,
    size_of,
    small_cell,
    unequal_cell,
)
from mmcore_sources.cuda_file.hints.whole_cells import exchanged_cell, is_whole, whole_cell, with_remainders
from mmcore_sources.cuda_file.inference.fixed_sizes import FixedSizes
from mmcore_sources.cuda_file.repairs.edits import rest_left_out
from mmcore_sources.cuda_file.repairs.trial import sizes_of

_WITHOUT_REMAINDER = "without a remainder"
_RACE = "race"  # in the kinds of hazards


def is_by_value(result: Result) -> bool:
    """Return whether a value of A or B decides what a kernel computes, so that no size is known to be right."""
    return any(each.endswith(BY_VALUE) for each in result.warnings)


def is_without_remainder(found: Iterable[str]) -> bool:
    """Return whether a hint says that a product without a remainder is right."""
    return any(each.startswith(f"hint: {_WITHOUT_REMAINDER}") for each in found)


def of_whole_tiles(result: Result, file: FileKernel) -> Iterator[str]:
    """Yield the size of whole tiles at which a product is right that has faults with remainders.

    An unusual reading that nothing in the file supports is given as an option, which says that it is meant.
    """
    inferred = inferred_of(file.reference)
    options = [next(iter(each.given)) for each in inferred.unusual if not each.evidence]
    meant = {name: inferred.attributes[name] for name in options if name != "args"}
    result = replace(result, cell=replace(result.cell, kernel={**file.reference, **meant}))
    if not result.sizes:
        tiles = whole_cell(small_cell(result.cell, file.kernel), file.kernel)
        if tiles is not None and is_right(tiles):
            yield from without_remainder(tiles)
    sized = [
        (replace(result.cell, **{name: each[name] for name in "mnk"}, lda=0, ldb=0, ldc=0), each)
        for each in result.sizes
    ]
    if any(each["right"] for each in result.sizes) and _faults_are_of_gaps(result):
        without = replace(result.cell, lda=0, ldb=0, ldc=0)
        yield hint_of(f"without gaps between rows, at {size_of(without)}, the product is right", without)
        return
    of_tiles = [(cell, each["right"]) for cell, each in sized if is_whole(cell, each["why"], file.kernel)]
    wrong = [cell for cell, each in sized if not each["right"]]
    if has_wrong_passes(result):
        return
    if of_tiles and wrong and all(right for _, right in of_tiles):
        if _is_right_when_filled(result, wrong[-1], of_tiles[0][0], file.kernel):
            yield from without_remainder(of_tiles[0][0])
    elif meant.keys() - file.reference.keys() and all(right for _, right in of_tiles):
        yield hint_of("this says that the unusual reading is meant", result.cell)


def has_wrong_passes(result: Result) -> bool:
    """Return whether a result is wrong at a size with more than one pass of its grid, whose cause is no remainder."""
    return any(not each["right"] and each["why"].startswith(PASSES) for each in result.sizes)


def _faults_are_of_gaps(result: Result) -> bool:
    """Return whether some sizes are not right, and all of them have gaps between rows."""
    wrong = [each for each in result.sizes if not each["right"]]
    return bool(wrong) and all(each["lda"] or each["ldb"] or each["ldc"] for each in wrong)


def of_right_tiles(result: Result, tiles: Cell, kernel: Kernel) -> Iterator[str]:
    """Yield a size at which a kernel is right whose product is wrong, and right for these whole tiles."""
    if is_by_value(result):
        return
    rest = with_remainders(tiles, result.cell, kernel)
    equal = at_sizes(tiles, kernel, *(getattr(tiles, name) + 1 for name in "mnk"))
    if _needs_equal_sizes(result.cell, tiles, kernel) and is_right(equal):
        why = "where the sizes are equal: no remainder is the cause, but a size in another's place may be"
        yield hint_of(f"the product is right at {size_of(equal)}, {why}", equal)
    elif is_right(rest):
        yield hint_of(f"the product is right at {size_of(rest)}", rest)
    elif _is_right_when_filled(result, result.cell, tiles, kernel):
        yield from without_remainder(tiles)


def _is_right_when_filled(result: Result, wrong: Cell, tiles: Cell, kernel: Kernel) -> bool:
    """Return whether a product is right whose sizes are the least multiples of some tiles that hold a wrong product.

    Otherwise another cause than a remainder is possible, such as a size that the kernel does not expect. Where the
    result has a race, the product must have no hazard, either. A small product with the same remainders, if it is wrong
    too, stands for one that takes too long.
    """
    if _work(filled := _filled(wrong, tiles, kernel)) > MOST_WORK:
        wrong = small_cell(wrong, kernel)
        filled = _filled(wrong, tiles, kernel)
        if not is_wrong(wrong, kernel):
            return False
    holds = all(getattr(filled, name) >= max(getattr(wrong, name), getattr(tiles, name)) for name in "mnk")
    holds_for = is_checked if any(_RACE in each.kind for each in result.violations) else is_right
    return holds and _work(filled) > _work(wrong) and holds_for(filled)


def _filled(wrong: Cell, tiles: Cell, kernel: Kernel) -> Cell:
    """Return the launch whose sizes are the least multiples of some tiles that hold a product."""
    sizes = (ceil_div(getattr(wrong, name), tile) * tile for name in "mnk" for tile in [getattr(tiles, name)])
    return at_sizes(replace(wrong, timings=(), timeout=3 * TRIED_SECONDS), kernel, *sizes)


def _work(cell: Cell) -> int:
    return cell.m * cell.n * cell.k


def _needs_equal_sizes(wrong: Cell, tiles: Cell, kernel: Kernel) -> bool:
    """Return whether a product is wrong for whole tiles of unequal sizes, as one that is known to be wrong."""
    fixed = any(isinstance(each, Square | FixedSizes) for each in kernel.constraints)
    is_equal, was_equal = ({each.m} == {each.n, each.k} for each in (tiles, wrong))
    return is_equal and not was_equal and not fixed and is_wrong(unequal_cell(tiles, kernel))


def without_remainder(cell: Cell) -> Iterator[str]:
    """Yield the hint of a size at which a product is right, unless it has hazards there."""
    kernel = registry().kernel(cell.kernel)
    if is_clean(measured(cell), kernel):
        other = exchanged_cell(cell, kernel)
        if other is not None and (exchanged := measured(other)) is not None and not exchanged.verified:
            why, wrong = deciding_size(cell, other, kernel)
            both = f"right at {size_of(cell)} and wrong at {size_of(wrong)}"
            yield hint_of(f"the product is {both}, without a remainder{why and f': {why}'}", wrong)
            return
        text, name = kernel.source_text(), kernel.entry.partition("<")[0]
        why = rest_left_out(text, name, sizes_of(kernel)) if name and kernel.build is None else ""
        yield hint_of(f"{_WITHOUT_REMAINDER}, at {size_of(cell)}, the product is right{why and f': {why}'}", cell)
