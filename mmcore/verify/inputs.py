"""The random, fresh matrices with which a kernel is verified, in which no error can hide.

Each element of C = A·B is the product of a row of A and a column of B, and each row and column is of a kind.
Rows and columns of small whole numbers make exact elements in any order of summation. A row or column of one number
and zeros copies numbers of the other matrix with all their bits.
"""

from __future__ import annotations

import math
import os
import secrets
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mmcore.errors import InvalidProblem
from mmcore.kernel.problem import Problem, accumulator_named, dtype_named
from mmcore.verify.elements import narrow, poison

# For each type, the bits of its sign and fraction, and the bits of 0.5.
_BITS = {
    "float16": (0x83FF, 0x3800),
    "bfloat16": (0x807F, 0x3F00),
    "float32": (0x807F_FFFF, 0x3F00_0000),
    "float64": (0x800F_FFFF_FFFF_FFFF, 0x3FE0_0000_0000_0000),
    "tf32": (0x807F_E000, 0x3F00_0000),
    "float8_e4m3fn": (0x87, 0x30),
    "float8_e5m2": (0x83, 0x38),
    "int8": (0xFF, 0),
    "uint8": (0xFF, 0),
}
_WORDS = 2**16  # random words drawn at a time, few enough to stay in cache


@dataclass(frozen=True, eq=False)
class Matrices:
    """A, B and C of one problem in host memory before a launch; C is poison, or any numbers, unless it is added to.

    Each is a 2-D view, in storage dtype, with a leading dimension between rows (or columns). Its ``base`` is the whole
    contiguous array, with poison in the gaps.
    """

    a: NDArray[Any]
    b: NDArray[Any]
    c: NDArray[Any]
    rows: NDArray[np.intp] | None = None  # of A, the kind of each (mmcore.verify.inputs.Kind); None: all uniform
    columns: NDArray[np.intp] | None = None  # of B, the kind of each; columns of one kind are adjacent


def fresh_seed() -> int:
    """Return a seed of 32 bits from the operating system's entropy."""
    return secrets.randbits(32)


def other_seed(seed: int) -> int:
    """Return a seed of other inputs, to verify a kernel again."""
    return seed + 1


def draw(problem: Problem, seed: int) -> Matrices:
    """Return random A and B (and C, when accumulating) for ``problem``; the same seed draws the same matrices.

    Elements have random signs, which keep C and its rounding small. Magnitudes are uniform over the dtype's numbers in
    [0.5, 1). So every term |a·b| is 0.25 at least, more than rounding can do. Whole numbers are any.

    Raises:
        InvalidProblem: the host has no memory for them.
    """
    # An allocation beyond the host's memory may succeed, and kill the process when it is written to.
    elements = {matrix: problem.stored_shape(matrix)[0] * problem.leading(matrix) for matrix in "ABC"}
    needed = sum(count * problem.dtype_of(matrix).itemsize for matrix, count in elements.items())
    present = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if needed > present:
        what = "the matrices and the gaps between their rows"
        raise InvalidProblem(f"{what} take {needed / 1e9:.1f} GB; the host has {present / 1e9:.1f} GB")
    rng = np.random.Generator(np.random.SFC64(seed))
    a, b = (_random(rng, problem, matrix) for matrix in "AB")
    if problem.accumulate:
        return Matrices(a, b, _random(rng, problem, "C"))
    count, length = problem.stored_shape("C")
    c = poison((count, problem.ldc), problem.output)
    if problem.initial_c == "zeros":
        c[:, :length] = 0
    return Matrices(a, b, _logical(problem, "C", c))


def _logical(problem: Problem, matrix: str, whole: NDArray[Any]) -> NDArray[Any]:
    """Return a matrix by rows and columns, as a view of its storage."""
    stored = whole[:, : problem.stored_shape(matrix)[1]]
    return stored.T if matrix in problem.column_major else stored


