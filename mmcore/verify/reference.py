"""The float64 reference, a panel of rows at a time, and Freivalds' check of all rows without it.

Let r be the root mean square of C·x - A·(B·x) over 16 vectors x of random signs. A row is suspect if rounding does not
explain it: r > 8·(u + 2⁻⁵³)·‖a‖·‖B‖ + 2·u_out·‖c‖. Suspect rows are compared in full, so a limit that is too tight
costs time but never rejects a right product. docs/verification.md derives the limit.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mmcore.devices.base import Products
from mmcore.kernel.problem import Problem
from mmcore.verify.elements import widen
from mmcore.verify.input_kinds import Kind
from mmcore.verify.inputs import Matrices
from mmcore.verify.tolerance import accumulator_roundoff, storing_roundoff, tolerance

PANEL_ELEMENTS = 2**21  # widened to float64 at a time: 16 MiB, so that a 20 GB matrix never exists twice
COMPARED_ELEMENTS = 2**17  # compared at a time, few enough to stay in cache
PROJECTIONS = 16
BLOCK_COLUMNS = 4096
_SUMMING, _STORING = 8.0, 2.0
_GOOD_ROWS = 256  # rows of a panel that make widening B cheap beside multiplying by it


class Panel(NamedTuple):
    """Some rows (r,) of the reference, ascending: A·B (+ C0), and |A|·|B| (+ |C0|), both (r, n)."""

    rows: NDArray[np.intp]
    product: NDArray[np.float64]
    magnitude: NDArray[np.float64]


def panels(problem: Problem, matrices: Matrices, rows: NDArray[np.intp]) -> Iterator[Panel]:
    """Yield the reference of those rows in their order, in panels that fit into memory."""
    height = max(1, min(PANEL_ELEMENTS // problem.n, max(_GOOD_ROWS, PANEL_ELEMENTS // problem.k)))
    return (_panel(problem, matrices, rows[start : start + height]) for start in range(0, len(rows), height))


def given_panels(problem: Problem, matrices: Matrices, products: Products) -> Iterator[Panel]:
    """Yield the reference of all rows from products that a device has computed."""
    for rows in _chunks(problem.m, COMPARED_ELEMENTS // problem.n):
        product, magnitude = problem.alpha * products[0][rows], abs(problem.alpha) * products[1][rows]
        if problem.accumulate:
            before = problem.beta * widen(matrices.c[rows], problem.output)
            product, magnitude = product + before, magnitude + _carried(problem, before)
        yield Panel(np.arange(rows.start, rows.stop), product, magnitude)


def _carried(problem: Problem, before: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the magnitude of C's old value, which is carried through the whole sum.

    Tensor cores cut off up to 2⁻²³ of it in each step of 8 terms or more, always in one direction. That is k/4·u·|C0|
    in all, and the tolerance is 2·√k·u of this.
    """
    return np.abs(before) * (1 + math.sqrt(problem.k) / 8)


