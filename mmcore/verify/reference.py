"""The product in float64, a panel of rows at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mmcore.verify.inputs import Matrices
from mmcore.verify.storage import widen
from mmcore.kernel.problem import Problem

PANEL_ELEMENTS = 2**21
"""Elements widened to float64 at a time: 16 MiB, so that a 20 GB matrix never exists twice."""

_GOOD_ROWS = 256  # rows of a panel that make widening B cheap beside multiplying by it
_FLOAT32_ROUNDOFF = 2.0**-24


class Panel(NamedTuple):
    """Some rows of the reference.

    Attributes:
        rows: their numbers, ascending; shape (r,).
        product: A·B (+ C0), shape (r, n).
        magnitude: no less than |A|·|B| (+ |C0|), and more by a fraction of 3·(k + 4)·2⁻²⁴ at most; shape (r, n).
    """

    rows: NDArray[np.intp]
    product: NDArray[np.float64]
    magnitude: NDArray[np.float32]


def panels(problem: Problem, matrices: Matrices, rows: NDArray[np.intp]) -> Iterator[Panel]:
    """The reference of those rows, in their order, as many at a time as memory allows."""
    height = max(1, min(PANEL_ELEMENTS // problem.n, max(_GOOD_ROWS, PANEL_ELEMENTS // problem.k)))
    for start in range(0, len(rows), height):
        yield _panel(problem, matrices, rows[start : start + height])


def _panel(problem: Problem, matrices: Matrices, rows: NDArray[np.intp]) -> Panel:
    """Sum over k in steps. Magnitudes are positive sums, good enough in float32 when their own rounding is added."""
    if problem.accumulate:
        product = widen(matrices.c[rows], problem.output)
        magnitude = np.abs(product).astype(np.float32)
    else:
        product = np.zeros((len(rows), problem.n))
        magnitude = np.zeros((len(rows), problem.n), np.float32)
    step = max(1, PANEL_ELEMENTS // max(problem.n, len(rows)))
    for start in range(0, problem.k, step):
        a = widen(matrices.a[rows, start : start + step], problem.dtype)
        b = widen(matrices.b[start : start + step], problem.dtype)
        product += a @ b
        magnitude += np.abs(a, out=a).astype(np.float32) @ np.abs(b, out=b).astype(np.float32)
    magnitude *= np.float32(1 + 2 * (problem.k + 3) * _FLOAT32_ROUNDOFF)
    return Panel(rows, product, magnitude)
