"""Products of every type without a device: right ones, ones with a mistake, and ones of a lower precision."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mmcore.kernel.problem import Problem
from mmcore.verify.comparison import verify_product
from mmcore.verify.inputs import Matrices, draw
from mmcore.verify.mixed_inputs import draw_mixed
from tests.fuzzing.arithmetics import Arithmetic, Multiply
from tests.fuzzing.truth import Truth, truth_of
from tests.narrowing import narrow, rounded, wide

RIGHT, LOWER = "right", "lower precision"
TERMS = ("dropped term", "doubled term", "swapped terms")
KINDS = (RIGHT, *TERMS, LOWER)
REJECTED, WITHIN, ACCEPTED = "rejected", "within the tolerance", "accepted"
# Alpha and beta.
FACTORS = (
    *((1.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.5, 0.0), (0.3, 0.0)),
    *((-1.5, 0.3), (2.0, 1.0), (1.0, -1.0), (-0.7, 0.0)),
)
_LARGEST, _WORK = 40, 3_000_000


class Misjudged(AssertionError):
    """A verdict that rejects a right product, or accepts one outside the tolerance."""


def try_product(arithmetic: Arithmetic, kind: str, seed: int, number: int) -> tuple[str, str]:
    """Compute a product, right or wrong, and compare mmcore's verdict with the known one.

    Returns:
        The order of summation, and the verdict: "accepted", "rejected", or "within the tolerance" for a mistake that
        is less than the allowed rounding.

    Raises:
        Misjudged: the verdict is not the known one.
    """
    rng = random.Random(f"{arithmetic}/{kind}/{seed}/{number}")
    problem = _problem(rng, arithmetic, kind)
    mixed = kind == LOWER or rng.random() < 0.7
    drawn = draw_mixed(problem, arithmetic.accumulator, seed=rng.getrandbits(32))
    matrices = drawn if mixed else draw(problem, rng.getrandbits(32))
    truth = truth_of(problem, arithmetic.accumulator, matrices)
    name, multiply = rng.choice(sorted((arithmetic.lower if kind == LOWER else arithmetic.right).items()))
    c = _stored(problem, arithmetic.accumulator, matrices, multiply)
    if kind in TERMS:
        _make_a_mistake(rng, problem, matrices, truth, c, kind)
    # Sampled rows and projections need not find every mistake, but must not reject a right product.
    full = rng.choice((None, None, 0.0)) if kind == RIGHT else None
    found = verify_product(problem, arithmetic.accumulator, matrices, c, full)
    values = wide(c, problem.output)
    words = f"{arithmetic}: {kind}, {name}, {problem}, α={problem.alpha}, β={problem.beta}, mixed={mixed}: {found}"
    if kind == RIGHT and not found.verified:
        raise Misjudged(f"a right product is rejected: {words}")
    # Where C is smaller than its tolerance, a separate limit applies to many elements together.
    together = matrices.rows is None and arithmetic.accumulator.startswith(("float16", "bfloat16", "float22"))
    if (found.verified and truth.wrong(values)) or (truth.right(values) and not found.verified and not together):
        raise Misjudged(f"{words}: the product is {'wrong' if truth.wrong(values) else 'right'}")
    if kind in TERMS and found.verified:
        return name, WITHIN
    return name, ACCEPTED if found.verified else REJECTED


def _problem(rng: random.Random, arithmetic: Arithmetic, kind: str) -> Problem:
    """Return a problem with k up to 300 or up to 16384."""
    m, n = rng.randint(1, _LARGEST), rng.randint(1, _LARGEST)
    k = round(2 ** rng.uniform(0, 8.2 if rng.random() < 0.5 else 14))
    if kind == LOWER:
        # Enough rows and columns for some of whole numbers and some of units.
        m, n = rng.randint(24, _LARGEST), rng.randint(24, _LARGEST)
    while m * n * k > _WORK and kind != LOWER:
        m, n = -(-m // 2), -(-n // 2)
    alpha, beta = rng.choice(FACTORS)
    if arithmetic.dtype in ("int8", "uint8", "int32"):
        alpha, beta = 1.0, rng.choice((0.0, 1.0))
    layout = "".join(matrix for matrix in "ABC" if rng.random() < 0.4)
    gaps = rng.random() < 0.3
    lda, ldb, ldc = (length + rng.choice((0, 1, 5)) if gaps else 0 for length in (max(m, k), max(n, k), max(m, n)))
    types = arithmetic.dtype, arithmetic.output
    return Problem(m, n, k, *types, lda, ldb, ldc, alpha=alpha, beta=beta, column_major=layout)


def _stored(problem: Problem, accumulator: str, matrices: Matrices, multiply: Multiply) -> NDArray[Any]:
    """Return C as a kernel stores it: factors, their products and the sum are rounded."""
    kept = "float32" if accumulator.startswith("float22") else accumulator
    with np.errstate(all="ignore"):
        total = multiply(wide(matrices.a, problem.dtype), wide(matrices.b, problem.dtype))
        if problem.alpha != 1:
            total = rounded(rounded(problem.alpha, kept) * total, kept)
        if problem.beta:
            old = rounded(rounded(problem.beta, kept) * wide(matrices.c, problem.output), kept)
            total = rounded(total + old, kept)
        return narrow(total, problem.output)


def _make_a_mistake(
    rng: random.Random, problem: Problem, matrices: Matrices, truth: Truth, c: NDArray[Any], kind: str
) -> None:
    """Omit a term of one element of C, add it twice, or exchange two elements of its row of A."""
    row, column = rng.randrange(problem.m), rng.randrange(problem.n)
    a, b = wide(matrices.a[row], problem.dtype), wide(matrices.b[:, column], problem.dtype)
    one, other = rng.randrange(problem.k), rng.randrange(problem.k)
    change = {
        "dropped term": -a[one] * b[one],
        "doubled term": a[one] * b[one],
        "swapped terms": (a[other] - a[one]) * (b[one] - b[other]),
    }[kind]
    with np.errstate(all="ignore"):
        c[row, column] = narrow(truth.product[row, column] + problem.alpha * change, problem.output)
