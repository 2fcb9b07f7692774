"""The least that is wrong in a product: one term of one element, or elements of one kind of numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mmcore.kernel.problem import Problem
from mmcore.verify.elements import is_poison, widen
from mmcore.verify.input_kinds import Kind
from mmcore.verify.inputs import Matrices

_NUMBERS = {
    Kind.UNIFORM: "magnitudes from 0.5 to 1",
    Kind.WHOLE: "whole numbers times a power of two",
    Kind.UNIT: "one ±1 and zeros",
    Kind.SCALED: "numbers of many exponents",
    Kind.ZERO: "zeros",
    Kind.SUBNORMAL: "subnormal numbers",
    Kind.ONE_SIGN: "few numbers of one sign",
    Kind.TINY: "tiny numbers",
}
_MOST = 1000  # wrong elements to look at
_LEAST = 4  # elements of a kind that are not all right by chance


def reduced_failure(problem: Problem, matrices: Matrices, c: NDArray[Any], places: NDArray[np.intp]) -> str:
    """Return the least that is wrong in a sentence, or nothing if the wrong elements have nothing in common.

    Args:
        problem: the product.
        matrices: its inputs.
        c: what the kernel left, in the storage of C's type.
        places: the row and column of each wrong element.
    """
    written = ~is_poison(c[tuple(places.T)])
    if not written.any() or matrices.rows is None or matrices.columns is None:
        return ""
    places = places[written]
    kinds = {"row of A": matrices.rows, "column of B": matrices.columns}
    wrong = {name: np.unique(each[places[:, axis]]) for axis, (name, each) in enumerate(kinds.items())}
    common = [
        f"a {name} of {_NUMBERS[Kind(int(of[0]))]}"
        for name, of in wrong.items()
        if len(of) == 1 and (kinds[name] != of[0]).sum() >= _LEAST
    ]
    term = "" if problem.accumulate else _single_term(problem, matrices, c, places[:_MOST])
    return "; ".join([*([f"each is of {' and '.join(common)}"] if common else []), *([term] if term else [])])


def _single_term(problem: Problem, matrices: Matrices, c: NDArray[Any], places: NDArray[np.intp]) -> str:
    """Return the first wrong element whose other terms are zero, with its factors; or nothing if there is none."""
    for row, column in places:
        a, b = widen(matrices.a[row], problem.dtype), widen(matrices.b[:, column], problem.dtype)
        (terms,) = np.nonzero((a != 0) & (b != 0))
        if len(terms) == 1 and (problem.k == 1 or not (np.isnan(a) | np.isnan(b)).any()):
            p, got = int(terms[0]), float(widen(c[row : row + 1, column], problem.output)[0])
            alpha = "" if problem.alpha == 1 else f"{problem.alpha:g} · "
            factors = f"{alpha}A({row}, {p}) · B({p}, {column}) = {alpha}{a[p]:.9g} · {b[p]:.9g}"
            return f"element ({row}, {column}) has one term that is not 0, {factors}, and C contains {got:.9g}"
    return ""
