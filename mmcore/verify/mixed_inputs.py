"""Matrices of mixed kinds, in which no error can hide: each row of A and each column of B is of a kind.

Rows and columns of small whole numbers make exact elements in any order of summation. A row or column of one number
and zeros copies numbers of the other matrix with all their bits. Powers of two scale rows and columns over the
exponents of their type, in another part of its range for each seed.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mmcore.kernel.problem import Problem, accumulator_named, dtype_named
from mmcore.verify.input_kinds import SUBNORMAL_BITS, Kind, Numbers, WholeNumbers, scale_ranges
from mmcore.verify.inputs import Matrices, bits_and_sign, draw, int32_bits

# How often a row and a column is of each kind.
_ROWS = {
    Kind.WHOLE: 0.41,
    Kind.UNIFORM: 0.27,
    Kind.ONE_SIGN: 0.07,
    Kind.UNIT: 0.08,
    Kind.SCALED: 0.07,
    Kind.SUBNORMAL: 0.04,
    Kind.TINY: 0.03,
    Kind.ZERO: 0.03,
}
_COLUMNS = {
    Kind.WHOLE: 0.44,
    Kind.UNIFORM: 0.31,
    Kind.UNIT: 0.1,
    Kind.SCALED: 0.07,
    Kind.SUBNORMAL: 0.03,
    Kind.TINY: 0.03,
    Kind.ZERO: 0.02,
}
# How often there is one of whole numbers at least, however few there are.
_CERTAIN = 0.8
# How often a row or column of an integer type is of the numbers of greatest magnitude.
_EXTREME = 0.3
# How often numbers next to each other along k are zero in about half of the rows of A, or of the columns of B.
_STRIPE = 0.4


def draw_mixed(problem: Problem, accumulator: str, seed: int, *, flushes: bool = False) -> Matrices:
    """Return A and B of mixed kinds for ``problem``, summed in the type ``accumulator``; each seed draws others.

    Columns of the same kind are adjacent, from a random start. If C is added to, it contains whole numbers in columns
    of whole numbers. A and B of int8, uint8 and int32 contain arbitrary numbers, and in some rows and columns numbers
    of the greatest magnitude. Sums in a type that is too narrow then overflow or are rounded. Single elements of C
    may overflow in a right product too.

    Args:
        problem: the product.
        accumulator: the type of its sums.
        seed: the seed of the random numbers.
        flushes: the kernel takes subnormal numbers for zero; none are drawn then.

    Raises:
        InvalidProblem: the host has no memory for the matrices.
    """
    matrices, rng = draw(problem, seed), np.random.Generator(np.random.SFC64([seed, 1]))
    if dtype_named(problem.dtype).is_integer:
        _mix_integers(problem, matrices, rng)
        return matrices
    some = not flushes and problem.dtype in SUBNORMAL_BITS
    of_rows, of_columns = (
        {kind: share for kind, share in shares.items() if some or kind != Kind.SUBNORMAL}
        for shares in (_ROWS, _COLUMNS)
    )
    rows, columns = rng.permutation(_assigned(rng, of_rows, problem.m)), _assigned(rng, of_columns, problem.n)
    whole_numbers = WholeNumbers(problem, accumulator, rng)
    low_high = scale_ranges(problem, accumulator, whole_numbers.bits, rng, flushes=flushes)
    scales, column_scales = (
        np.where(kinds == Kind.WHOLE, rng.integers(*ends, size=len(kinds), endpoint=True) * _half(rng, len(kinds)), 0)
        for kinds, ends in zip((rows, columns), low_high, strict=True)
    )
    numbers, column_numbers = (Numbers(problem, rng, ends, whole_numbers.bits) for ends in low_high)
    for kind, at in _where(rows):
        if kind != Kind.UNIFORM:
            shape = (len(at), problem.k)
            matrices.a[at] = whole_numbers.of(shape, scales[at]) if kind == Kind.WHOLE else numbers.of(kind, shape)
    for kind, at in _where(columns):
        if kind == Kind.UNIFORM:
            bits, sign = bits_and_sign(matrices.b[:, at[0] : at[0] + len(at) // 2])
            bits &= ~sign
        else:
            shape, of_kind = (len(at), problem.k), column_numbers.of
            drawn = whole_numbers.sparse(shape, column_scales[at]) if kind == Kind.WHOLE else of_kind(kind, shape)
            matrices.b[:, at[0] : at[-1] + 1] = drawn.T
        if kind == Kind.WHOLE and problem.accumulate:
            shift = _exponent(problem.alpha / problem.beta) if problem.keeps_whole else 0
            matrices.c[:, at] = whole_numbers.added(scales[:, np.newaxis] + column_scales[at] + shift)
    for lines, kinds in ((matrices.a, rows), (matrices.b.T, columns)):
        _zero_stripe(rng, lines, kinds)
    return replace(matrices, rows=rows, columns=columns)


def _exponent(factor: float) -> int:
    """Return the largest power of two that is at most a factor's magnitude."""
    return math.frexp(factor)[1] - 1


