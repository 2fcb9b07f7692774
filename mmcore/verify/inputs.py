"""The matrices that a kernel is verified with: random, fresh, and such that no mistake can hide in them."""

from __future__ import annotations

import os
import secrets
from dataclasses import dataclass
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