def _random(rng: np.random.Generator, problem: Problem, matrix: str) -> NDArray[Any]:
    """Keep the sign and fraction of random bits, and give all of them the exponent of 0.5."""
    named, (count, length) = problem.dtype_of(matrix), problem.stored_shape(matrix)
    width = 16 if matrix == "C" else _int32_bits(problem)
    fraction, one_half = _BITS.get(named.name, (2**width - 1, 0))
    elements = np.empty((count, problem.leading(matrix)), named.storage)
    bits = elements.reshape(-1).view(f"u{named.itemsize}")
    step = _WORDS * 8 // named.itemsize
    for start in range(0, bits.size, step):
        chunk = bits[start : start + step]
        words = rng.integers(2**64, size=-(-chunk.nbytes // 8), dtype=np.uint64)
        np.bitwise_and(words.view(bits.dtype)[: chunk.size], bits.dtype.type(fraction), out=chunk)
        chunk |= bits.dtype.type(one_half)
    if named.name == "int32":
        elements -= 2 ** (width - 1)
    elements[:, length:] = poison((1,), named.name)
    return _logical(problem, matrix, elements)


def _int32_bits(problem: Problem) -> int:
    """Return the bits of A's and B's numbers of int32, so few that no sum overflows."""
    return (32 - (problem.k - 1).bit_length()) // 2


class Kind(IntEnum):
    """The kind of the numbers in a row of A or a column of B."""

    UNIFORM = 0  # magnitudes in [0.5, 1), as of mmcore.verify.inputs.draw; half of such columns are of one sign
    WHOLE = 1  # whole numbers, so few and small that the sum of a row's and a column's is exact; rows times 2^e each
    UNIT = 2  # one number of magnitude 1, and zeros
    SCALED = 3  # uniform numbers, scaled by one power of two each, and by a common one
    ZERO = 4
    SUBNORMAL = 5
    ONE_SIGN = 6  # some uniform numbers of one sign, and zeros
    NOT_FINITE = 7  # NaN and infinities; conformance tests alone have such a row


# How often a row and a column is of each kind.
_ROWS = {
    Kind.WHOLE: 0.42,
    Kind.UNIFORM: 0.28,
    Kind.ONE_SIGN: 0.07,
    Kind.UNIT: 0.08,
    Kind.SCALED: 0.07,
    Kind.SUBNORMAL: 0.05,
    Kind.ZERO: 0.03,
}
_COLUMNS = {Kind.WHOLE: 0.48, Kind.UNIFORM: 0.36, Kind.UNIT: 0.1, Kind.SUBNORMAL: 0.04, Kind.ZERO: 0.02}
# How often there is one of whole numbers at least, however few there are.
_CERTAIN = 0.8
# How often a row or column of whole numbers is of those of greatest magnitude.
_EXTREME = 0.3
# The powers of two that scale SCALED and WHOLE rows, and how many more scale down single SCALED numbers.
_WIDE = ((-40, 60), 10)
_RANGES = {"float16": ((-8, 4), 4), "float8_e5m2": ((0, 10), 12), "float8_e4m3fn": ((1, 4), 7)}
_ROOM = {"float16": (-8, 4), "float8_e5m2": (-8, 4), "float8_e4m3fn": (-2, 0)}
# The types whose subnormal numbers all hardware computes with exactly, and the bits of their fractions.
_SUBNORMAL_BITS = {"float16": 10, "float32": 23, "float8_e4m3fn": 3, "float8_e5m2": 2}


def draw_mixed(problem: Problem, accumulator: str, seed: int, *, subnormal_bits: int = 23) -> Matrices:
    """Return A and B of mixed kinds for ``problem``, summed in the type ``accumulator``; each seed draws others.

    Columns of the same kind are adjacent, from a random start. If C is added to, it contains whole numbers in columns
    of whole numbers. A and B of int8, uint8 and int32 contain arbitrary numbers, and in some rows and columns numbers
    of the greatest magnitude. Sums in a type that is too narrow then overflow or are rounded.

    Args:
        problem: the product.
        accumulator: the type of its sums.
        seed: the seed of the random numbers.
        subnormal_bits: the bits of a subnormal number's fraction that the kernel keeps; 0 draws no subnormal numbers.

    Raises:
        InvalidProblem: the host has no memory for the matrices.
    """
    matrices, rng = draw(problem, seed), np.random.Generator(np.random.SFC64([seed, 1]))
    if dtype_named(problem.dtype).is_integer:
        most = {"int8": -128, "uint8": 255}.get(problem.dtype, -(2 ** (_int32_bits(problem) - 1)))
        room = most**2 * problem.k + 2**15 < 2**31  # else int32 might overflow as well
        for lines in (matrices.a, matrices.b.T) if room else ():
            at = np.flatnonzero(rng.random(len(lines)) < _EXTREME)
            lines[at] = most - np.sign(most) * rng.integers(2, size=(len(at), problem.k))
        return matrices
    some = subnormal_bits and problem.dtype in _SUBNORMAL_BITS
    of_rows, of_columns = (
        {kind: share for kind, share in shares.items() if some or kind != Kind.SUBNORMAL}
        for shares in (_ROWS, _COLUMNS)
    )
    rows, columns = rng.permutation(_assigned(rng, of_rows, problem.m)), _assigned(rng, of_columns, problem.n)
    numbers = _Numbers(problem, rng, subnormal_bits)
    whole_numbers = _Whole(problem, accumulator, rng)
    scales = np.where(rows == Kind.WHOLE, numbers.scales(problem.m) * rng.integers(2, size=problem.m), 0)
    for kind, at in _where(rows):
        if kind != Kind.UNIFORM:
            shape = (len(at), problem.k)
            matrices.a[at] = whole_numbers.of(shape, scales[at]) if kind == Kind.WHOLE else numbers.of(kind, shape)
    for kind, at in _where(columns):
        if kind == Kind.UNIFORM:
            bits, sign = _bits_and_sign(matrices.b[:, at[0] : at[0] + len(at) // 2])
            bits &= ~sign
        else:
            shape = (len(at), problem.k)
            drawn = whole_numbers.sparse(shape) if kind == Kind.WHOLE else numbers.of(kind, shape)
            matrices.b[:, at[0] : at[-1] + 1] = drawn.T
        if kind == Kind.WHOLE and problem.accumulate:
            matrices.c[:, at] = whole_numbers.added(scales, len(at))
    return Matrices(matrices.a, matrices.b, matrices.c, rows, columns)


def draw_wide(problem: Problem, accumulator: str, seed: int) -> Matrices:
    """Return A and B with exponents from their type's range, up to a random largest one in each row (or column).

    Neither products nor their sum overflow in the accumulator or C, and products are normal numbers of the accumulator.
    Whole numbers are as :func:`draw_mixed` draws them. Raises as that does.
    """
    dtype, sums = dtype_named(problem.dtype), (accumulator_named(accumulator), dtype_named(problem.output))
    if dtype.is_integer:
        return draw_mixed(problem, accumulator, seed)
    matrices, numbers = draw(problem, seed), _Numbers(problem, np.random.Generator(np.random.SFC64([seed, 1])))
    room = min(each.exponents[1] for each in sums) - math.ceil(math.log2((problem.k + 1) * max(1, abs(problem.alpha))))
    high = min(dtype.exponents[1] + (problem.dtype != "float8_e4m3fn"), room // 2)
    low = min(max(dtype.exponents[0], sums[0].exponents[0] // 2) + 1, high)
    matrices.a[:], matrices.b.T[:] = (numbers.wide((count, problem.k), low, high) for count in (problem.m, problem.n))
    return replace(matrices, rows=np.full(problem.m, Kind.SCALED), columns=np.full(problem.n, Kind.SCALED))


def rearranged(problem: Problem, before: Matrices, seed: int) -> Matrices:
    """Return the same inputs with about half of A's rows and B's columns exchanged, and the signs of the rows too.

    The first and last row and column are as before where there are more than two. C, where it is not added to, holds
    numbers. The arrays are those of ``before``, changed.
    """
    rng = np.random.Generator(np.random.SFC64([seed, 2]))
    rows = _moved(rng, np.zeros(problem.m) if before.rows is None else np.zeros_like(before.rows))
    columns = _moved(rng, np.zeros(problem.n) if before.columns is None else before.columns)
    at = np.flatnonzero(rows >= 0)
    changed = before.a[rows[at]]
    if dtype_named(problem.dtype).is_integer:
        changed = ~changed  # -1 - x, which is in the range of x
    else:
        bits, sign = _bits_and_sign(changed)
        bits ^= sign
    before.a[at] = changed
    to = np.flatnonzero(columns >= 0)
    before.b[:, to] = before.b[:, columns[to]]
    kinds = None if before.rows is None else np.where(rows >= 0, before.rows[rows], before.rows)
    if problem.accumulate:
        before.c[at] = before.c[rows[at]]
        return replace(before, rows=kinds)
    if problem.initial_c == "zeros":
        return replace(before, rows=kinds)
    few = _random(rng, Problem(1, _WORDS, 1, output=problem.output), "C")
    (count, length), leading = problem.stored_shape("C"), problem.ldc
    numbers = np.resize(few, (count, leading)).copy()
    numbers[:, length:] = poison((1,), problem.output)
    return replace(before, c=_logical(problem, "C", numbers), rows=kinds)


def _moved(rng: np.random.Generator, kinds: NDArray[Any]) -> NDArray[np.intp]:
    """Return the index that moves to each place, of the same kind; -1 where nothing moves."""
    moving = rng.random(len(kinds)) < 0.5
    moving[[0, -1]] = len(kinds) < 3
    moved = np.full(len(kinds), -1)
    for kind in np.unique(kinds):
        places = np.flatnonzero(moving & (kinds == kind))
        moved[places] = rng.permutation(places)
    return moved


def _bits_and_sign(numbers: NDArray[Any]) -> tuple[NDArray[Any], np.integer[Any]]:
    """Return the same memory as unsigned numbers, and the sign bit."""
    bits = numbers.view(f"u{numbers.itemsize}")
    return bits, bits.dtype.type(2 ** (8 * numbers.itemsize - 1))


class _Whole:
    """Whole numbers whose sum of products has no more bits than the narrowest significand on its way."""

    def __init__(self, problem: Problem, accumulator: str, rng: np.random.Generator) -> None:
        self._problem, self._rng = problem, rng
        narrowest = max(accumulator_named(accumulator).unit_roundoff, dtype_named(problem.output).unit_roundoff)
        self._sum = round(1 / narrowest)
        terms = problem.k + problem.accumulate
        largest = max(1, math.isqrt(self._sum // terms))
        (self._patterns,) = rng.spawn(1)
        self._signs = self._patterns.choice(np.array([-1, 1], np.int32), size=problem.k)
        self._largest = min(largest, round(1 / dtype_named(problem.dtype).unit_roundoff), 2**26)

    def of(self, shape: tuple[int, int], scales: NDArray[np.int64]) -> NDArray[Any]:
        """Return rows of numbers other than 0, times powers of two."""
        return narrow(np.ldexp(self._nonzero(shape), scales[:, np.newaxis]), self._problem.dtype)

    def _nonzero(self, shape: tuple[int, int]) -> NDArray[Any]:
        numbers = self._rng.integers(-self._largest, self._largest, size=shape, dtype=np.int32)
        numbers += numbers >= 0
        # Where two such meet, all terms are of one sign, and the sum takes all of the bits that there are.
        alike = self._patterns.random((shape[0], 1)) < 0.5
        return np.where(alike, np.abs(numbers) * self._signs, numbers)

    def sparse(self, shape: tuple[int, int]) -> NDArray[Any]:
        """Return rows with as many zeros as the sum needs."""
        numbers, most = self._nonzero(shape), self._sum - self._problem.accumulate
        if shape[1] > most:
            for row in numbers:
                row[self._rng.permutation(shape[1])[most:]] = 0
        return narrow(numbers, self._problem.dtype)

    def added(self, scales: NDArray[np.int64], columns: int) -> NDArray[Any]:
        """Return C's old values, in rows scaled as A's are."""
        numbers = self._rng.integers(-1, 1, size=(len(scales), columns), endpoint=True)
        return narrow(np.ldexp(numbers, scales[:, np.newaxis]), self._problem.output)


class _Numbers:
    """Rows of the other kinds."""

    def __init__(self, problem: Problem, rng: np.random.Generator, subnormal_bits: int = 0) -> None:
        self._dtype, self._rng, self._subnormal_bits = problem.dtype, rng, subnormal_bits
        (low, high), self._spread = _RANGES.get(self._dtype, _WIDE)
        least, most = _ROOM.get(problem.output, (low, high))
        # Factors above 1 take of the room that C's type leaves for sums.
        high = min(high, most - max(0, math.frexp(max(abs(problem.alpha), abs(problem.beta)))[1]))
        self._scales = min(max(low, least), high), high

    def scales(self, count: int) -> NDArray[np.int64]:
        """Return a power of two for each row."""
        return self._rng.integers(*self._scales, size=count, endpoint=True)

    def of(self, kind: Kind, shape: tuple[int, int]) -> NDArray[Any]:
        """Return rows of a kind."""
        (rows, width), rng = shape, self._rng
        numbers = np.zeros(shape)
        if kind == Kind.UNIT:
            numbers[np.arange(rows), rng.integers(width, size=rows)] = self._signs(rows)
        elif kind == Kind.ONE_SIGN:
            # So few that no order of the sum errs by more than the tolerance, even one that truncates.
            terms = max(1, math.isqrt(width) // 2)
            values = self._uniform((rows, terms)) * self._signs((rows, 1))
            for row, value in zip(numbers, values, strict=True):
                row[rng.choice(width, size=terms, replace=False)] = value
        elif kind == Kind.SUBNORMAL:
            lost = max(_SUBNORMAL_BITS[self._dtype] - self._subnormal_bits, 0)
            bits = rng.integers(1, 2 ** (_SUBNORMAL_BITS[self._dtype] - lost), size=shape) << lost
            sign = rng.integers(2, size=shape) << (8 * dtype_named(self._dtype).itemsize - 1)
            named = dtype_named(self._dtype)
            return (bits | sign).astype(f"u{named.itemsize}").view(named.storage)
        elif kind == Kind.SCALED:
            scale = self.scales(rows)[:, np.newaxis] - rng.integers(self._spread, size=shape)
            numbers = np.ldexp(self._uniform(shape) * self._signs(shape), scale)
        return narrow(numbers, self._dtype)

    def wide(self, shape: tuple[int, int], low: int, high: int) -> NDArray[Any]:
        """Return rows of numbers in [2^(low - 1), 2^high), up to a random largest exponent in each row."""
        highest = self._rng.integers(low, high, size=(shape[0], 1), endpoint=True)
        exponents = self._rng.integers(low, highest, size=shape, endpoint=True)
        return narrow(np.ldexp(self._uniform(shape) * self._signs(shape), exponents), self._dtype)

    def _signs(self, shape: int | tuple[int, int]) -> NDArray[np.float64]:
        return self._rng.choice((-1.0, 1.0), size=shape)

    def _uniform(self, shape: tuple[int, int]) -> NDArray[np.float64]:
        """Return numbers of the type in [0.5, 1)."""
        largest = round(1 / dtype_named(self._dtype).unit_roundoff)
        return np.asarray(self._rng.integers(largest // 2, largest, size=shape) / largest)


def _assigned(rng: np.random.Generator, kinds: dict[Kind, float], count: int) -> NDArray[np.intp]:
    """Return a kind for each row, grouped by kind in random order, with about the given shares."""
    order, shares = rng.permutation(np.array(list(kinds))), sum(kinds.values())
    chosen = rng.choice(order, size=count, p=[kinds[Kind(kind)] / shares for kind in order])
    if rng.random() < _CERTAIN:
        chosen[0] = Kind.WHOLE
    return np.concatenate([chosen[chosen == kind] for kind in order])


def _where(kinds: NDArray[np.intp]) -> list[tuple[Kind, NDArray[np.intp]]]:
    return [(Kind(int(kind)), np.flatnonzero(kinds == kind)) for kind in np.unique(kinds)]
