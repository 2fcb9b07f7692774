"""The tolerance of one element of C.

    |C - R| <= 2·√k·(u + 2⁻⁵³)·(|A|·|B|)

R is the float64 reference and u the unit roundoff of the accumulator. Any order of summation stays inside; a dropped or
doubled term, 0.25 at least, does not (up to k = 10321 in float32). docs/verification.md derives the numbers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mmcore.kernel.problem import FLOAT22, DType, Problem, accumulator_named, dtype_named, terms_until_promoted

_SAFETY = 2.0
# Each level of Strassen's algorithm in Winograd's form multiplies the bound, which is of the largest elements, by 18/4
# (Higham, Accuracy and Stability of Numerical Algorithms, 23.2.2); three levels are allowed for.
_STRASSEN = (18 / 4) ** 3
_LAST_BITS = 4.0  # units, of numbers that the accumulator does not hold
PARTS = "parts"
"""The algorithm by which tensor cores multiply float32 numbers in parts: big·big + big·small + small·big."""
_NEARLY = 0.9  # of the largest number of a type, where rounding may lead beyond it
# Two parts of TF32 that are cut off lack up to 6 units, and a product of such 2·6 and another 16 for small·small. A sum
# of three products is cut off three times as often.
_LAST_BITS_OF_PARTS, _TERM_OF_PARTS, _PRODUCTS_OF_PARTS = 6.0, 28.0, 3.0
# Of a term a·b, a and b of random signs and magnitudes in [0.5, 1): the least, the mean and the root mean square.
_SMALLEST_TERM, _MEAN, _TYPICAL = 0.25, 0.5625, 7 / 12
# Tensor cores cut the sum off once for so many terms, each where the largest is: it counts alone if they differ much.
_TERMS_AT_ONCE = 32  # in float22


@dataclass(frozen=True)
class Tolerance:
    """The tolerance of one problem and accumulator, element by element.

    Attributes:
        summing: factor of |A|·|B| (+ |C0|), for the roundings of the sum.
        storing: factor of |R|, for rounding the sum into C; 0 where C holds what the accumulator holds.
        least: the errors of summing and storing in numbers too small to be normal.
        last_bits: factor of |R| where R is a single term times 1; 0 where that is copied exactly.
        scattered: factor of |A|·|B| for terms of very different magnitudes.
        largest: the |A|·|B| (+ |C0|) from which the sum may overflow.
        magnitude: k·max|A|·max|B| instead of |A|·|B| if the bound is norm-wise, else 0.
        together: factor of |A|·|B| (+ |C0|), root mean square, for the errors of many elements together. It is half
            of C's size, so that zeros are never right; infinite where ``summing`` is less than that anyway.
    """

    summing: float
    storing: float
    least: float
    together: float
    last_bits: float
    scattered: float
    largest: float = math.inf
    magnitude: float = 0.0

    def __call__(self, reference: NDArray[np.float64], magnitude: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the largest |C - R| allowed; ``magnitude`` is |A|·|B| (+ |C0|), both of one shape."""
        allowed = self.summing * (np.maximum(magnitude, self.magnitude) if self.magnitude else magnitude)
        if self.storing:
            allowed *= 1 + self.storing
            allowed += self.storing * np.abs(reference)
        return np.asarray(allowed + self.least)

    def selected(self, reference: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the largest |C - R| allowed if R is a single term times 1."""
        relative = self.last_bits + self.storing
        return np.asarray(relative * np.abs(reference) + (self.least if relative else 0))


def tolerance(problem: Problem, accumulator: str, algorithm: str = "", quantum: float = 0.0) -> Tolerance:
    """Return the tolerance for ``problem`` summed in ``accumulator``. Raises InvalidProblem for an unknown type.

    The tolerance of Strassen's ``algorithm`` is for matrices with elements below 1. Products and sums below ``quantum``
    may be lost.
    """
    strassen, parts = algorithm == "strassen", algorithm == PARTS
    # A factor other than 1 is rounded, and so is what it multiplies.
    scaled = 2 * ((problem.alpha, problem.beta) not in ((1, 0), (1, 1)))
    summed = terms_until_promoted(accumulator, problem.k)
    at_once = min(summed, _TERMS_AT_ONCE if accumulator.startswith(FLOAT22.name) else 1)
    root = math.sqrt(math.ceil(summed / at_once) + problem.accumulate)
    terms = max(_SAFETY * root, _TERM_OF_PARTS * parts)
    summing = (terms + scaled) * accumulator_roundoff(accumulator) * (_STRASSEN if strassen else 1)
    storing = storing_roundoff(problem, accumulator)
    # |A|·|B| is a sum of magnitudes, C one of random signs.
    half = 0.5 * _TYPICAL / (_MEAN * math.sqrt(math.ceil(problem.k / at_once) + problem.accumulate))
    # Each rounding of a subnormal number errs by half the distance between two, as between the least normal ones.
    roundings = (problem.k + problem.accumulate + scaled + 1) * max(1.0, abs(problem.alpha))
    rounding = accumulator_roundoff(accumulator) * 2.0 ** accumulator_named(accumulator).exponents[0]
    least = roundings * max(rounding, quantum) + storing * 2.0 ** dtype_named(problem.output).exponents[0]
    unit, copied = accumulator_named(accumulator).unit_roundoff, dtype_named(problem.dtype).unit_roundoff
    last_bits = ((_LAST_BITS_OF_PARTS if parts else _LAST_BITS if unit > copied else 0) + scaled) * unit
    largest = min(_largest(accumulator_named(accumulator)), _largest(dtype_named(problem.output)))
    together = half if summing > half else math.inf
    scattered = math.sqrt(at_once) * (_PRODUCTS_OF_PARTS if parts else 1)
    largest *= min(1.0, abs(problem.alpha))
    return Tolerance(summing, storing, least, together, last_bits, scattered, largest, problem.k * strassen)


def hides_a_term(problem: Problem, accumulator: str, algorithm: str = "") -> bool:
    """Return whether a product can lack a term and be within the tolerance, as its rounding may be that large."""
    bound = tolerance(problem, accumulator, algorithm)
    # C's old value is one more term; hardly any element is larger than four times a typical one.
    before = abs(problem.beta / problem.alpha)
    allowed = bound.summing * (problem.k + before) + bound.storing * 4 * _TYPICAL * math.sqrt(problem.k + before**2)
    return 2 * allowed >= _SMALLEST_TERM


def _largest(dtype: DType) -> float:
    """Return a magnitude that a sum of smaller ones cannot exceed in a type."""
    # The largest number of e4m3 is 448.
    share = 1.0 if dtype.is_integer else 0.875 * _NEARLY if dtype.itemsize == 1 else _NEARLY
    return math.ldexp(share, dtype.exponents[1]) * 2  # not beyond float64


def accumulator_roundoff(accumulator: str) -> float:
    """Return the unit roundoff of the kernel's sum and the float64 reference's together."""
    return accumulator_named(accumulator).unit_roundoff + dtype_named("float64").unit_roundoff


def storing_roundoff(problem: Problem, accumulator: str) -> float:
    """Return the unit roundoff of storing the sum in C; 0 if C's type is no narrower than the accumulator."""
    output = dtype_named(problem.output).unit_roundoff
    return output if output > accumulator_named(accumulator).unit_roundoff else 0.0
