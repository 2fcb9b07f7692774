"""The comparison of one product with the reference."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mmcore.devices.base import Products
from mmcore.errors import InvalidProblem
from mmcore.kernel.problem import Problem, accumulator_named, dtype_named
from mmcore.verify.elements import is_poison, stored, widen
from mmcore.verify.input_kinds import Kind
from mmcore.verify.inputs import Matrices
from mmcore.verify.not_finite import judge_not_finite
from mmcore.verify.outcome import LEAST_ORDINARY, MOST_ORDINARY, Mismatch, Verification
from mmcore.verify.reduction import reduced_failure
from mmcore.verify.reference import PROJECTIONS, Panel, given_panels, panels, suspect_rows
from mmcore.verify.tolerance import Tolerance, hides_a_term, tolerance

FULL_REFERENCE_FLOPS = 2e10
"""Up to this many operations every element is compared; 2048³, which is 1.7e10, takes a fraction of a second."""

SAMPLED_ROWS = 32
_MANY = 64  # elements whose root mean square is not due to chance
# Positions along k at which signs of zeros are compared: the first few settle most elements.
_FIRST_SIGNS, _MORE_SIGNS = 64, 1024
_SCATTERED = (Kind.SCALED, Kind.TINY)


def verify_product(
    problem: Problem,
    accumulator: str,
    matrices: Matrices,
    c: NDArray[Any],
    full_flops: float | None = None,
    products: Products | None = None,
    algorithm: str = "",
    quantum: float = 0.0,
    keeps_infinities: bool = True,
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
        quantum: the part of a factor, a product or a sum that the kernel's code may lose, such as subnormal numbers.
        keeps_infinities: the kernel's code has no difference that makes NaN of infinities.

    Raises:
        InvalidProblem: for a ``c`` of another shape or type, or an unknown accumulator.
    """
    if c.shape != (problem.m, problem.n):
        raise InvalidProblem(f"C is {problem.m}×{problem.n}, but the array to verify has the shape {c.shape}")
    elements = stored(c, problem.output)
    comparer = _Comparer(
        problem, tolerance(problem, accumulator, algorithm, quantum), matrices, quantum, keeps_infinities
    )

    def compare(rows: NDArray[np.intp]) -> Iterator[_Comparison]:
        return (comparer.compare(panel, elements) for panel in panels(problem, matrices, rows))

    whole = problem.flops <= (FULL_REFERENCE_FLOPS if full_flops is None else full_flops) or problem.m <= SAMPLED_ROWS
    if products is not None and not matrices.not_finite:
        comparisons = [comparer.compare(panel, elements) for panel in given_panels(problem, matrices, products)]
        method = "every element against float64, computed on the GPU"
    elif whole or matrices.not_finite:
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
    places = np.concatenate([each.places for each in comparisons])
    largest = float(np.max([each.largest for each in comparisons]))
    return Verification(
        verified=not mismatches,
        max_error=largest if math.isfinite(largest) else None,
        mismatch=min(mismatches, key=lambda each: (not each.is_ordinary, each.row), default=None),
        method=method,
        wrong=len(places),
        compared=sum(each.compared for each in comparisons),
        reduced=reduced_failure(problem, matrices, elements, places),
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
    rows: NDArray[np.intp],
    columns: NDArray[np.intp],
    selected: NDArray[np.float64],
) -> None:
    """Allow no error in exact products, and none but ``selected`` ones where a unit row or column copies numbers."""
    if not problem.accumulate:
        for at in (np.s_[rows == Kind.UNIT, :], np.s_[:, columns == Kind.UNIT]):
            allowed[at] = np.minimum(allowed[at], selected[at])
    if problem.keeps_whole:
        allowed[np.ix_(rows == Kind.WHOLE, columns == Kind.WHOLE)] = 0


class _Comparison(NamedTuple):
    """Some compared rows of C: the largest error (NaN or infinite if an element is not finite), and wrong elements."""

    largest: float
    compared: int
    places: NDArray[np.intp]  # the row and the column of each wrong element
    mismatch: Mismatch | None = None


