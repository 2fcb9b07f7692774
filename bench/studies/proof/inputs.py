"""Inputs of five kinds for a product in which nothing overflows and nothing is lost by underflow.

A proof's bound assumes both. Each product of elements is a normal number of every type that sums are rounded to, and a
sum of k of the largest is in their range. A sum that cancels may then be subnormal: it is rounded by at most the unit
roundoff times the least normal number, which is less than |A|·|B|. Where the code flushes subnormal numbers to zero,
products are larger by the inverse of the unit roundoff.
"""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mmcore.kernel.problem import DType, Problem, accumulator_named, dtype_named
from mmcore.verify.elements import narrow, widen
from mmcore.verify.inputs import Matrices, bits_and_sign, draw

KINDS = ("usual", "positive", "constant", "cancelling", "wide")
"""Magnitudes in [0.5, 1), or any whole numbers; of one sign; the same in a row of A and in a column of B; in pairs of
terms that cancel; of all exponents that neither overflow nor underflow."""

_CONVERSIONS = re.compile(r"\bcvt\.[\w.]*?(tf32|bf16|f16|e4m3|e5m2)(?:x2)?\.")
_PARTS = 24  # a number that is split has a part that is smaller by so many powers of two


def drawn(kind: str, problem: Problem, accumulator: str, ptx: str, seed: int) -> Matrices:
    """Return inputs of a kind for a kernel with this PTX and this type of its sums."""
    matrices, rng = draw(problem, seed), np.random.default_rng(seed)
    a, b, dtype = matrices.a, matrices.b, dtype_named(problem.dtype)
    match kind:
        case "positive":
            for matrix in (a, b):
                negative = widen(matrix, dtype.name) < 0
                matrix[negative] = _negated(matrix[negative], dtype)
        case "constant":
            a[:], b[:] = a[:, :1], b[:1]
        case "cancelling":
            one, other = np.split(rng.permutation(problem.k)[: problem.k // 2 * 2], 2)
            a[:, other], b[other] = a[:, one], _negated(b[one], dtype)
        case "wide" if dtype.is_integer:
            for matrix in (a, b):
                matrix >>= rng.integers(8 * dtype.itemsize, size=matrix.shape).astype(matrix.dtype)
        case "wide":
            low, high = exponents(problem, accumulator, ptx)
            for matrix in (a, b):
                least, most = np.sort(rng.integers(low, high, 2, endpoint=True))
                scales = rng.integers(least, most, matrix.shape, endpoint=True)
                matrix[:] = narrow(np.ldexp(widen(matrix, dtype.name), scales), dtype.name)
    return matrices


def exponents(problem: Problem, accumulator: str, ptx: str) -> tuple[int, int]:
    """Return the range of powers of two that may scale numbers in [0.5, 1); (0, 0) if none may."""
    dtype, flushes = dtype_named(problem.dtype), ".ftz" in ptx
    factors = [abs(factor) for factor in (problem.alpha, problem.beta) if factor]
    room, loss = math.ceil(math.log2(max(1, *factors))), math.ceil(-math.log2(min(1, *factors)))
    lows, highs = [dtype.exponents[0] + 1], [dtype.exponents[1]]
    for part in map(dtype_named, set(_CONVERSIONS.findall(ptx))):
        if part.unit_roundoff > dtype.unit_roundoff:
            lows.append(part.exponents[0] + _PARTS)
            highs.append(part.exponents[1])
    for each in (accumulator_named(accumulator), dtype_named(problem.output)):
        least = each.exponents[0] + loss - (math.log2(each.unit_roundoff) if flushes else 0)
        lows.append(math.ceil(least / 2) + 1)
        highs.append((each.exponents[1] - math.ceil(math.log2(problem.k + 1)) - room) // 2)
    low, high = max(lows), min(highs)
    return (low, high) if low <= 0 <= high else (0, 0)


def _negated(numbers: NDArray[Any], dtype: DType) -> NDArray[Any]:
    """Return a copy of numbers with the other sign; of whole numbers, -1 - x, which is in the range of x."""
    if dtype.is_integer:
        return np.asarray(~numbers)
    changed = numbers.copy()
    bits, sign = bits_and_sign(changed)
    bits ^= sign
    return changed
