"""Inputs of mixed kinds: right products in any order of summation, and other arithmetic than declared."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import pytest
from numpy.typing import NDArray

from mmcore.kernel.problem import Problem
from mmcore.verify.comparison import verify_product
from mmcore.verify.elements import is_poison, widen
from mmcore.verify.input_kinds import Kind
from mmcore.verify.inputs import draw, rearranged
from mmcore.verify.mixed_inputs import draw_mixed
from mmcore.verify.reference import suspect_rows
from mmcore.verify.tolerance import tolerance
from tests.core.test_verification import orders
from tests.fuzzing.arithmetics import Multiply, summed_in
from tests.narrowing import narrow

Values: TypeAlias = NDArray[Any]

M, N = 40, 33
SIZES = [1, 5, 64, 640]
# A and B's type, the accumulator, and C's type.
TYPES = [
    ("float32", "float32", "float32"),
    ("float64", "float64", "float64"),
    ("float16", "float32", "float16"),
    ("bfloat16", "float32", "bfloat16"),
    ("bfloat16", "float32", "float32"),
]


def is_verified(multiply: Multiply, types: tuple[str, str, str], k: int, seed: int, full: float | None = None) -> bool:
    """Return the verdict on the product that ``multiply`` computes from the exact values of A and B."""
    dtype, accumulator, output = types
    problem = Problem(M, N, k, dtype, output)
    matrices = draw_mixed(problem, accumulator, seed)
    with np.errstate(all="ignore"):
        c = multiply(widen(matrices.a, dtype), widen(matrices.b, dtype))
    return verify_product(problem, accumulator, matrices, narrow(c, output), full).verified


@pytest.mark.parametrize("full", [None, 0], ids=["every element", "sampled"])
@pytest.mark.parametrize("types", TYPES, ids="-".join)
@pytest.mark.parametrize("k", SIZES)
def test_a_right_product_is_accepted_in_any_order(types: tuple[str, str, str], k: int, full: float | None) -> None:
    for seed, order in enumerate(orders(types[1])):
        assert is_verified(order, types, k, seed, full), seed


@pytest.mark.parametrize(("dtype", "k"), [("float16", 17), ("float16", 2048), ("bfloat16", 64), ("bfloat16", 1024)])
def test_a_sum_in_a_narrow_type_is_accepted_where_it_is_declared(dtype: str, k: int) -> None:
    for seed in range(2):
        assert is_verified(summed_in(dtype), (dtype, dtype, dtype), k, seed)
        assert not is_verified(summed_in(dtype), (dtype, "float32", dtype), k, seed)


def rounded(bits: int) -> Multiply:
    """Return the product of numbers that are rounded to a number of bits."""

    def keep(numbers: Values) -> Values:
        significand, exponent = np.frexp(numbers)
        return np.asarray(np.ldexp(np.rint(np.ldexp(significand, bits)), exponent - bits))

    return lambda a, b: keep(a) @ keep(b)


def as_if(change: Callable[[Values], Values]) -> Multiply:
    """Return a product that applies ``change`` to A and B first."""
    return lambda a, b: change(a) @ change(b)


def of_numbers_below_one(numbers: Values) -> Values:
    return np.where((np.abs(numbers) >= 0.5) & (np.abs(numbers) < 1), numbers, 0.0)


def in_fixed_point(numbers: Values) -> Values:
    return np.rint(numbers * 2.0**24) / 2.0**24


def flushed(numbers: Values) -> Values:
    return np.where(np.abs(numbers) < 2.0**-126, 0.0, numbers)


def without_a_fifth(a: Values, b: Values) -> Values:
    last = max(1, a.shape[1] * 4 // 5)
    return a[:, :last] @ b[:last]


def of_zeros_nan(a: Values, b: Values) -> Values:
    return np.where(((a == 0).any(axis=1)[:, np.newaxis]) & (b == 0).any(axis=0), np.nan, a @ b)


WRONG: dict[str, tuple[Multiply, tuple[str, str, str]]] = {
    "nothing but [0.5, 1)": (as_if(of_numbers_below_one), TYPES[0]),
    "fixed point": (as_if(in_fixed_point), TYPES[0]),
    "zero for subnormal numbers": (as_if(flushed), TYPES[0]),
    "tf32": (rounded(11), TYPES[0]),
    "12 bits": (rounded(12), TYPES[0]),
    "16 bits": (rounded(16), TYPES[0]),
    "20 bits": (rounded(20), TYPES[0]),
    "float64 as float32": (rounded(24), TYPES[1]),
    "float64 as pairs of float32": (rounded(48), TYPES[1]),
    "a fifth missing from bfloat16 sums": (without_a_fifth, ("bfloat16", "bfloat16", "bfloat16")),
    "bfloat16 sums scaled": (lambda a, b: 0.6 * (a @ b), ("bfloat16", "bfloat16", "bfloat16")),
    "bfloat16 zeros": (lambda a, b: 0 * (a @ b), ("bfloat16", "bfloat16", "bfloat16")),
    "NaN for zero": (of_zeros_nan, TYPES[0]),
}


@pytest.mark.parametrize("k", [7, 640, 8192])
@pytest.mark.parametrize("wrong", WRONG)
def test_other_arithmetic_than_declared_is_found_at_any_k(wrong: str, k: int) -> None:
    multiply, types = WRONG[wrong]
    assert not any(is_verified(multiply, types, k, seed) for seed in range(1, 5))


@pytest.mark.parametrize("k", [8, 64])
def test_a_missing_last_term_is_found_with_every_seed(k: int) -> None:
    def without_the_last(a: Values, b: Values) -> Values:
        return a[:, :-1] @ b[:-1]

    assert not any(is_verified(without_the_last, TYPES[0], k, seed) for seed in range(200))


def test_small_products_are_distinguished_from_zeros() -> None:
    """One row and one column are of one kind each; some kinds are zero."""
    types = ("bfloat16", "bfloat16", "bfloat16")
    for m, n in ((1, 1), (2, 3), (7, 8)):
        found = 0
        for seed in range(20):
            problem = Problem(m, n, 640, *types[::2])
            matrices = draw_mixed(problem, types[1], seed)
            found += not verify_product(problem, types[1], matrices, np.zeros((m, n), np.uint16)).verified
        assert found >= (12 if m == 1 else 17), (m, n)


def test_the_mixture_is_another_each_time_and_the_same_for_a_seed() -> None:
    problem = Problem(200, 300, 10)
    one, other, again = (draw_mixed(problem, "float32", seed) for seed in (1, 2, 1))
    assert one.rows is not None
    assert one.columns is not None
    assert np.array_equal(one.a, again.a)
    assert not (one.rows == other.rows).all()
    assert set(one.rows) == set(Kind)
    assert set(one.columns) == set(Kind) - {Kind.ONE_SIGN}
    assert np.count_nonzero(np.diff(one.columns)) == 6


def test_sums_of_whole_numbers_are_exact_in_every_type_that_they_pass() -> None:
    for dtype, accumulator, output in TYPES:
        for k in (1, 512, 640, 70_000):
            problem = Problem(4, 40, k, dtype, output, beta=1)
            matrices = draw_mixed(problem, accumulator, 3)
            rows, columns = matrices.rows == Kind.WHOLE, matrices.columns == Kind.WHOLE
            a, b = np.abs(widen(matrices.a, dtype)), np.abs(widen(matrices.b, dtype))[:, columns]
            before = np.abs(widen(matrices.c, output))[:, columns]
            sums = (a[rows] @ b) + before[rows]
            sums = sums[sums < tolerance(problem, accumulator).largest]
            assert sums.size
            assert np.array_equal(widen(narrow(sums, output), output), sums)
            assert b.any()


def test_gaps_between_rows_stay_poison() -> None:
    matrices = draw_mixed(Problem(9, 20, 30, lda=40, ldb=50, ldc=60), "float32", 7)
    for matrix, columns in ((matrices.a, 30), (matrices.b, 20)):
        assert matrix.base is not None
        assert np.isnan(matrix.base[:, columns:]).all()
    assert np.isfinite(matrices.a).all()


def test_a_kernel_that_flushes_subnormal_numbers_is_not_given_any() -> None:
    matrices = draw_mixed(Problem(300, 5, 40), "float32", 1, flushes=True)
    assert Kind.SUBNORMAL not in set(matrices.rows)  # type: ignore[arg-type]
    assert (np.abs(matrices.a[matrices.a != 0]) >= 2.0**-126).all()


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_a_product_of_one_element_changes_its_sign(dtype: str) -> None:
    problem = Problem(1, 1, 5, dtype, dtype)
    one, other = (draw(problem, 1) for _ in range(2))
    a = widen(rearranged(problem, other, 2).a, dtype)
    assert np.array_equal(a, -widen(one.a, dtype))


@pytest.mark.parametrize("accumulate", [False, True])
def test_the_largest_error_is_that_of_rows_of_no_scale_of_their_own(accumulate: bool) -> None:
    problem = Problem(200, 60, 40, beta=accumulate)
    matrices = draw_mixed(problem, "float32", 1)
    assert matrices.rows is not None
    assert matrices.columns is not None
    before = matrices.c if accumulate else 0
    c = summed_in("float32")(matrices.a, matrices.b) + before
    errors = np.abs(narrow(c, "float32") - (widen(matrices.a, "float32") @ widen(matrices.b, "float32") + before))
    plain = np.ix_(*(~np.isin(each, (Kind.WHOLE, Kind.SCALED)) for each in (matrices.rows, matrices.columns)))
    assert errors[matrices.rows == Kind.SCALED].max() > 10 * errors[plain].max() > 0
    verification = verify_product(problem, "float32", matrices, narrow(c, "float32"))
    assert verification.max_error == pytest.approx(errors[plain].max(), rel=0.01)


def test_about_half_of_the_rows_of_whole_numbers_are_scaled_and_of_the_uniform_columns_one_sign() -> None:
    matrices = draw_mixed(Problem(400, 400, 50), "float32", 1)
    assert matrices.rows is not None
    whole = matrices.a[matrices.rows == Kind.WHOLE].astype(np.float64)
    plain = (whole % 2 == 1).any(axis=1)
    assert 0.35 < plain.mean() < 0.65
    assert (np.abs(whole[plain]) < 2**12).all()
    assert (np.abs(whole[~plain]).max(axis=1) != 0).all()
    uniform = matrices.b[:, matrices.columns == Kind.UNIFORM]
    assert (uniform > 0).all(axis=0).sum() == uniform.shape[1] // 2
    assert 0.3 < (uniform[:, uniform.shape[1] // 2 :] > 0).mean() < 0.7


@pytest.mark.parametrize("accumulate", [False, True])
def test_what_belongs_to_a_row_or_a_column_changes_places_with_it(accumulate: bool) -> None:
    problem = Problem(60, 50, 40, beta=accumulate)
    one, other = (draw_mixed(problem, "float32", 1) for _ in range(2))
    other = rearranged(problem, other, 2)
    assert one.rows is not None
    assert other.rows is not None
    moved = 0
    for row in range(60):
        (places,) = np.nonzero((np.abs(one.a) == np.abs(other.a[row])).all(axis=1))
        assert other.rows[row] in one.rows[places]
        if len(places) == 1:
            moved += places[0] != row
            assert (other.a[row] == one.a[places[0]] * (1 if places[0] == row else -1)).all()
            assert not accumulate or sorted(other.c[row]) == sorted(one.c[places[0]])
    assert 10 < moved < 45
    assert one.columns is not None
    assert 10 < (other.b == one.b).all(axis=0).sum() < 45
    for kind in Kind:
        columns = one.columns == kind
        assert sorted(map(bytes, other.b[:, columns].T)) == sorted(map(bytes, one.b[:, columns].T))


@pytest.mark.parametrize(("m", "n"), [(1, 2), (2, 1), (3, 3), (4, 5)])
def test_of_more_than_two_rows_or_columns_the_ends_stay(m: int, n: int) -> None:
    problem = Problem(m, n, 9)
    found = {"rows": [0, 0], "columns": [0, 0]}
    for seed in range(20):
        one, other = (draw(problem, 1) for _ in range(2))
        other = rearranged(problem, other, seed)
        for name, changed in (("rows", (other.a != one.a).any(axis=1)), ("columns", (other.b != one.b).any(axis=0))):
            found[name][0] += changed[0] + changed[-1]
            found[name][1] += changed[1:-1].sum()
    assert (found["rows"][0] == 0, found["rows"][1] > 0) == (m > 2, m > 2)
    assert (n > 2) <= (found["columns"][0] == 0)


@pytest.mark.parametrize("output", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("accumulator", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_products_stay_in_range_and_whole_sums_exact(dtype: str, accumulator: str, output: str) -> None:
    for k, (alpha, beta) in itertools.product((1, 300), ((1, 0), (1, 1), (-20, 0), (1, 20_000), (0.25, 0))):
        problem = Problem(40, 40, k, dtype, output, alpha=alpha, beta=beta)
        matrices = draw_mixed(problem, accumulator, 3)
        a, b = widen(matrices.a, dtype), widen(matrices.b, dtype)
        before = beta * widen(matrices.c, output) if beta else np.zeros((40, 40))
        assert all(np.isfinite(numbers).all() for numbers in (a, b, before))
        largest = abs(alpha) * (np.abs(a) @ np.abs(b)) + np.abs(before)
        assert matrices.rows is not None
        assert matrices.columns is not None
        whole = largest[np.ix_(matrices.rows == Kind.WHOLE, matrices.columns == Kind.WHOLE)]
        inside = whole < tolerance(problem, accumulator).largest
        assert inside.mean() > 0.5
        if problem.keeps_whole:
            ranges = {accumulator, output}
            assert all(np.array_equal(widen(narrow(whole, name), name)[inside], whole[inside]) for name in ranges)


@pytest.mark.parametrize("types", [types for types in TYPES if types[1] == "float32"], ids="-".join)
def test_no_row_of_a_right_product_of_mixed_kinds_is_suspect(types: tuple[str, str, str]) -> None:
    dtype, accumulator, output = types
    problem = Problem(300, 100, 40, dtype, output)
    matrices = draw_mixed(problem, accumulator, 2)
    assert matrices.rows is not None
    c = narrow(summed_in("float32")(widen(matrices.a, dtype), widen(matrices.b, dtype)), output)
    rng = np.random.default_rng(1)
    before = widen(c, output)
    overflown = np.flatnonzero(~np.isfinite(before).all(axis=1)).tolist()
    assert set(suspect_rows(problem, accumulator, matrices, c, rng)) == set(overflown)
    small = (Kind.ZERO, Kind.SUBNORMAL, Kind.TINY)
    rows = np.setdiff1d(np.flatnonzero(~np.isin(matrices.rows, small)), overflown)[::10]
    for row in rows:
        before[row, 50] += 0.1 * np.abs(before[row]).max() + 1e-30
    wrong = narrow(before, output)
    assert set(suspect_rows(problem, accumulator, matrices, wrong, rng)) == {*rows.tolist(), *overflown}


@pytest.mark.parametrize(
    ("dtype", "k", "extremes"),
    [
        ("int8", 64, {-128, -127}),
        ("uint8", 64, {255, 254}),
        ("int32", 64, {-(2**12), -(2**12) + 1}),
        ("int8", 131_069, {-128, -127}),
        ("int8", 131_070, set()),  # 128²·k would be more than int32 holds
    ],
)
def test_some_rows_and_columns_of_whole_numbers_are_of_the_greatest(dtype: str, k: int, extremes: set[int]) -> None:
    matrices = draw_mixed(Problem(40, 30, k, dtype, "int32"), "int32", 1)
    for lines in (matrices.a, matrices.b.T):
        extreme = np.isin(lines[:, :64], list(extremes)).all(axis=1)
        assert (0.1 < extreme.mean() < 0.5) == bool(extremes)
        assert set(np.unique(lines[extreme])) == extremes
    assert matrices.rows is None


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32"])
def test_rearranged_whole_numbers_stay_in_the_range_of_their_type(dtype: str) -> None:
    problem = Problem(40, 30, 50, dtype, "int32")
    before, after = draw_mixed(problem, "int32", 1), rearranged(problem, draw_mixed(problem, "int32", 1), 1)
    rows = [number for number, (one, other) in enumerate(zip(before.a, after.a, strict=True)) if (one != other).any()]
    assert 10 < len(rows) < 30
    # Each value x has a counterpart -1 - x in the type; for uint8, 255 - x.
    assert sorted(map(tuple, after.a[rows])) == sorted(map(tuple, np.invert(before.a[rows])))
    assert {tuple(column) for column in after.b.T} == {tuple(column) for column in before.b.T}
    assert not np.array_equal(after.b, before.b)


@pytest.mark.parametrize("initial_c", ["poison", "zeros"])
def test_rearranged_inputs_come_with_numbers_in_c_unless_that_is_of_zeros(initial_c: str) -> None:
    problem = Problem(20, 30, 5, ldc=33, initial_c=initial_c)
    c = rearranged(problem, draw(problem, 1), 2).c
    assert c.base is not None
    assert is_poison(c.base[:, 30:]).all()
    assert (np.abs(c) >= 0.5).all() if initial_c == "poison" else (c == 0).all()
