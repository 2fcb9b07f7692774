"""The random, fresh matrices with which a kernel is verified: uniform ones, and the same ones rearranged."""

from __future__ import annotations

import os
import secrets
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mmcore.errors import InvalidProblem
from mmcore.kernel.problem import Problem, dtype_named
from mmcore.verify.elements import poison

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
    rows: NDArray[np.intp] | None = None  # of A, the kind of each (mmcore.verify.input_kinds.Kind); None: all uniform
    columns: NDArray[np.intp] | None = None  # of B, the kind of each; columns of one kind are adjacent
    not_finite: bool = False  # single elements of A or B are NaN or infinite


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
    width = 16 if matrix == "C" else int32_bits(problem)
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


def int32_bits(problem: Problem) -> int:
    """Return the bits of A's and B's numbers of int32, so few that no sum overflows."""
    return (32 - (problem.k - 1).bit_length()) // 2


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
        bits, sign = bits_and_sign(changed)
        bits ^= sign
    before.a[at] = changed
    to = np.flatnonzero(columns >= 0)
    before.b[:, to] = before.b[:, columns[to]]
    kinds = None if before.rows is None else np.where(rows >= 0, before.rows[rows], before.rows)
    if problem.accumulate:
        before.c[at] = before.c[rows[at]]
        before.c[:, to] = before.c[:, columns[to]]
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


def bits_and_sign(numbers: NDArray[Any]) -> tuple[NDArray[Any], np.integer[Any]]:
    """Return the same memory as unsigned numbers, and the sign bit."""
    bits = numbers.view(f"u{numbers.itemsize}")
    return bits, bits.dtype.type(2 ** (8 * numbers.itemsize - 1))
