"""A second computation of right products: by numpy in float64, with the tolerance of docs/verification.md."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mmcore.kernel.problem import Problem, dtype_named
from mmcore.verify.input_kinds import Kind
from mmcore.verify.inputs import Matrices
from mmcore.verify.tolerance import tolerance
from tests.narrowing import wide

# The unit roundoff of each type, and the exponent of its least normal number.
_ROUNDINGS = {
    "float16": (2.0**-11, -14),
    "bfloat16": (2.0**-8, -126),
    "float22": (2.0**-13, -126),
    "float32": (2.0**-24, -126),
    "float64": (2.0**-53, -1022),
    "float8_e4m3fn": (2.0**-4, -6),
    "float8_e5m2": (2.0**-3, -14),
    "int32": (0.0, 0),
}
# An upper limit of the tolerance that mmcore adds for subnormal float64 numbers.
LEAST = 1e-300
_TERMS_AT_ONCE = {"float22": 32}


@dataclass(frozen=True, eq=False)
class Truth:
    """The right elements of C.

    Attributes:
        product: the float64 product, m×n.
        bound: the largest distance of a right element from it, m×n.
        close: the same, or less where the inputs allow only smaller errors; infinite where the sum may overflow.
        margin: share of the bound within which two float64 products may disagree about an element.
    """

    product: NDArray[np.float64]
    bound: NDArray[np.float64]
    close: NDArray[np.float64]
    margin: float

    def wrong(self, c: NDArray[np.float64]) -> bool:
        """Return whether some element is certainly too far off, or NaN."""
        with np.errstate(invalid="ignore"):
            near = np.abs(c - self.product) <= (1 + self.margin) * self.close + LEAST
            return bool((~near & np.isfinite(self.close)).any())

    def right(self, c: NDArray[np.float64]) -> bool:
        """Return whether every element is certainly near enough."""
        with np.errstate(invalid="ignore"):
            near = np.abs(c - self.product) <= (1 - self.margin) * self.close
            return bool((near | np.isinf(self.close)).all())


def truth_of(problem: Problem, accumulator: str, matrices: Matrices) -> Truth:
    """Return the right product of some matrices."""
    a, b = (wide(matrix, problem.dtype) for matrix in (matrices.a, matrices.b))
    alpha, beta = problem.alpha, problem.beta
    product, magnitude = alpha * (a @ b), abs(alpha) * (np.abs(a) @ np.abs(b))
    if beta:
        old = beta * wide(matrices.c, problem.output)
        product, magnitude = product + old, magnitude + np.abs(old) * (1 + math.sqrt(problem.k) / 8)
    # Such sums may overflow in a right product.
    overflowing = magnitude >= tolerance(problem, accumulator).largest
    summed_in, _, promoted = accumulator.partition("/")
    (roundoff, least_exponent), (storing, least_stored) = _ROUNDINGS[summed_in], _ROUNDINGS[problem.output]
    storing = storing if storing > roundoff else 0.0
    at_once = min(problem.k, _TERMS_AT_ONCE.get(summed_in, 1))
    terms = math.ceil(min(problem.k, int(promoted or problem.k)) / at_once) + (beta != 0)
    if matrices.rows is not None and matrices.columns is not None:
        # All terms of a step are truncated at the largest, which may be most of them where magnitudes vary.
        scattered = np.isin(matrices.rows, (Kind.SCALED, Kind.TINY))[:, np.newaxis]
        scattered = scattered | np.isin(matrices.columns, (Kind.SCALED, Kind.TINY))
        magnitude[scattered] *= math.sqrt(at_once)
    # A factor other than 1 is rounded, and so is its product.
    scaled = 2 * ((alpha, beta) not in ((1, 0), (1, 1)))
    bound = (2 * math.sqrt(terms) + scaled) * (roundoff + 2.0**-53) * magnitude
    bound = bound * (1 + storing) + storing * np.maximum(np.abs(product), 2.0**least_stored)
    roundings = problem.k + 1 + (beta != 0) + scaled
    least = roundings * max(1.0, abs(alpha)) * roundoff * 2.0**least_exponent if accumulator != "float64" else 0.0
    bound = bound + least
    close = bound.copy()
    if matrices.rows is not None and matrices.columns is not None:
        units = (matrices.rows == Kind.UNIT)[:, np.newaxis] | (matrices.columns == Kind.UNIT)
        if not beta:
            copied = roundoff <= 2.0**-53 or roundoff <= dtype_named(problem.dtype).unit_roundoff
            last_bits = (4 * (not copied) + scaled) * roundoff + storing
            near = last_bits * np.abs(product) + (least + storing * 2.0**least_stored if last_bits else 0)
            close[units] = np.minimum(close, near)[units]
        if (alpha, beta) == (1, 1) or (not beta and abs(alpha) >= 2.0**-7 and math.log2(abs(alpha)) % 1 == 0):
            close[np.ix_(matrices.rows == Kind.WHOLE, matrices.columns == Kind.WHOLE)] = 0
        overflowing &= np.logical_or(
            np.isin(matrices.rows, (Kind.WHOLE, Kind.SCALED))[:, np.newaxis],
            np.isin(matrices.columns, (Kind.WHOLE, Kind.SCALED)),
        )
    close[overflowing] = bound[overflowing] = math.inf
    # The roundings of a float64 product are a large part of the bound of a float64 kernel.
    return Truth(product, bound, close, 0.4 if accumulator == "float64" else 1e-6)
