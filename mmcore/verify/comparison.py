"""The comparison of one product with the reference."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mmcore.devices.base import Products
from mmcore.errors import InvalidProblem
from mmcore.kernel.problem import Problem, accumulator_named, dtype_named
from mmcore.verify.elements import is_poison, stored, widen
from mmcore.verify.inputs import Kind, Matrices
from mmcore.verify.outcome import LEAST_ORDINARY, MOST_ORDINARY, Mismatch, Verification
from mmcore.verify.reference import PROJECTIONS, Panel, given_panels, panels, suspect_rows
from mmcore.verify.tolerance import Tolerance, hides_a_term, tolerance

FULL_REFERENCE_FLOPS = 2e10
"""Up to this many operations every element is compared; 2048³, which is 1.7e10, takes a fraction of a second."""

SAMPLED_ROWS = 32
_MANY = 64  # elements whose root mean square is not due to chance


def verify_product(
    problem: Problem,
    accumulator: str,
    matrices: Matrices,
    c: NDArray[Any],
    full_flops: float | None = None,
    products: Products | None = None,
    algorithm: str = "",
) -> Verification:
    """Return whether ``c`` is the product of ``problem``, within the tolerance of :mod:`mmcore.verify.tolerance`.

    Every element is compared with a float64 reference: ``products`` if the device has computed it, else the host's. If
    that takes more operations than ``full_flops``, 32 rows that no kernel can foresee are compared, and all others are
    projected (:mod:`mmcore.verify.reference`). The suspect ones are compared too, up to the first that is wrong.

    Args:
        problem: the product.
        accumulator: the type of the kernel's sums.
        matrices: the inputs as :func:`mmcore.verify.inputs.draw` made them, C with its value before the launch.
        c: what the kernel left: m×n, any strides, storage type of ``problem.output`` (or ml_dtypes' bfloat16).
        full_flops: :data:`FULL_REFERENCE_FLOPS` when None.
        algorithm: the kernel's, if it has a particular tolerance: "strassen", or "parts" of float32 numbers.
        products: A·B and |A|·|B| in float64, as a device other than the kernel's code computed them.

    Raises:
        InvalidProblem: for a ``c`` of another shape or type, or an unknown accumulator.
    """
    if c.shape != (problem.m, problem.n):
        raise InvalidProblem(f"C is {problem.m}×{problem.n}, but the array to verify has the shape {c.shape}")
    elements = stored(c, problem.output)
    limit = tolerance(problem, accumulator, algorithm)

    def compare(rows: NDArray[np.intp]) -> Iterator[_Comparison]:
        return (_compare(problem, limit, matrices, panel, elements) for panel in panels(problem, matrices, rows))

    if products is not None:
        computed = given_panels(problem, matrices, products)
        comparisons = [_compare(problem, limit, matrices, panel, elements) for panel in computed]
        method = "every element against float64, computed on the GPU"
    elif problem.flops <= (FULL_REFERENCE_FLOPS if full_flops is None else full_flops) or problem.m <= SAMPLED_ROWS:
        method, comparisons = "every element against float64", list(compare(np.arange(problem.m)))
    else:
        rng = np.random.default_rng()
        sampled = sampled_rows(problem.m, rng)
        method = f"{len(sampled)} rows against float64 and {PROJECTIONS} random projections of every row"
        comparisons = list(compare(sampled))
        wrong = min((each.mismatch.row for each in comparisons if each.mismatch), default=problem.m)
        suspects = suspect_rows(problem, accumulator, matrices, elements, rng)
        for comparison in compare(suspects[suspects < wrong]):
            comparisons.append(comparison)
            if comparison.mismatch:
                break
    if algorithm == "strassen":
        method += ", within the norm-wise bound of Strassen's algorithm"
    if hides_a_term(problem, accumulator, algorithm):
        narrowest = max(
            accumulator_named(accumulator), dtype_named(problem.output), key=lambda dtype: dtype.unit_roundoff
        )
        method += f", but one term of {problem.k} can hide in the rounding of {narrowest.name}"
    mismatches = [each.mismatch for each in comparisons if each.mismatch]
    largest = float(np.max([each.largest for each in comparisons]))
    return Verification(
        verified=not mismatches,
        max_error=largest if math.isfinite(largest) else None,
        mismatch=min(mismatches, key=lambda each: (not each.is_ordinary, each.row), default=None),
        method=method,
        wrong=sum(each.wrong for each in comparisons),
        compared=sum(each.compared for each in comparisons),
    )


def sampled_rows(m: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """32 rows of m, ascending: the ends, both sides of a random boundary of each tile height, and random ones."""
    chosen = {0, m - 1}
    for tile in (8, 16, 32, 64, 128):
        if tile < m:
            boundary = tile * int(rng.integers(1, (m - 1) // tile + 1))
            chosen |= {boundary - 1, boundary}
    others = (int(row) for row in rng.permutation(m) if row not in chosen)
    return np.array(sorted(chosen | {next(others) for _ in range(SAMPLED_ROWS - len(chosen))}))


def _narrow(
    allowed: NDArray[np.float64],
    problem: Problem,
    limit: Tolerance,
    rows: NDArray[np.intp],
    columns: NDArray[np.intp],
    product: NDArray[np.float64],
) -> None:
    """Allow no error in exact products, and only errors in the last bits where a unit row or column copies numbers."""
    if not problem.accumulate:
        for at in (np.s_[rows == Kind.UNIT, :], np.s_[:, columns == Kind.UNIT]):
            allowed[at] = np.minimum(allowed[at], limit.selected(product[at]))
    if problem.keeps_whole:
        allowed[np.ix_(rows == Kind.WHOLE, columns == Kind.WHOLE)] = 0


class _Comparison(NamedTuple):
    """Some compared rows of C: the largest error (NaN or infinite if an element is not finite), and wrong elements."""

    largest: float
    compared: int
    wrong: int = 0
    mismatch: Mismatch | None = None


def _compare(problem: Problem, limit: Tolerance, matrices: Matrices, panel: Panel, c: NDArray[Any]) -> _Comparison:
    """Compare the panel's rows of C with it."""
    got = widen(c[panel.rows], problem.output)
    with np.errstate(invalid="ignore"):  # a signalling NaN is as wrong as any
        error = np.abs(got - panel.product)
        allowed = limit(panel.product, panel.magnitude)
        if matrices.rows is not None and matrices.columns is not None:
            kinds = matrices.rows[panel.rows]
            scattered = kinds == Kind.SCALED
            allowed[scattered] = limit(panel.product[scattered], panel.magnitude[scattered] * limit.scattered)
            _narrow(allowed, problem, limit, kinds, matrices.columns, panel.product)
            carried = np.flatnonzero(kinds == Kind.NOT_FINITE)
            # Such a row makes every element NaN or infinite, but where it is only multiplied by zeros.
            lost = np.isfinite(got[carried]) & (matrices.columns != Kind.ZERO)
            error[carried], allowed[carried] = np.where(lost, np.inf, 0), 0
        wrong = np.flatnonzero(~(error <= allowed))
        if not wrong.size and matrices.rows is None and error.size >= _MANY and math.isfinite(limit.together):
            together = limit.together * panel.magnitude
            if np.square(error).sum() >= np.square(together).sum():
                wrong, allowed = np.flatnonzero(error >= together), together
    largest = _largest(error, panel, matrices)
    if not wrong.size:
        return _Comparison(largest, error.size)
    index, column = np.divmod(wrong, problem.n)
    unwritten = is_poison(c[panel.rows[index], column]) & (not problem.accumulate)
    size = np.abs(panel.product[index, column])
    ordinary = unwritten | ((size >= LEAST_ORDINARY) & (size <= MOST_ORDINARY))
    first = int(np.argmax(ordinary))  # the very first where none is ordinary
    at = int(index[first]), int(column[first])
    expected, left, bound = (float(each[at]) for each in (panel.product, got, allowed))
    place = int(panel.rows[at[0]]), at[1]
    mismatch = Mismatch(*place, expected, left, bool(unwritten[first]), problem.output, bound)
    return _Comparison(largest, error.size, wrong.size, mismatch)


def _largest(error: NDArray[np.float64], panel: Panel, matrices: Matrices) -> float:
    """Return the largest error of the elements that are not scaled; of all elements if one is not finite."""
    largest = error.max()
    if matrices.rows is not None and np.isfinite(largest):
        kinds = matrices.rows[panel.rows, np.newaxis]
        largest = error.max(initial=0.0, where=(kinds != Kind.WHOLE) & (kinds != Kind.SCALED))
    return float(largest)