def draw_wide(problem: Problem, accumulator: str, seed: int) -> Matrices:
    """Return A and B with exponents from their type's range, up to a random largest one in each row (or column).

    Neither products nor their sum overflow in the accumulator or C, and products are normal numbers of the accumulator.
    Whole numbers are as :func:`draw_mixed` draws them. Raises as that does.
    """
    dtype, sums = dtype_named(problem.dtype), (accumulator_named(accumulator), dtype_named(problem.output))
    if dtype.is_integer:
        return draw_mixed(problem, accumulator, seed)
    matrices, numbers = draw(problem, seed), Numbers(problem, np.random.Generator(np.random.SFC64([seed, 1])))
    room = min(each.exponents[1] for each in sums) - math.ceil(math.log2((problem.k + 1) * max(1, abs(problem.alpha))))
    high = min(dtype.exponents[1] + (problem.dtype != "float8_e4m3fn"), room // 2)
    low = min(max(dtype.exponents[0], sums[0].exponents[0] // 2) + 1, high)
    matrices.a[:], matrices.b.T[:] = (numbers.wide((count, problem.k), low, high) for count in (problem.m, problem.n))
    return replace(matrices, rows=np.full(problem.m, Kind.SCALED), columns=np.full(problem.n, Kind.SCALED))


def _mix_integers(problem: Problem, matrices: Matrices, rng: np.random.Generator) -> None:
    """Change some rows and columns to numbers of the greatest magnitude, to one number and zeros, or to zeros.

    Of int32, some are of as many bits as there are. Where the sum of such then overflows, C is not compared.
    """
    bits = int32_bits(problem)
    most = {"int8": -128, "uint8": 255}.get(problem.dtype, -(2 ** (bits - 1)))
    if most**2 * problem.k + 2**15 >= 2**31:  # int32 might overflow as well
        return
    for lines in (matrices.a, matrices.b.T):
        chosen = rng.random(len(lines))
        at = np.flatnonzero(chosen < _EXTREME)
        lines[at] = most - np.sign(most) * rng.integers(2, size=(len(at), problem.k))
        units = np.flatnonzero(chosen > 1 - _ROWS[Kind.UNIT])
        lines[units] = 0
        lines[units, rng.integers(problem.k, size=len(units))] = 1 if problem.dtype == "uint8" else -1
        if problem.dtype == "int32":
            few, full = (np.flatnonzero((chosen > start) & (chosen < start + 0.15)) for start in (0.4, 0.6))
            lines[few] = rng.integers(-1, 1, size=(len(few), problem.k), endpoint=True)
            width = rng.integers(bits, 31, size=(len(full), 1), endpoint=True)
            lines[full] = rng.integers(-(2**width), 2**width, size=(len(full), problem.k))


def _half(rng: np.random.Generator, count: int) -> NDArray[np.int64]:
    """Return zeros and ones in equal shares."""
    return rng.integers(2, size=count)


def _zero_stripe(rng: np.random.Generator, lines: NDArray[Any], kinds: NDArray[np.intp]) -> None:
    """Make some columns of ``lines`` zero in the first or the last lines, as tiles of zeros are; or leave them.

    About half of the lines of whole numbers keep them, so that no term of the sums is zero everywhere.
    """
    width, shift = lines.shape[1], int(rng.integers(2, 7, endpoint=True))
    whole = np.flatnonzero(kinds == Kind.WHOLE)
    if rng.random() >= _STRIPE or width < 2 << shift or len(whole) < 2:
        return
    start, middle = int(rng.integers(width >> shift)) << shift, int(whole[len(whole) // 2])
    half = slice(middle) if rng.random() < 0.5 else slice(middle, None)
    lines[half, start : start + (1 << shift)] = 0


def _assigned(rng: np.random.Generator, kinds: dict[Kind, float], count: int) -> NDArray[np.intp]:
    """Return a kind for each row, grouped by kind in random order, with about the given shares."""
    order, shares = rng.permutation(np.array(list(kinds))), sum(kinds.values())
    chosen = rng.choice(order, size=count, p=[kinds[Kind(kind)] / shares for kind in order])
    if rng.random() < _CERTAIN:
        chosen[0] = Kind.WHOLE
    return np.concatenate([chosen[chosen == kind] for kind in order])


def _where(kinds: NDArray[np.intp]) -> list[tuple[Kind, NDArray[np.intp]]]:
    return [(Kind(int(kind)), np.flatnonzero(kinds == kind)) for kind in np.unique(kinds)]
