"""The matrices that a kernel is verified with: random, fresh, and such that no mistake can hide in them.

C = A·B is made of products of a row of A and a column of B, so each row and each column can be of a kind of its own.
Rows and columns of small whole numbers make elements that must be equal to the bit, whatever the order of the sum; a
row or column of one number and zeros hands the other's numbers on, with all their bits.
"""

from __future__ import annotations

import math
import os
import secrets
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mmcore.errors import InvalidProblem
from mmcore.kernel.problem import Problem, dtype_named
from mmcore.verify.elements import poison

_SIGN_AND_FRACTION = {"float16": 0x83FF, "bfloat16": 0x807F, "float32": 0x807F_FFFF, "float64": 0x800F_FFFF_FFFF_FFFF}
_ONE_HALF = {"float16": 0x3800, "bfloat16": 0x3F00, "float32": 0x3F00_0000, "float64": 0x3FE0_0000_0000_0000}
_WORDS = 2**16  # random words drawn at a time, few enough to stay in cache


@dataclass(frozen=True, eq=False)
class Matrices:
    """A, B and C of one problem, in host memory before a launch; C is poison where the product is not added to it.

    Each is a 2-D view, in storage dtype, whose rows lie a leading dimension apart; its ``base`` is the whole
    contiguous (rows, leading dimension) array, poison in the columns beyond the matrix.
    """

    a: NDArray[Any]
    b: NDArray[Any]
    c: NDArray[Any]
    rows: NDArray[np.intp] | None = None  # of A, the kind of each (mmcore.verify.inputs.Kind); None: all uniform
    columns: NDArray[np.intp] | None = None  # of B, likewise; those of a kind stand side by side


def fresh_seed() -> int:
    """A seed of 32 bits from the operating system's entropy."""
    return secrets.randbits(32)


def other_seed(seed: int) -> int:
    """A seed of other inputs, to verify a kernel once more with."""
    return seed + 1


def draw(problem: Problem, seed: int) -> Matrices:
    """Random A and B (and C, when accumulating) for ``problem``; the same seed draws the same matrices.

    Elements have random signs, which keep C and its rounding small, and magnitudes uniform over the dtype's numbers in
    [0.5, 1), so that every term |a·b| is 0.25 at least, more than rounding can do.

    Raises:
        InvalidProblem: the host has no memory for them.
    """
    # An allocation beyond the host's memory may succeed, and kill the process when it is written to.
    inputs = (problem.m * problem.lda + problem.k * problem.ldb) * dtype_named(problem.dtype).itemsize
    needed = inputs + problem.m * problem.ldc * dtype_named(problem.output).itemsize
    present = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if needed > present:
        what = "the matrices and the gaps between their rows"
        raise InvalidProblem(f"{what} take {needed / 1e9:.1f} GB; the host has {present / 1e9:.1f} GB")
    rng = np.random.Generator(np.random.SFC64(seed))
    a = _random(rng, problem.m, problem.k, problem.lda, problem.dtype)
    b = _random(rng, problem.k, problem.n, problem.ldb, problem.dtype)
    if problem.accumulate:
        return Matrices(a, b, _random(rng, problem.m, problem.n, problem.ldc, problem.output))
    return Matrices(a, b, poison((problem.m, problem.ldc), problem.output)[:, : problem.n])


