"""Whether a product is right, found out a second way: by numpy in float64 and the tolerance in docs/verification.md."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mmcore.kernel.problem import Problem
from mmcore.verify.elements import widen
from mmcore.verify.inputs import Kind, Matrices

_ROUNDOFF = {"float16": 2.0**-11, "bfloat16": 2.0**-8, "float32": 2.0**-24, "float64": 2.0**-53}
_LEAST_NORMAL = {"float16": 2.0**-14, "bfloat16": 2.0**-126, "float32": 2.0**-126, "float64": 2.0**-1022}


@dataclass(frozen=True, eq=False)
class Truth:
    """What C must be, element by element.

    Attributes:
        product: the float64 product, m×n.
        bound: how far from it a right element may lie, m×n.
        close: the same, or less where the inputs are such that a right element lies closer.
        margin: share of the bound within which two float64 products need not agree on an element.
    """

    product: NDArray[np.float64]
    bound: NDArray[np.float64]
    close: NDArray[np.float64]
    margin: float

    def wrong(self, c: NDArray[np.float64]) -> bool:
        """Whether some element is certainly too far off, or no number."""
        with np.errstate(invalid="ignore"):
            return bool((~(np.abs(c - self.product) <= (1 + self.margin) * self.bound)).any())

    def right(self, c: NDArray[np.float64]) -> bool:
        """Whether every element is certainly near enough."""
        return bool((np.abs(c - self.product) <= (1 - self.margin) * self.close).all())


def truth_of(problem: Problem, accumulator: str, matrices: Matrices) -> Truth:
    """What the product of these matrices must be."""
    a, b = (widen(matrix, problem.dtype) for matrix in (matrices.a, matrices.b))
    product, magnitude, terms = a @ b, np.abs(a) @ np.abs(b), problem.k
    if problem.accumulate:
        old = widen(matrices.c, problem.output)
        product, magnitude, terms = product + old, magnitude + np.abs(old), terms + 1
    bound = 2 * math.sqrt(terms) * (_ROUNDOFF[accumulator] + _ROUNDOFF["float64"]) * magnitude
    storing = _ROUNDOFF[problem.output]
    if storing > _ROUNDOFF[accumulator]:
        bound = bound * (1 + storing) + storing * np.maximum(np.abs(product), _LEAST_NORMAL[problem.output])
    # mmcore sums |A|·|B| in float32, and adds what that can be off by. A float64 product has roundings of its own,
    # which make up a good part of the bound of a float64 kernel.
    margin = 1e-6 + 3 * (terms + 3) * _ROUNDOFF["float32"]
    least = (terms + 1) * _ROUNDOFF[accumulator] * _LEAST_NORMAL[accumulator] if accumulator != "float64" else 0.0
    bound = bound + least
    close = bound.copy()
    if matrices.rows is not None and matrices.columns is not None:
        units = (matrices.rows == Kind.UNIT)[:, np.newaxis] | (matrices.columns == Kind.UNIT)
        if not problem.accumulate:
            last_bits = 4 * _ROUNDOFF[accumulator] + (storing if storing > _ROUNDOFF[accumulator] else 0)
            close[units] = np.minimum(close, last_bits * np.abs(product) + least)[units]
        close[np.ix_(matrices.rows == Kind.WHOLE, matrices.columns == Kind.WHOLE)] = 0
    return Truth(product, bound, close, 0.4 if accumulator == "float64" else margin)


def widened(problem: Problem, c: NDArray[Any]) -> NDArray[np.float64]:
    """C as numbers."""
    with np.errstate(invalid="ignore"):
        return widen(c, problem.output)
