"""The judgement of one product."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mmcore.errors import InvalidProblem
from mmcore.verify.tolerance import Tolerance, tolerance, hides_a_term
from mmcore.verify.inputs import Matrices
from mmcore.verify.poison import is_poison
from mmcore.verify.projections import PROJECTIONS, suspect_rows
from mmcore.verify.reference import Panel, panels
from mmcore.verify.storage import stored, widen
from mmcore.verify.verification import Mismatch, Verification
from mmcore.kernel.dtypes import dtype_named
from mmcore.kernel.problem import Problem

FULL_REFERENCE_FLOPS = 2e10
"""Up to this many operations every element is compared; 2048³, which is 1.7e10, takes a fraction of a second."""

SAMPLED_ROWS = 32

# As many elements as tell their root mean square from chance.
_MANY = 64


def verify_product(
    problem: Problem,
    accumulator: str,
    matrices: Matrices,
    c: NDArray[Any],
    *,
    entropy: int | None = None,
    full_flops: float | None = None,
) -> Verification:
    """Whether ``c`` is the product that ``problem`` asks for, by the bound of :mod:`mmcore.verify.tolerance`.

    Every element is compared with a float64 reference, unless that takes more operations than ``full_flops``. Then
    32 rows are compared, in full width, and all others by random projections (:mod:`mmcore.verify.projections`);
    the rows that the projections suspect are compared too, up to the first that is wrong.

    Args:
        problem: the product.
        accumulator: type that the kernel sums in, which the bound depends on.
        matrices: the inputs as :func:`mmcore.verify.inputs.draw` made them, C with its value before the launch.
        c: what the kernel left: m×n, any strides, storage type of ``problem.output`` (or ml_dtypes' bfloat16).
        entropy: seed of the sampled rows and projections; fresh by default, so that no kernel can foresee them.
        full_flops: up to how many operations every element is compared; :data:`FULL_REFERENCE_FLOPS` when None.

    Raises:
        InvalidProblem: for a ``c`` of another shape or type, or an unknown accumulator.
    """
    if c.shape != (problem.m, problem.n):
        raise InvalidProblem(f"C is {problem.m}×{problem.n}, but the array to judge has the shape {c.shape}")
    elements = stored(c, problem.output)
    note = _what_hides(problem, accumulator)
    bound = tolerance(problem, accumulator)

    def compare(rows: NDArray[np.intp]) -> Iterator[_Comparison]:
        return (_compare(problem, bound, panel, elements) for panel in panels(problem, matrices, rows))

    if problem.flops <= (FULL_REFERENCE_FLOPS if full_flops is None else full_flops) or problem.m <= SAMPLED_ROWS:
        return _verdict(list(compare(np.arange(problem.m))), f"every element against float64{note}")
    rng = np.random.default_rng(entropy)
    sampled = sampled_rows(problem.m, rng)
    comparisons = list(compare(sampled))
    suspects = suspect_rows(problem, accumulator, matrices, elements, rng)
    known = _first_mismatch(comparisons)
    for comparison in compare(suspects if known is None else suspects[suspects < known.row]):
        comparisons.append(comparison)
        if comparison.mismatch:
            break
    projections = f"{PROJECTIONS} random projections of every row"
    return _verdict(comparisons, f"{len(sampled)} rows against float64 and {projections}{note}")


def _what_hides(problem: Problem, accumulator: str) -> str:
    """What the verification cannot promise: that no term is missing, where a sum's own rounding is as large as one."""
    if not hides_a_term(problem, accumulator):
        return ""
    narrowest = max((dtype_named(name) for name in (accumulator, problem.output)), key=lambda type: type.unit_roundoff)
    return f", but one term of {problem.k} can hide in the rounding of {narrowest.name}"


def sampled_rows(m: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """:data:`SAMPLED_ROWS` rows of m, ascending: the ends, both sides of tile boundaries, and random ones.

    For each tile height 8, 16, … 128 one random boundary is taken: violations like to sit where tiles meet.
    """
    chosen = {0, m - 1}
    for tile in (8, 16, 32, 64, 128):
        if tile < m:
            boundary = tile * int(rng.integers(1, (m - 1) // tile + 1))
            chosen |= {boundary - 1, boundary}
    others = (int(row) for row in rng.permutation(m) if row not in chosen)
    return np.array(sorted(chosen | {next(others) for _ in range(SAMPLED_ROWS - len(chosen))}))


class _Comparison(NamedTuple):
    """Some rows of C compared: the largest error, NaN or infinite where an element is not finite, and what is wrong."""

    largest: float
    compared: int
    wrong: int = 0
    mismatch: Mismatch | None = None


def _compare(problem: Problem, bound: Tolerance, panel: Panel, c: NDArray[Any]) -> _Comparison:
    """Compare the panel's rows of C with it."""
    got = widen(c[panel.rows], problem.output)
    with np.errstate(invalid="ignore"):  # a signalling NaN is as wrong as any
        error = np.abs(got - panel.product)
        allowed = bound(panel.product, panel.magnitude)
        wrong = np.flatnonzero(~(error <= allowed))
        if not wrong.size and error.size >= _MANY and math.isfinite(bound.together):
            together = bound.together * panel.magnitude.astype(np.float64)
            if np.square(error).sum() >= np.square(together).sum():
                wrong, allowed = np.flatnonzero(error >= together), together
    if not wrong.size:
        return _Comparison(float(error.max()), error.size)
    index, column = divmod(int(wrong[0]), problem.n)
    row = int(panel.rows[index])
    mismatch = Mismatch(
        row,
        column,
        expected=float(panel.product[index, column]),
        got=float(got[index, column]),
        unwritten=not problem.accumulate and bool(is_poison(c[row, column : column + 1])[0]),
        output=problem.output,
        allowed=float(allowed[index, column]),
    )
    return _Comparison(float(error.max()), error.size, wrong.size, mismatch)


def _first_mismatch(comparisons: Sequence[_Comparison]) -> Mismatch | None:
    """The one in the lowest row."""
    mismatches = [comparison.mismatch for comparison in comparisons if comparison.mismatch]
    return min(mismatches, key=lambda mismatch: mismatch.row, default=None)


def _verdict(comparisons: Sequence[_Comparison], method: str) -> Verification:
    largest = float(np.max([comparison.largest for comparison in comparisons]))
    mismatch = _first_mismatch(comparisons)
    return Verification(
        verified=mismatch is None,
        max_error=largest if math.isfinite(largest) else None,
        mismatch=mismatch,
        method=method,
        wrong=sum(comparison.wrong for comparison in comparisons),
        compared=sum(comparison.compared for comparison in comparisons),
    )