def _random(rng: np.random.Generator, rows: int, columns: int, leading: int, dtype: str) -> NDArray[Any]:
    """Keep the sign and fraction of random bits, and give all of them the exponent of 0.5."""
    named = dtype_named(dtype)
    whole = np.empty((rows, leading), named.storage)
    bits = whole.reshape(-1).view(f"u{named.itemsize}")
    step = _WORDS * 8 // named.itemsize
    for start in range(0, bits.size, step):
        chunk = bits[start : start + step]
        words = rng.integers(2**64, size=-(-chunk.nbytes // 8), dtype=np.uint64)
        np.bitwise_and(words.view(bits.dtype)[: chunk.size], _SIGN_AND_FRACTION[named.name], out=chunk)
        chunk |= bits.dtype.type(_ONE_HALF[named.name])
    whole[:, columns:] = poison((1,), dtype)
    return whole[:, :columns]


class Kind(IntEnum):
    """What the numbers of a row of A or a column of B are like."""

    UNIFORM = 0  # random signs, magnitudes in [0.5, 1), as of mmcore.verify.inputs.draw
    WHOLE = 1  # whole numbers, so few and small that the sum of a row's and a column's is exact
    UNIT = 2  # one number of magnitude 1, and zeros
    SMALL = 3  # uniform numbers, each scaled by a power of two of its own, and all by another
    ZERO = 4
    SUBNORMAL = 5


# How often a row and a column is of each kind.
_ROWS = {Kind.WHOLE: 0.45, Kind.UNIFORM: 0.3, Kind.UNIT: 0.08, Kind.SMALL: 0.08, Kind.SUBNORMAL: 0.06, Kind.ZERO: 0.03}
_COLUMNS = {Kind.WHOLE: 0.5, Kind.UNIFORM: 0.38, Kind.UNIT: 0.1, Kind.ZERO: 0.02}
# How often there is one of whole numbers at least, however few there are.
_CERTAIN = 0.8
# By how many powers of two SMALL rows are scaled at most, and their numbers apart from that.
_SCALES, _USUAL_SCALES = {"float16": (4, 4)}, (40, 10)
# Types of which all hardware computes with subnormal numbers as they are, and the bits of their fractions.
_SUBNORMAL_BITS = {"float16": 10, "float32": 23}


def draw_mixed(problem: Problem, accumulator: str, seed: int, *, subnormal: bool = True) -> Matrices:
    """A and B of mixed kinds for ``problem``, summed in the type ``accumulator``; each seed draws its own.

    Columns of a kind stand side by side, where they begin is random. C, where it is added to, is of whole numbers in
    columns of whole numbers. ``subnormal`` says whether the kernel computes with subnormal numbers.

    Raises:
        InvalidProblem: the host has no memory for them.
    """
    matrices, rng = draw(problem, seed), np.random.Generator(np.random.SFC64([seed, 1]))
    kinds = dict(_ROWS)
    if not subnormal or problem.dtype not in _SUBNORMAL_BITS:
        del kinds[Kind.SUBNORMAL]
    rows, columns = rng.permutation(_assigned(rng, kinds, problem.m)), _assigned(rng, _COLUMNS, problem.n)
    whole = _Whole(problem, accumulator, rng)
    for kind, at in _where(rows):
        if kind != Kind.UNIFORM:
            shape = (len(at), problem.k)
            matrices.a[at] = whole.of(shape) if kind == Kind.WHOLE else _of(kind, problem.dtype, shape, rng)
    for kind, at in _where(columns):
        if kind != Kind.UNIFORM:
            shape = (len(at), problem.k)
            numbers = whole.sparse(shape) if kind == Kind.WHOLE else _of(kind, problem.dtype, shape, rng)
            matrices.b[:, at[0] : at[-1] + 1] = numbers.T
        if kind == Kind.WHOLE and problem.accumulate:
            matrices.c[:, at] = whole.added((problem.m, len(at)))
    return Matrices(matrices.a, matrices.b, matrices.c, rows, columns)


class _Whole:
    """Whole numbers of which a sum of products has no more bits than the narrowest significand that it passes."""

    def __init__(self, problem: Problem, accumulator: str, rng: np.random.Generator) -> None:
        self._problem, self._rng = problem, rng
        narrowest = max(dtype_named(name).unit_roundoff for name in (accumulator, problem.output))
        self._sum = round(1 / narrowest)
        terms = problem.k + problem.accumulate
        largest = max(1, math.isqrt(self._sum // terms))
        self._largest = min(largest, round(1 / dtype_named(problem.dtype).unit_roundoff), 2**26)

    def of(self, shape: tuple[int, int]) -> NDArray[Any]:
        """Numbers other than 0."""
        numbers = self._rng.integers(-self._largest, self._largest, size=shape, dtype=np.int32)
        numbers += numbers >= 0
        return stored(numbers, self._problem.dtype)

    def sparse(self, shape: tuple[int, int]) -> NDArray[Any]:
        """The same, with as many zeros as the sum asks for."""
        numbers, most = self.of(shape), self._sum - self._problem.accumulate
        if shape[1] > most:
            for row in numbers:
                row[self._rng.permutation(shape[1])[most:]] = 0
        return numbers

    def added(self, shape: tuple[int, int]) -> NDArray[Any]:
        """What C holds before."""
        return stored(self._rng.integers(-1, 1, size=shape, endpoint=True), self._problem.output)


def _of(kind: Kind, dtype: str, shape: tuple[int, int], rng: np.random.Generator) -> NDArray[Any]:
    """Rows of one of the other kinds."""
    rows, width = shape
    numbers = np.zeros(shape)
    if kind == Kind.UNIT:
        numbers[np.arange(rows), rng.integers(width, size=rows)] = rng.choice((-1.0, 1.0), size=rows)
    elif kind == Kind.SUBNORMAL:
        bits = rng.integers(1, 2 ** _SUBNORMAL_BITS[dtype], size=shape)
        sign = rng.integers(2, size=shape) << (8 * dtype_named(dtype).itemsize - 1)
        return (bits | sign).astype(f"u{dtype_named(dtype).itemsize}").view(dtype)
    elif kind == Kind.SMALL:
        largest = round(1 / dtype_named(dtype).unit_roundoff)
        significand = rng.integers(largest // 2, largest, size=shape) * rng.choice((-1.0, 1.0), size=shape)
        of_rows, of_numbers = _SCALES.get(dtype, _USUAL_SCALES)
        scale = rng.integers(of_rows, size=(rows, 1), endpoint=True) + rng.integers(of_numbers, size=shape)
        numbers = np.ldexp(significand / largest, -scale)
    return stored(numbers, dtype)


def stored(numbers: NDArray[Any], dtype: str) -> NDArray[Any]:
    """Numbers that ``dtype`` holds exactly, in its storage."""
    if dtype == "bfloat16":
        return (numbers.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    return numbers.astype(dtype)


def _assigned(rng: np.random.Generator, kinds: dict[Kind, float], count: int) -> NDArray[np.intp]:
    """A kind for each of so many rows, kinds in random order, each about as often as it should be."""
    order, shares = rng.permutation(np.array(list(kinds))), sum(kinds.values())
    chosen = rng.choice(order, size=count, p=[kinds[Kind(kind)] / shares for kind in order])
    if rng.random() < _CERTAIN:
        chosen[0] = Kind.WHOLE
    return np.concatenate([chosen[chosen == kind] for kind in order])


def _where(kinds: NDArray[np.intp]) -> list[tuple[Kind, NDArray[np.intp]]]:
    return [(Kind(int(kind)), np.flatnonzero(kinds == kind)) for kind in np.unique(kinds)]
