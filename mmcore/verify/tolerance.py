"""How far a right product may lie from the reference.

Per element,

    |C - ref| <= 2·√k·(u + u64)·(|A|·|B|),

with u the unit roundoff of the kernel's accumulator and u64 = 2⁻⁵³ that of the float64 reference, which has rounding
errors of its own: they are lost in u except for a float64 kernel, and then both sides get the same allowance. When
accumulating, C's old value is one more term: √(k + 1), and |A|·|B| + |C0|. When C is stored in a narrower type than
the accumulator, storing it rounds once more: that adds u_out·|ref|, or half a subnormal's spacing.

A right kernel is never refused. Whatever the order of summation, each term goes through k roundings at most, so that
the error is below k·u·(|A|·|B|) (Jeannerod and Rump 2013), which is inside the bound up to k = 4. Beyond that the
roundings of the random signs that :func:`mmcore.verify.inputs.draw` draws would have to conspire. Adding such terms
one after another, the slowest way to a good sum, is typically off by 0.41·u times each partial sum 0.58·√i, which
makes 0.17·k·u in all (root mean square), where the bound is 2·√k·u·0.56·k = 1.1·k·√k·u: 6.6·√k standard deviations.
A tensor core that truncates its accumulator every 8 terms errs by 0.03·k·√k·u.

One dropped or doubled term is always caught. It moves C by at least 0.25 from a value that is itself within the
bound, so that it is caught wherever twice the bound is less than 0.25. For a float32 accumulator and k = 8192 the
bound is 2·√8192·2⁻²⁴·8192 = 0.088 were every |a·b| to reach its limit of 1, and 0.050 at their mean of 0.56: twice
that is 0.18 at worst, 0.10 typically. (It is 0.25 at k = 10321.) A float16 accumulator keeps the promise up to k = 25
only, a bfloat16 one up to k = 6. In a C narrower than the accumulator a term can hide in the rounding of C itself: from
|ref| = 150 in float16, which is rare (√k·0.58 = 53 is typical for k = 8192), and from |ref| = 20 in bfloat16, which is
not. :func:`hides_a_term` says where.

In a narrow accumulator the bound outgrows C itself: 1.1·k·√k·u is as much as C's 0.58·√k from k·u = 0.5 on, which is
k = 132 in bfloat16. So that a C of nothing is never right, the errors of many elements together, root mean square, must
be less than half of the elements themselves. A sum that is off by 0.17·k·u errs by half of C's size from √k·u = 1.7 on:
k = 190000 in bfloat16.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mmcore.kernel.dtypes import dtype_named
from mmcore.kernel.problem import Problem

SAFETY = 2.0
"""The constant in front of √k·u·(|A|·|B|)."""

REFERENCE_ROUNDOFF = dtype_named("float64").unit_roundoff

# Of a term a·b, a and b of random signs and magnitudes in [0.5, 1): the least, the mean and the root mean square.
_SMALLEST_TERM, _MEAN, _TYPICAL = 0.25, 0.5625, 7 / 12

_LEAST_NORMAL = {"float16": 2.0**-14, "bfloat16": 2.0**-126, "float32": 2.0**-126}


@dataclass(frozen=True)
class Tolerance:
    """The bound of one problem and accumulator, element by element.

    Attributes:
        summing: factor of |A|·|B| (+ |C0|), for the roundings of the sum.
        storing: factor of |ref|, for rounding the sum into C; 0 where C holds what the accumulator holds.
        least: what storing can do to a number too small to be normal.
        together: factor of |A|·|B| (+ |C0|), root mean square, for the errors of many elements together; infinite where
            no error within the bound reaches it.
    """

    summing: float
    storing: float
    least: float
    together: float

    def __call__(self, reference: NDArray[np.float64], magnitude: NDArray[Any]) -> NDArray[np.float64]:
        """Largest |C - reference| allowed; ``magnitude`` is |A|·|B| (+ |C0|), both of one shape."""
        allowed = self.summing * magnitude.astype(np.float64)
        if self.storing:
            allowed *= 1 + self.storing
            allowed += np.maximum(self.storing * np.abs(reference), self.least)
        return allowed


def tolerance(problem: Problem, accumulator: str) -> Tolerance:
    """The bound for ``problem`` summed in the type ``accumulator``.

    Raises:
        InvalidProblem: for an unknown accumulator type.
    """
    summing = SAFETY * math.sqrt(problem.k + problem.accumulate) * accumulator_roundoff(accumulator)
    storing = storing_roundoff(problem, accumulator)
    # |A|·|B| is a sum of magnitudes, C one of random signs.
    half = 0.5 * _TYPICAL / (_MEAN * math.sqrt(problem.k + problem.accumulate))
    together = half if summing > half else math.inf
    return Tolerance(summing, storing, storing * _LEAST_NORMAL.get(problem.output, 0.0), together)


def hides_a_term(problem: Problem, accumulator: str) -> bool:
    """Whether a product can lack a term and be within the bound, as its rounding may be as large as the term."""
    bound = tolerance(problem, accumulator)
    # Hardly any element is larger than four times what is typical.
    allowed = bound.summing * problem.k + bound.storing * 4 * _TYPICAL * math.sqrt(problem.k)
    return 2 * allowed >= _SMALLEST_TERM


def accumulator_roundoff(accumulator: str) -> float:
    """Unit roundoff of the kernel's sum and the reference's together."""
    return dtype_named(accumulator).unit_roundoff + REFERENCE_ROUNDOFF


def storing_roundoff(problem: Problem, accumulator: str) -> float:
    """Unit roundoff of storing the sum in C; 0 where C's type is no narrower than the accumulator."""
    output = dtype_named(problem.output).unit_roundoff
    return output if output > dtype_named(accumulator).unit_roundoff else 0.0