@dataclass(frozen=True)
class _Comparer:
    """The comparison of a product with panels of its reference."""

    problem: Problem
    limit: Tolerance
    matrices: Matrices
    quantum: float
    keeps_infinities: bool

    def compare(self, panel: Panel, c: NDArray[Any]) -> _Comparison:
        """Compare the panel's rows of C with it."""
        got, expected = widen(c[panel.rows], self.problem.output), panel.product
        with np.errstate(invalid="ignore"):  # a signalling NaN is as wrong as any
            error = np.abs(got - expected)
            allowed = self._allowed(panel)
            wrong = ~(error <= allowed)
            if self.matrices.not_finite:
                right, must, expected = judge_not_finite(
                    self.problem, self.matrices, panel, got, sign=self.keeps_infinities, largest=self.limit.largest
                )
                wrong = (wrong | must) & ~right
                error[must | right] = 0
        if self.limit.magnitude == 0:
            wrong |= self._negative_zeros(panel, got)
        unbounded = panel.magnitude >= self.limit.largest
        if self.matrices.rows is not None and self.matrices.columns is not None:
            kinds = (self.matrices.rows[panel.rows, np.newaxis], self.matrices.columns)
            unbounded &= np.logical_or(*(np.isin(each, (Kind.WHOLE, Kind.SCALED)) for each in kinds))
        elif self.limit.summing > 0 and not dtype_named(self.problem.dtype).is_integer:
            unbounded[:] = False
        wrong &= ~unbounded
        error[unbounded] = 0
        if (
            not wrong.any()
            and self.matrices.rows is None
            and error.size >= _MANY
            and math.isfinite(self.limit.together)
        ):
            together = self.limit.together * panel.magnitude
            if np.square(error).sum() >= np.square(together).sum():
                wrong, allowed = error >= together, together
        largest = self._largest(error, panel)
        if not wrong.any():
            return _Comparison(largest, error.size, np.empty((0, 2), np.intp))
        return _Comparison(largest, error.size, *self._mismatch(panel, c, wrong, expected, got, allowed))

    def _allowed(self, panel: Panel) -> NDArray[np.float64]:
        """Return the largest error of each element of a panel."""
        limit, matrices, lost = self.limit, self.matrices, self._lost(panel)
        allowed = limit(panel.product, panel.magnitude)
        if matrices.rows is None or matrices.columns is None:
            return allowed + lost
        rows, columns = matrices.rows[panel.rows], matrices.columns
        scattered = np.isin(rows, _SCATTERED)[:, np.newaxis] | np.isin(columns, _SCATTERED)
        allowed[scattered] = limit(panel.product[scattered], panel.magnitude[scattered] * limit.scattered)
        allowed += lost
        _narrow(allowed, self.problem, rows, columns, limit.selected(panel.product) + lost)
        return allowed

    def _lost(self, panel: Panel) -> NDArray[np.float64] | float:
        """Return the error from a quantum of each factor that the kernel's code may lose."""
        if not self.quantum:
            return 0.0
        rows = self._magnitudes(self.matrices.a[panel.rows])
        return np.asarray(self.quantum * abs(self.problem.alpha) * (rows[:, np.newaxis] + self._of_columns))

    @cached_property
    def _of_columns(self) -> NDArray[np.float64]:
        """The sum of magnitudes of each column of B; computed once for all panels, as B may be large."""
        return self._magnitudes(self.matrices.b.T)

    def _magnitudes(self, lines: NDArray[Any]) -> NDArray[np.float64]:
        """Return the sum of the finite magnitudes of each line."""
        return np.asarray(
            np.abs(np.nan_to_num(widen(lines, self.problem.dtype), posinf=0, neginf=0)).sum(axis=1), np.float64
        )

    def _negative_zeros(self, panel: Panel, got: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return which elements are -0 where all products are +0, whose sum is +0 in any order and any rounding."""
        wrong = np.asarray((got == 0) & np.signbit(got) & (panel.magnitude == 0))
        if self.problem.alpha < 0 or self.problem.accumulate:
            return np.zeros_like(wrong)
        first, step = 0, _FIRST_SIGNS
        while first < self.problem.k and wrong.any():
            rows, columns = (np.flatnonzero(wrong.any(axis=axis)) for axis in (1, 0))
            a = self._signs(self.matrices.a[panel.rows[rows], first : first + step])
            b = self._signs(self.matrices.b[first : first + step, columns])
            wrong[np.ix_(rows, columns)] &= a @ b == len(b)
            first, step = first + step, _MORE_SIGNS
        return wrong

    def _signs(self, elements: NDArray[Any]) -> NDArray[np.float32]:
        """Return 1 for each number from +0 and -1 for each from -0."""
        return np.where(np.signbit(widen(elements, self.problem.dtype)), np.float32(-1), np.float32(1))

    def _largest(self, error: NDArray[np.float64], panel: Panel) -> float:
        """Return the largest error of the elements that are not scaled; of all elements if one is not finite."""
        largest, matrices = error.max(), self.matrices
        if matrices.rows is not None and matrices.columns is not None and np.isfinite(largest):
            kinds = matrices.rows[panel.rows, np.newaxis], matrices.columns
            scaled = np.logical_or(*(np.isin(each, (Kind.WHOLE, Kind.SCALED)) for each in kinds))
            largest = error.max(initial=0.0, where=~scaled)
        return float(largest)

    def _mismatch(
        self,
        panel: Panel,
        c: NDArray[Any],
        wrong: NDArray[np.bool_],
        expected: NDArray[np.float64],
        got: NDArray[np.float64],
        allowed: NDArray[np.float64],
    ) -> tuple[NDArray[np.intp], Mismatch]:
        """Return the places of wrong elements, and the first of these, an ordinary one if there is any."""
        index, column = np.nonzero(wrong)
        unwritten = is_poison(c[panel.rows[index], column]) & (not self.problem.accumulate)
        size = np.abs(expected[index, column])
        ordinary = unwritten | ~np.isfinite(size) | ((size >= LEAST_ORDINARY) & (size <= MOST_ORDINARY))
        first = int(np.argmax(ordinary))  # the very first where none is ordinary
        at = int(index[first]), int(column[first])
        right, left, bound = (float(each[at]) for each in (expected, got, allowed))
        place = int(panel.rows[at[0]]), at[1]
        mismatch = Mismatch(*place, right, left, bool(unwritten[first]), self.problem.output, bound)
        return np.column_stack((panel.rows[index], column)), mismatch
