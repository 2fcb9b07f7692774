"""Single elements of A and B that are NaN or infinite, and the elements of C that must then be NaN or infinite.

A product by NaN or an infinity is NaN or infinite, and so is its sum with any others. A product by zero may be left
out: BLAS has always allowed that. It may also be NaN.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from mmcore.kernel.problem import Problem, dtype_named
from mmcore.verify.elements import narrow, widen
from mmcore.verify.inputs import Matrices
from mmcore.verify.reference import Panel

_LEAST = 3  # rows, columns and terms, so that there are some that are neither first nor last


def with_not_finite(problem: Problem, matrices: Matrices, seed: int) -> Matrices:
    """Return mixed inputs with one element of A, and of B, replaced by NaN, and one by an infinity.

    The first and last row of A, column of B and term of the sum have none: a kernel may multiply these by zeros where a
    tile ends. Integers and products that are stored in 8 bits stay as they are.
    """
    if matrices.rows is None or problem.k < _LEAST or dtype_named(problem.output).itemsize == 1:
        return matrices
    rng = np.random.Generator(np.random.SFC64([seed, 3]))
    infinities = () if problem.dtype == "float8_e4m3fn" else (rng.choice([np.inf, -np.inf]),)
    values = narrow(np.array([np.nan, *infinities]), problem.dtype)
    changed = False
    for lines in (matrices.a, matrices.b.T):
        if len(lines) >= _LEAST:
            at, terms = (rng.integers(1, last, size=len(values)) for last in (len(lines) - 1, problem.k - 1))
            lines[at, terms] = values
            changed = True
    return replace(matrices, not_finite=changed)


def judge_not_finite(
    problem: Problem, matrices: Matrices, panel: Panel, got: NDArray[np.float64], *, sign: bool, largest: float
) -> tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.float64]]:
    """Return which elements of the panel are rightly not finite, which must be, and the values that they should have.

    Args:
        problem: the product.
        matrices: the inputs.
        panel: the reference, in which NaN and infinities of A and B count as zeros.
        got: the kernel's elements.
        sign: an infinity may not become NaN or the other infinity.
        largest: the sum of magnitudes from which the finite terms may overflow.
    """
    a, b = widen(matrices.a[panel.rows], problem.dtype), widen(matrices.b, problem.dtype)
    least = 2.0 ** dtype_named(problem.dtype).exponents[0]  # less may count as zero
    values = np.zeros(panel.product.shape)
    must, loose = np.zeros((2, *panel.product.shape), bool)
    strays = ~np.isfinite(a)
    places = [((row, slice(None)), a[row, p], b[p]) for row, p in np.argwhere(strays)]
    for p, column in np.argwhere(~np.isfinite(b)):
        rows = np.flatnonzero(~strays[:, p])  # the others have that term already
        places.append(((rows, column), b[p, column], a[rows, p]))
    for at, value, others in places:
        values[at] += problem.alpha * value * others
        small = np.abs(others) < least
        must[at] |= ~small
        loose[at] |= small
    met = must | loose
    loose |= panel.magnitude > largest
    same = np.where(np.isnan(values), np.isnan(got), got == values)
    right = met & ~np.isfinite(got) & (same if sign else True) | (met & loose & ~np.isfinite(got))
    return right, must, np.where(must, values, panel.product)
