"""The kinds of rows of A and columns of B, and their numbers."""

from __future__ import annotations

import math
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mmcore.kernel.problem import DType, Problem, accumulator_named, dtype_named
from mmcore.verify.elements import narrow

# How many powers of two scale down single SCALED numbers.
_SPREAD = {"float16": 4, "float8_e5m2": 12, "float8_e4m3fn": 7}
# The types whose subnormal numbers all hardware computes with exactly, and the bits of their fractions.
SUBNORMAL_BITS = {"float16": 10, "float32": 23, "float8_e4m3fn": 3, "float8_e5m2": 2}
_LARGEST_E4M3 = 448.0
# How often a column of whole numbers is of one number.
_CONSTANT = 0.1


class Kind(IntEnum):
    """The kind of the numbers in a row of A or a column of B."""

    UNIFORM = 0  # magnitudes in [0.5, 1), as of mmcore.verify.inputs.draw; half of such columns are of one sign
    WHOLE = 1  # whole numbers, so few and small that the sum of a row's and a column's is exact; times 2^e each
    UNIT = 2  # one number of magnitude 1, and zeros
    SCALED = 3  # uniform numbers, scaled by one power of two each, and by a common one
    ZERO = 4
    SUBNORMAL = 5
    ONE_SIGN = 6  # some uniform numbers of one sign, and zeros
    TINY = 7  # normal numbers whose exponents are in the lower quarter of the type's range


def _least_exact(dtype: DType, *, flushes: bool) -> int:
    """Return the least power of two with exact multiples: subnormal in 16 bits or less, unless the kernel flushes."""
    subnormal = SUBNORMAL_BITS.get(dtype.name, 0) if dtype.itemsize < 4 and not flushes else 0
    return dtype.exponents[0] - subnormal


def scale_ranges(
    problem: Problem, accumulator: str, bits: int, rng: np.random.Generator, *, flushes: bool
) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return the least and largest power of two of A's rows, and of B's columns, of whole numbers of some bits.

    Each range is at a random place among the type's exponents. The sum of one power of each is in the range of the
    accumulator and C. A quarter of that range above is left to kernels that scale numbers themselves.
    """
    dtype, sums = dtype_named(problem.dtype), (accumulator_named(accumulator), dtype_named(problem.output))
    factors = [abs(factor) for factor in (problem.alpha, problem.beta) if factor]
    room, loss = math.ceil(math.log2(max(1, *factors))), math.ceil(-math.log2(min(1, *factors)))
    top = min((each.exponents[1] + 1) // 2 - 4 for each in sums) - room
    low = max(_least_exact(each, flushes=flushes) for each in sums) + loss
    least = max(_least_exact(dtype, flushes=flushes), low)
    most = min(dtype.exponents[1] + 1 - bits, *(each.exponents[1] - room for each in sums))
    if dtype.exponents[1] > 15:
        most = min(most, (dtype.exponents[1] + 1) // 2 - 4)
    most = max(least, most)
    middle, reach = (low + top) // 2, max(0, (top - low) // 4)
    first, last = max(least + reach, middle - most + reach), min(most - reach, middle - least - reach)
    centre = int(rng.integers(*((first, last) if first <= last else (least, most)), endpoint=True))
    of_rows, of_columns = (
        [max(least, at - reach), min(most, at + reach)] for at in (centre, min(most, max(least, middle - centre)))
    )
    of_columns[0] = max(of_columns[0], low - of_rows[0])
    return (of_rows[0], max(of_rows)), (of_columns[0], max(of_columns))


class WholeNumbers:
    """Whole numbers whose sum of products has no more bits than the narrowest significand on its way.

    Attributes:
        bits: the most bits of a number.
    """

    def __init__(self, problem: Problem, accumulator: str, rng: np.random.Generator) -> None:
        self._problem, self._rng = problem, rng
        narrowest = max(accumulator_named(accumulator).unit_roundoff, dtype_named(problem.output).unit_roundoff)
        self._sum = round(1 / narrowest)
        terms = problem.k + problem.accumulate
        largest = max(1, math.isqrt(self._sum // terms))
        (self._patterns,) = rng.spawn(1)
        self._signs = self._patterns.choice(np.array([-1, 1], np.int32), size=problem.k)
        self._largest = min(largest, round(1 / dtype_named(problem.dtype).unit_roundoff), 2**26)
        self.bits = self._largest.bit_length()

    def of(self, shape: tuple[int, int], scales: NDArray[np.int64]) -> NDArray[Any]:
        """Return rows of numbers other than 0, times powers of two."""
        return self._scaled(self._nonzero(shape), scales)

    def _scaled(self, numbers: NDArray[Any], scales: NDArray[np.int64]) -> NDArray[Any]:
        return narrow(np.ldexp(numbers, scales[:, np.newaxis]), self._problem.dtype)

    def _nonzero(self, shape: tuple[int, int]) -> NDArray[Any]:
        numbers = self._rng.integers(-self._largest, self._largest, size=shape, dtype=np.int32)
        numbers += numbers >= 0
        # Where two such meet, all terms are of one sign, and the sum takes all of the bits that there are.
        alike = self._patterns.random((shape[0], 1)) < 0.5
        return np.where(alike, np.abs(numbers) * self._signs, numbers)

    def sparse(self, shape: tuple[int, int], scales: NDArray[np.int64]) -> NDArray[Any]:
        """Return rows with as many zeros as the sum needs, times powers of two."""
        numbers, most = self._nonzero(shape), self._sum - self._problem.accumulate
        # Rows of A are never of one number: truncated sums with columns of one sign would err by too much.
        numbers = np.where(self._patterns.random((shape[0], 1)) < _CONSTANT, numbers[:, :1], numbers)
        if shape[1] > most:
            for row in numbers:
                row[self._rng.permutation(shape[1])[most:]] = 0
        return self._scaled(numbers, scales)

    def added(self, scales: NDArray[np.int64]) -> NDArray[Any]:
        """Return C's old values, scaled as its rows and columns are."""
        numbers = self._rng.integers(-1, 1, size=scales.shape, endpoint=True)
        return narrow(np.ldexp(numbers, scales), self._problem.output)


