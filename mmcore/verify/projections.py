"""Freivalds' check: every row of C against A·B without computing A·B.

For a vector x of random signs, C·x = A·(B·x) costs three products of a matrix and a vector, and one wrong element is
seen in its row by every x, since |x| = 1. Here x spans a block of at most 4096 columns, and 16 of them are tried for
each block.

What a row should leave behind: let e be the row's rounding errors in a block of w columns. Then e·x has mean 0 and
standard deviation ‖e‖ over the x, and the root mean square r of 16 of them lies near ‖e‖. A row is suspect when

    r > 8·(u + u64)·‖a‖·‖B‖ + 2·u_out·‖c‖

with the 2-norms of its rows of A and (in the block) C, and the Frobenius norm of the block of B; u, u64 and u_out as
in :mod:`mmcore.verify.tolerance`. The terms, for the inputs that :func:`mmcore.verify.inputs.draw` draws:

- ‖a‖·‖B‖ = k·0.58·√w, 0.58 being the root mean square of a term. Adding one after another errs by 0.30·k·u·0.58 per
  element, so that 8 is 27 standard deviations of a row that is right, and 3.4 of the row of a tensor core that
  truncates every 16 terms at k = 8192, which grows as √k.
- u_out·‖c‖: rounding C to a narrower type errs by 0.41·u_out times each element, so that 2 is 5 standard deviations.

The root mean square of 16 exceeds ‖e‖ by 1.9 in one row of 10⁴ and by 3 never in practice. A term of 0.25, dropped or
doubled, leaves r = 0.25, and the tolerance at k = 8192 and w = 4096 in float32 is 8·2⁻²⁴·8192·0.58·64 = 0.146, so
that it is seen by a margin of 30 times the rounding of a good float32 row. Faults of opposite sign and equal size in
one block escape all 16 with probability 2⁻¹⁶. An element of C that is wildly wrong raises the tolerance by a fraction
of itself far below 1, and one that is not finite makes its row suspect.

To be suspect is no verification. Whoever asks recomputes the suspect rows exactly, so that a tolerance too tight for a
kernel costs time (at worst the full reference) and never refuses a right product. It is too tight for some rows of
float64 kernels at k = 1 and 2, where C·x itself loses more than the kernel, and recomputing costs next to nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from mmcore.verify.tolerance import accumulator_roundoff, storing_roundoff
from mmcore.verify.inputs import Matrices
from mmcore.verify.reference import PANEL_ELEMENTS
from mmcore.verify.storage import widen
from mmcore.kernel.problem import Problem

PROJECTIONS = 16
BLOCK_COLUMNS = 4096
_SUMMING = 8.0
_STORING = 2.0


def suspect_rows(
    problem: Problem, accumulator: str, matrices: Matrices, c: NDArray[np.generic], rng: np.random.Generator
) -> NDArray[np.intp]:
    """Rows of ``c`` (m×n, storage of ``problem.output``) that rounding alone does not explain, ascending.

    Memory stays at a few chunks of :data:`PANEL_ELEMENTS` and k·n/256 float64 numbers.
    """
    signs = rng.choice(np.array([-1.0, 1.0]), size=(problem.n, PROJECTIONS))
    blocks = list(_chunks(problem.n, BLOCK_COLUMNS))
    projected, norms = _project_b(problem, matrices, signs, blocks)
    summing = _SUMMING * accumulator_roundoff(accumulator)
    storing = _STORING * storing_roundoff(problem, accumulator)
    suspects = []
    for rows in _chunks(problem.m, PANEL_ELEMENTS // max(problem.n, problem.k)):
        a = widen(matrices.a[rows], problem.dtype)
        result = widen(c[rows], problem.output)
        before = widen(matrices.c[rows], problem.output) if problem.accumulate else None
        expected = (a @ projected).reshape(len(a), len(blocks), PROJECTIONS)
        a_norms = _norms(a)
        for number, block in enumerate(blocks):
            with np.errstate(over="ignore", invalid="ignore"):
                tolerance = summing * a_norms * norms[number] + storing * _norms(result[:, block])
                left = result[:, block] @ signs[block] - expected[:, number]
                if before is not None:
                    left -= before[:, block] @ signs[block]
                residual = _norms(left) / math.sqrt(PROJECTIONS)
            explained = np.isfinite(residual) & (residual <= tolerance)
            suspects.append(rows.start + np.flatnonzero(~explained))
    return np.unique(np.concatenate(suspects))


def _project_b(
    problem: Problem, matrices: Matrices, signs: NDArray[np.float64], blocks: list[slice]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """B's blocks times their signs, side by side: k×(blocks·PROJECTIONS); and the Frobenius norm of each block."""
    projected = np.empty((problem.k, len(blocks), PROJECTIONS))
    squares = np.zeros(len(blocks))
    for rows in _chunks(problem.k, PANEL_ELEMENTS // problem.n):
        b = widen(matrices.b[rows], problem.dtype)
        for number, block in enumerate(blocks):
            projected[rows, number] = b[:, block] @ signs[block]
            squares[number] += np.square(_norms(b[:, block])).sum()
    return projected.reshape(problem.k, -1), np.sqrt(squares)


def _norms(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """The 2-norm of each row."""
    squares: NDArray[np.float64] = np.einsum("ij,ij->i", rows, rows)
    return np.sqrt(squares)


def _chunks(length: int, step: int) -> Iterator[slice]:
    """Consecutive slices that cover ``range(length)``, none longer than ``step`` (or 1)."""
    step = max(1, step)
    for start in range(0, length, step):
        yield slice(start, min(start + step, length))