def _panel(problem: Problem, matrices: Matrices, rows: NDArray[np.intp]) -> Panel:
    """Sum over k in steps, which bounds the memory that widened parts of A and B take."""
    shape = (len(rows), problem.n)
    product = problem.beta * widen(matrices.c[rows], problem.output) if problem.accumulate else np.zeros(shape)
    magnitude = _carried(problem, product)
    step = max(1, PANEL_ELEMENTS // max(problem.n, len(rows)))
    for start in range(0, problem.k, step):
        a = problem.alpha * widen(matrices.a[rows, start : start + step], problem.dtype)
        b = widen(matrices.b[start : start + step], problem.dtype)
        if matrices.not_finite:
            a, b = (np.where(np.isfinite(numbers), numbers, 0.0) for numbers in (a, b))
        with np.errstate(over="ignore"):
            product += a @ b
            magnitude += np.abs(a, out=a) @ np.abs(b, out=b)
    return Panel(rows, product, magnitude)


def suspect_rows(
    problem: Problem, accumulator: str, matrices: Matrices, c: NDArray[np.generic], rng: np.random.Generator
) -> NDArray[np.intp]:
    """Return the rows of ``c`` (m×n, storage of ``problem.output``) that rounding does not explain, ascending."""
    signs = rng.choice(np.array([-1.0, 1.0]), size=(problem.n, PROJECTIONS))
    scales = _column_scales(problem, matrices)
    blocks = list(_blocks(problem.n, matrices.columns))
    projected = np.empty((problem.k, len(blocks), PROJECTIONS))
    b_norms = np.zeros(len(blocks))
    for rows in _chunks(problem.k, PANEL_ELEMENTS // problem.n):
        b = widen(matrices.b[rows], problem.dtype) * scales
        for number, block in enumerate(blocks):
            projected[rows, number] = b[:, block] @ signs[block]
            b_norms[number] = np.hypot(b_norms[number], _norms(b[:, block].reshape(1, -1))[0])
    summing = _SUMMING * accumulator_roundoff(accumulator) * b_norms
    storing = _STORING * storing_roundoff(problem, accumulator)
    least = tolerance(problem, accumulator).least * math.sqrt(BLOCK_COLUMNS)
    # Whole numbers of a float64 product fill its 53 bits, so that their projections are rounded.
    exactly = problem.keeps_whole and accumulator != "float64"
    least_of = [least * scales[block].max() for block in blocks]
    suspects = []
    for rows in _chunks(problem.m, PANEL_ELEMENTS // max(problem.n, problem.k)):
        a, result = problem.alpha * widen(matrices.a[rows], problem.dtype), widen(c[rows], problem.output) * scales
        before = problem.beta * widen(matrices.c[rows], problem.output) * scales if problem.accumulate else None
        expected = (a @ projected.reshape(problem.k, -1)).reshape(len(a), len(blocks), PROJECTIONS)
        for number, block in enumerate(blocks):
            with np.errstate(over="ignore", invalid="ignore"):
                limit = summing[number] * _norms(a) + storing * _norms(result[:, block]) + least_of[number]
                if exactly and matrices.rows is not None and matrices.columns is not None:
                    exact = matrices.columns[block.start] == Kind.WHOLE
                    limit[exact & (matrices.rows[rows] == Kind.WHOLE)] = 0
                left = result[:, block] @ signs[block] - expected[:, number]
                if before is not None:
                    left -= before[:, block] @ signs[block]
                residual = _norms(left) / math.sqrt(PROJECTIONS)
            explained = np.isfinite(residual) & (residual <= limit)
            suspects.append(rows.start + np.flatnonzero(~explained))
    return np.unique(np.concatenate(suspects))


def _column_scales(problem: Problem, matrices: Matrices) -> NDArray[np.float64]:
    """Return a power of two for each column of B that makes its largest magnitude about 1."""
    if matrices.columns is None:
        return np.ones(problem.n)
    largest = np.zeros(problem.n)
    for rows in _chunks(problem.k, PANEL_ELEMENTS // problem.n):
        np.maximum(largest, np.abs(widen(matrices.b[rows], problem.dtype)).max(axis=0), out=largest)
    return np.ldexp(1.0, np.minimum(-np.frexp(largest)[1], 1000))


def _norms(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the 2-norm of each row, in units of its largest number, as its square may overflow float64."""
    largest = np.abs(rows).max(axis=1)
    parts = rows / np.where(largest > 0, largest, 1)[:, np.newaxis]
    return np.asarray(largest * np.sqrt(np.einsum("ij,ij->i", parts, parts)))


def _blocks(columns: int, kinds: NDArray[np.intp] | None) -> Iterator[slice]:
    """Yield consecutive slices of columns of one kind each, none longer than BLOCK_COLUMNS."""
    ends = [] if kinds is None else (np.flatnonzero(np.diff(kinds)) + 1).tolist()
    for start, end in itertools.pairwise([0, *ends, columns]):
        for part in _chunks(end - start, BLOCK_COLUMNS):
            yield slice(start + part.start, start + part.stop)


def _chunks(length: int, step: int) -> Iterator[slice]:
    """Yield consecutive slices that cover ``range(length)``, none longer than ``step`` (or 1)."""
    step = max(1, step)
    return (slice(start, min(start + step, length)) for start in range(0, length, step))
