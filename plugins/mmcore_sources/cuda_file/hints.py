"""Hints for a result: other readings of a wrong kernel, tried at a small size."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from mmcore.cell import Cell
from mmcore.errors import MmcoreError
from mmcore.executor import measure_cell
from mmcore.kernel.declaration import Kernel
from mmcore.kernel.problem import Problem
from mmcore.registry import registry
from mmcore.result import Result
from mmcore_sources.cuda_file.files import inferred_of
from mmcore_sources.cuda_file.inference.expressions import LaunchText

_SMALL = 64
_SECONDS = 10.0


def hints(result: Result) -> Iterator[str]:
    """Yield the guesses behind a wrong product, and options that make it right."""
    file = registry().files.get(result.kernel)
    if file is None or result.timed_out or result.cell.force:
        return
    if result.verification is not None and result.verification.verified:
        return
    guessed = [note for note in inferred_of(file.reference).notes if note.guessed]
    if guessed:
        yield f"guessed: {'; '.join(f'{note.what} {note.value} ({note.option})' for note in guessed)}"
    small = _small(result.cell, file.kernel)
    if _right(small) is not False:
        return
    for option, values in _others(file.kernel):
        if _right(replace(small, kernel={**file.reference, **values})):
            yield f"hint: with {option} the product is right at {small.m}×{small.n}×{small.k}"
            return


def _small(cell: Cell, kernel: Kernel) -> Cell:
    """Return the launch for a small product with the same remainders, and sizes in the same order."""
    asked = (cell.m, cell.n, cell.k)
    ranks = [sum(size > other for other in asked) for size in asked]
    small = [_SMALL + _SMALL // 2 * rank + size % _SMALL for rank, size in zip(ranks, asked, strict=True)]
    m, n, k = asked if max(asked) <= 2 * _SMALL else small
    return _at(replace(cell, timings=(), timeout=_SECONDS), kernel, m, n, k)


def _at(cell: Cell, kernel: Kernel, m: int, n: int, k: int) -> Cell:
    """Return the launch for other sizes, with gaps between rows if there were any."""
    asked = cell.problem(kernel)
    other = replace(asked, m=m, n=n, k=k, lda=0, ldb=0, ldc=0)
    lda, ldb, ldc = (_leading(asked, other, matrix) for matrix in "ABC")
    return replace(cell, m=m, n=n, k=k, lda=lda, ldb=ldb, ldc=ldc)


def _leading(asked: Problem, other: Problem, matrix: str) -> int:
    """Return a leading dimension for another problem with the same remainder by 64; 0 without gaps.

    It exceeds rows and columns, so that it fits either storage order.
    """
    _, length = asked.stored_shape(matrix)
    least = max(other.shape(matrix)) + 1
    return least + (asked.leading(matrix) - least) % _SMALL if asked.leading(matrix) > length else 0


def _right(cell: Cell) -> bool | None:
    """Return whether the product is right; None without a product."""
    try:
        result = measure_cell(cell)
    except MmcoreError:
        return None
    return None if result.timed_out else result.verified


def _others(kernel: Kernel) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield other readings, likely ones first, each with its options."""
    swapped = _swapped(kernel)
    layouts = [each for each in ("B", "ABC", "A", "AB", "C", "AC", "BC", "") if each != kernel.column_major]
    if swapped:
        yield f"--grid '{swapped}'", {"grid": swapped}
    for layout in layouts:
        yield f"--column-major '{layout}'", {"column_major": layout}
    if not kernel.beta:
        yield "--beta 1 (C = C + A·B)", {"beta": 1.0}


def _swapped(kernel: Kernel) -> str:
    """Return the grid with rows and columns exchanged; empty if it has one axis."""
    if not isinstance(kernel.launch, LaunchText) or len(kernel.launch.parts) < 2:
        return ""
    parts = kernel.launch.parts
    if re.search(r"\bb[xy]\b", kernel.launch.grid):
        other = {"m": "n", "n": "m"}
        turned = [re.sub(r"\b[mn]\b", lambda name: other[name[0]], part) for part in parts]
    else:
        turned = [parts[1], parts[0], *parts[2:]]
    return ", ".join(turned) if turned != parts else ""
