"""NaN and infinities in single elements of A and B, and the elements of C that must be so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import pytest
from numpy.typing import NDArray

from mmcore.kernel.problem import Problem
from mmcore.verify.comparison import verify_product
from mmcore.verify.elements import widen
from mmcore.verify.input_kinds import Kind
from mmcore.verify.inputs import Matrices
from mmcore.verify.mixed_inputs import draw_mixed
from mmcore.verify.not_finite import with_not_finite
from mmcore.verify.outcome import Mismatch
from tests.core.test_mixed_inputs import TYPES
from tests.narrowing import narrow

Values: TypeAlias = NDArray[Any]


def drawn(problem: Problem, seed: int, accumulator: str = "float32") -> Matrices:
    return with_not_finite(problem, draw_mixed(problem, accumulator, seed), seed)


def verified(change: Callable[[Values, Values], Values], seed: int, **code: Any) -> bool:
    """Return the verdict on a product of 30x20x25 that is computed from A and B."""
    problem = Problem(30, 20, 25)
    matrices = drawn(problem, seed)
    with np.errstate(all="ignore"):
        c = change(matrices.a.astype(float), matrices.b.astype(float))
    return verify_product(problem, "float32", matrices, narrow(c, "float32"), **code).verified


def without_nan(a: Values, b: Values) -> Values:
    return np.asarray(np.nan_to_num(a, posinf=np.inf, neginf=-np.inf) @ np.nan_to_num(b, posinf=np.inf, neginf=-np.inf))


def without_nan_of_b(a: Values, b: Values) -> Values:
    return np.asarray(a @ np.nan_to_num(b, posinf=np.inf, neginf=-np.inf))


def clamped(a: Values, b: Values) -> Values:
    return np.asarray(np.clip(a, -1e38, 1e38) @ np.clip(b, -1e38, 1e38))


def one_element_more(a: Values, b: Values) -> Values:
    c = a @ b
    c[tuple(np.argwhere(np.isfinite(c))[-1])] = np.nan
    return c


def infinities_negated(a: Values, b: Values) -> Values:
    c = a @ b
    return np.where(np.isinf(c), -c, c)


def infinities_lost(a: Values, b: Values) -> Values:
    c = a @ b
    return np.where(np.isinf(c), np.nan, c)


def without_zeros(a: Values, b: Values) -> Values:
    terms = a[:, :, np.newaxis] * b
    return np.asarray(np.where((a == 0)[:, :, np.newaxis] | (b == 0), 0, terms).sum(axis=1))


@pytest.mark.parametrize("change", [np.matmul, without_zeros])
def test_a_right_product_carries_them_and_may_leave_products_by_zero_out(change: Any) -> None:
    assert all(verified(change, seed) for seed in range(20))


@pytest.mark.parametrize(
    "change", [without_nan, without_nan_of_b, clamped, one_element_more, infinities_negated, infinities_lost]
)
def test_a_product_that_loses_or_spreads_them_is_wrong(change: Any) -> None:
    assert sum(not verified(change, seed) for seed in range(20)) >= 12


def test_a_kernel_with_differences_may_make_nan_of_infinities() -> None:
    assert all(verified(infinities_lost, seed, keeps_infinities=False) for seed in range(20))
    assert not all(verified(without_nan, seed, keeps_infinities=False) for seed in range(20))


@pytest.mark.parametrize("types", TYPES, ids="-".join)
def test_they_are_neither_in_the_first_nor_last_row_column_or_term(types: tuple[str, str, str]) -> None:
    dtype, accumulator, output = types
    for seed in range(20):
        matrices = drawn(Problem(5, 6, 7, dtype, output), seed, accumulator)
        for lines in (widen(matrices.a, dtype), widen(matrices.b, dtype).T):
            assert 1 <= np.isfinite(lines).size - np.isfinite(lines).sum() <= 2
            assert np.isfinite(lines[[0, -1]]).all()
            assert np.isfinite(lines[:, [0, -1]]).all()


@pytest.mark.parametrize("problem", [Problem(2, 2, 9), Problem(9, 9, 2), Problem(9, 9, 9, "int8", "int32")])
def test_small_products_and_integers_have_none(problem: Problem) -> None:
    matrices = drawn(problem, 1, "int32" if problem.dtype == "int8" else "float32")
    assert not matrices.not_finite
    assert np.isfinite(matrices.a).all()


def test_what_was_expected_goes_through_json() -> None:
    problem, seed = Problem(30, 20, 25), 1
    matrices = drawn(problem, seed)
    with np.errstate(invalid="ignore"):
        c = without_nan(matrices.a.astype(float), matrices.b.astype(float)).astype(np.float32)
    found = verify_product(problem, "float32", matrices, np.nan_to_num(c)).mismatch
    assert found is not None
    assert not np.isfinite(found.expected)
    assert found.is_ordinary
    assert found.to_json()["expected"] is None
    assert np.isnan(Mismatch.from_json(found.to_json()).expected)


def test_the_sign_of_zero_counts_where_all_products_are_positive_zeros() -> None:
    problem = Problem(3, 3, 4)
    matrices = draw_mixed(problem, "float32", 1)
    matrices.a[:], matrices.b[:] = 0, 1
    matrices = Matrices(matrices.a, matrices.b, matrices.c, np.full(3, Kind.ZERO), np.full(3, Kind.WHOLE))
    for sign, of_a, right in ((1, 1, True), (-1, 1, False), (-1, -1, True), (1, -1, True)):
        matrices.a[0, 0] = of_a * 0.0
        c = np.full((3, 3), 0.0, np.float32)
        c[0] *= sign
        assert verify_product(problem, "float32", matrices, c).verified is right
