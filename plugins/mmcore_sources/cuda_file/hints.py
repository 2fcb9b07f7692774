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
from mmcore.messages import quoted
from mmcore.registry import registry
from mmcore.result import Result
from mmcore_sources.cuda_file.files import inferred_of
from mmcore_sources.cuda_file.inference.expressions import LaunchText

_HALF, _BFLOAT = r"(?:__half|half)2?", r"(?:__)?nv_bfloat162?"
_SIGNS = {
    "tf32": (r"\bwmma::precision::tf32\b", r"\.tf32\b", r"\w*tf32\w*"),
    "float16": (rf"accumulator\b[^;>]*\b{_HALF}\b", r"\.f16\.f16\b", rf"\b{_HALF}\s+\w+(?:\[\w*\])*\s*="),
    "bfloat16": (r"__hfma\w*", rf"\b{_BFLOAT}\s+\w+(?:\[\w*\])*\s*="),
}
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
    small = small_cell(result.cell, file.kernel)
    usual = measured(small)
    if usual is None or usual.verified:
        return
    for option, values in _others(file.kernel):
        other = measured(replace(small, kernel={**file.reference, **values}))
        if other is not None and other.verified:
            says = _says(file.kernel.source_text(), values)
            yield f"hint: with {option} the product is right at {small.m}×{small.n}×{small.k}{says}"
            return


def small_cell(cell: Cell, kernel: Kernel) -> Cell:
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


def measured(cell: Cell) -> Result | None:
    """Return the result of a cell; None if it cannot be run, or not within its time limit."""
    try:
        result = measure_cell(cell)
    except MmcoreError:
        return None
    return None if result.timed_out else result


def _says(text: str, values: Mapping[str, Any]) -> str:
    """Return the first line of the source that names a type, and its words; empty without one."""
    for sign in _SIGNS.get(str(next(iter(values.values()))), ()):
        if match := re.search(sign, text):
            line = text.count("\n", 0, match.start()) + 1
            return f"; line {line} says {quoted(match[0])}"
    return ""


def _others(kernel: Kernel) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield other readings, likely ones first, each with its options."""
    narrow = kernel.dtype in ("float16", "bfloat16") and kernel.accumulator == "float32"
    if narrow:
        yield f"--accumulator {kernel.dtype}", {"accumulator": kernel.dtype}
    if kernel.dtype == "float32":
        yield "--dtype tf32", {"dtype": "tf32"}
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