class Numbers:
    """Rows of the other kinds; SCALED ones by powers of two in a range, times 2 for each of ``bits``."""

    def __init__(
        self, problem: Problem, rng: np.random.Generator, scales: tuple[int, int] = (0, 0), bits: int = 0
    ) -> None:
        self._dtype, self._rng = dtype_named(problem.dtype), rng
        self._scales, self._bits = scales, bits

    def of(self, kind: Kind, shape: tuple[int, int]) -> NDArray[Any]:
        """Return rows of a kind."""
        (rows, width), rng, least = shape, self._rng, self._dtype.exponents[0]
        numbers = np.zeros(shape)
        if kind == Kind.UNIT:
            numbers[np.arange(rows), rng.integers(width, size=rows)] = self._signs(rows)
        elif kind == Kind.ZERO:
            numbers = np.copysign(numbers, np.where(rng.random((rows, 1)) < 0.5, 1, self._signs(shape)))
        elif kind == Kind.ONE_SIGN:
            # So few that no order of the sum errs by more than the tolerance, even one that truncates.
            terms = max(1, math.isqrt(width) // 2)
            values = self._uniform((rows, terms)) * self._signs((rows, 1))
            for row, value in zip(numbers, values, strict=True):
                row[rng.choice(width, size=terms, replace=False)] = value
        elif kind == Kind.SUBNORMAL:
            bits = rng.integers(1, 2 ** SUBNORMAL_BITS[self._dtype.name], size=shape)
            sign = rng.integers(2, size=shape) << (8 * self._dtype.itemsize - 1)
            return (bits | sign).astype(f"u{self._dtype.itemsize}").view(self._dtype.storage)
        elif kind == Kind.TINY:
            return self.wide(shape, least + 1, max(least + 1, least // 2))
        elif kind == Kind.SCALED:
            e4m3 = self._dtype.name == "float8_e4m3fn"
            scale = rng.integers(*self._scales, size=(rows, 1), endpoint=True) + self._bits + e4m3
            scale = np.maximum(scale - rng.integers(_SPREAD.get(self._dtype.name, 10), size=shape), least + 1)
            numbers = np.ldexp(self._uniform(shape) * self._signs(shape), scale)
            numbers = np.clip(numbers, -_LARGEST_E4M3, _LARGEST_E4M3) if e4m3 else numbers
        return narrow(numbers, self._dtype.name)

    def wide(self, shape: tuple[int, int], low: int, high: int) -> NDArray[Any]:
        """Return rows of numbers in [2^(low - 1), 2^high), up to a random largest exponent in each row."""
        highest = self._rng.integers(low, high, size=(shape[0], 1), endpoint=True)
        exponents = self._rng.integers(low, highest, size=shape, endpoint=True)
        return narrow(np.ldexp(self._uniform(shape) * self._signs(shape), exponents), self._dtype.name)

    def _signs(self, shape: int | tuple[int, int]) -> NDArray[np.float64]:
        return self._rng.choice((-1.0, 1.0), size=shape)

    def _uniform(self, shape: tuple[int, int]) -> NDArray[np.float64]:
        """Return numbers of the type in [0.5, 1)."""
        largest = round(1 / self._dtype.unit_roundoff)
        return np.asarray(self._rng.integers(largest // 2, largest, size=shape) / largest)
