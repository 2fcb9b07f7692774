"""Verification accepts a right product in any order of summation, and finds one wrong element."""

from __future__ import annotations

import json
import math
import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import Generator
from numpy.typing import NDArray

from mmcore.errors import InvalidProblem
from mmcore.kernel.problem import Problem
from mmcore.verify import comparison, reference
from mmcore.verify.comparison import sampled_rows, verify_product
from mmcore.verify.elements import poison, widen
from mmcore.verify.input_kinds import Kind
from mmcore.verify.inputs import Matrices, draw
from mmcore.verify.mixed_inputs import draw_mixed, draw_wide
from mmcore.verify.outcome import Mismatch, Verification
from mmcore.verify.reference import suspect_rows
from mmcore.verify.tolerance import hides_a_term, tolerance
from tests.fuzzing.arithmetics import Multiply, backwards, split, summed_in, tensor_cores
from tests.narrowing import narrow, rounded, wide
from tests.tables import table

Array: TypeAlias = NDArray[Any]
Place: TypeAlias = tuple[int, int]
SIZES = [1, 2, 17, 200]
ROUNDOFF = 2.0**-24
M, N = 40, 33


@pytest.fixture(params=["every element", "sampled", "sampled in small pieces"])
def regime(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param != "every element":
        monkeypatch.setattr(comparison, "FULL_REFERENCE_FLOPS", 0)
    if request.param == "sampled in small pieces":
        monkeypatch.setattr(reference, "BLOCK_COLUMNS", 16)
        monkeypatch.setattr(reference, "PANEL_ELEMENTS", 3000)
    return str(request.param)


def exact(problem: Problem, matrices: Matrices) -> NDArray[np.float64]:
    product = problem.alpha * (widen(matrices.a, problem.dtype) @ widen(matrices.b, problem.dtype))
    return product + problem.beta * widen(matrices.c, problem.output) if problem.accumulate else product


def right(problem: Problem, matrices: Matrices) -> Array:
    return narrow(exact(problem, matrices), problem.output)


def found(verification: Verification) -> Mismatch:
    assert not verification.verified
    assert verification.mismatch is not None
    return verification.mismatch


def place(verification: Verification) -> Place:
    return found(verification).row, found(verification).column


# Right products.


def orders(accumulator: str) -> list[Multiply]:
    """Return right sums in several orders."""
    of_tensor_cores = [tensor_cores(8, 25)] if accumulator == "float32" else []
    return [summed_in(accumulator), backwards(accumulator), split(accumulator), *of_tensor_cores, np.matmul]


@pytest.mark.parametrize(
    "types",
    [
        *("float32 float32", "float64 float64", "float16 float32", "float16 float16"),
        *("bfloat16 float32", "bfloat16 bfloat16"),
    ],
)
@pytest.mark.parametrize("k", [*SIZES, 5])
def test_right_sums_are_accepted_in_any_order(types: str, k: int, regime: str) -> None:
    dtype, output = types.split()
    problem = Problem(M, N, k, dtype, output)
    matrices = draw(problem, seed=k)
    accumulator = "float64" if dtype == "float64" else "float32"
    for order in orders(accumulator):
        c = narrow(order(widen(matrices.a, dtype), widen(matrices.b, dtype)), output)
        verification = verify_product(problem, accumulator, matrices, c)
        assert (verification.verified, verification.mismatch, verification.wrong) == (True, None, 0)
        assert verification.max_error is not None


@pytest.mark.parametrize(("dtype", "k"), [("float16", 17), ("float16", 2048), ("bfloat16", 64), ("bfloat16", 1024)])
def test_a_sum_in_a_narrow_type_is_accepted_and_nothing_is_not(dtype: str, k: int, regime: str) -> None:
    problem = Problem(M, N, k, dtype)
    matrices = draw(problem, seed=k)
    a, b = widen(matrices.a, dtype), widen(matrices.b, dtype)
    total = summed_in(dtype)(a, b)
    verification = verify_product(problem, dtype, matrices, narrow(total, dtype))
    assert verification.verified
    note = f", but one term of {k} can hide in the rounding of {dtype}"
    assert verification.method.endswith(note) == (k > 25)
    assert not verify_product(problem, "float32", matrices, narrow(total, dtype)).verified
    zeros = verify_product(problem, dtype, matrices, narrow(np.zeros((M, N)), dtype))
    assert (found(zeros).got, 0 < zeros.wrong <= zeros.compared) == (0, True)
    assert not verify_product(problem, dtype, matrices, narrow(0.4 * (a @ b), dtype)).verified
    small = Problem(7, 9, k, dtype)
    assert verify_product(small, dtype, draw(small, seed=1), right(small, draw(small, seed=1))).verified


def test_terms_hide_in_float32_from_k_10322_on_and_in_narrow_types_far_earlier() -> None:
    for accumulator, most in [("float32", 10321), ("float16", 25), ("bfloat16", 6)]:
        assert not hides_a_term(Problem(1, 1, most, output=accumulator), accumulator)
        assert hides_a_term(Problem(1, 1, most + 1, output=accumulator), accumulator)
    assert not hides_a_term(Problem(1, 1, 180, output="bfloat16"), "float32")
    assert hides_a_term(Problem(1, 1, 200, output="bfloat16"), "float32")
    assert not hides_a_term(Problem(1, 1, 10**9, "float64"), "float64")
    # C's old value counts as much as it does beside α.
    assert hides_a_term(Problem(1, 1, 100, alpha=1e-3, beta=1e3), "float32")
    assert not hides_a_term(Problem(1, 1, 100, alpha=1.0, beta=1e3), "float32")


# Mistakes. Each damages a right C in place and returns the position of the first wrong element.

Damage = Callable[[Generator, Problem, Matrices, Array], Place]


def anywhere(rng: Generator, problem: Problem) -> Place:
    return int(rng.integers(problem.m)), int(rng.integers(problem.n))


def terms_too_many(number: int) -> Damage:
    def damage(rng: Generator, problem: Problem, matrices: Matrices, c: Array) -> Place:
        row, column = anywhere(rng, problem)
        step = rng.integers(problem.k)
        c[row, column] += number * matrices.a[row, step] * matrices.b[step, column]
        return row, column

    return damage


def an_element(value: Any) -> Damage:
    def damage(rng: Generator, problem: Problem, matrices: Matrices, c: Array) -> Place:
        where = anywhere(rng, problem)
        c[where] = poison((1,), problem.output)[0] if value == "poison" else value
        return where

    return damage


def two_swapped(rng: Generator, problem: Problem, matrices: Matrices, c: Array) -> Place:
    row, _ = anywhere(rng, problem)
    one, other = sorted(int(column) for column in rng.choice(problem.n, 2, replace=False))
    c[row, [one, other]] = c[row, [other, one]]
    return row, one


def unwritten_row(rng: Generator, problem: Problem, matrices: Matrices, c: Array) -> Place:
    row, _ = anywhere(rng, problem)
    c[row] = poison((problem.n,), problem.output)
    return row, 0


def stale(rng: Generator, problem: Problem, matrices: Matrices, c: Array) -> Place:
    c[:] = right(problem, draw(problem, int(rng.integers(2**32))))
    return 0, 0


def transposed(rng: Generator, problem: Problem, matrices: Matrices, c: Array) -> Place:
    c[:] = c.T.copy()
    return 0, 1


MISTAKES = {
    "dropped term": terms_too_many(-1),
    "doubled term": terms_too_many(1),
    "swapped elements": two_swapped,
    "NaN": an_element(math.nan),
    "Inf": an_element(math.inf),
    "-Inf": an_element(-math.inf),
    "zero": an_element(0.0),
    "unwritten element": an_element("poison"),
    "unwritten row": unwritten_row,
    "stale": stale,
    "transposed": transposed,
}
IN_ONE_ROW = ["dropped term", "doubled term", "swapped elements", "NaN", "Inf", "-Inf", "zero"]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("k", SIZES)
@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_found_where_it_is(mistake: str, k: int, dtype: str, regime: str) -> None:
    problem = Problem(M, M, k, dtype)
    matrices = draw(problem, seed=k)
    expected, c = exact(problem, matrices), right(problem, matrices)
    row, column = MISTAKES[mistake](np.random.default_rng(k), problem, matrices, c)
    verification = verify_product(problem, dtype, matrices, c)
    mismatch = found(verification)
    assert (mismatch.row, mismatch.column) == (row, column)
    assert mismatch.expected == pytest.approx(expected[row, column], abs=1e-9)
    assert mismatch.got == pytest.approx(float(c[row, column]), nan_ok=True)
    assert mismatch.unwritten == mistake.startswith("unwritten")
    assert verification.wrong >= 1
    if math.isfinite(mismatch.got):
        assert verification.max_error is not None
        assert verification.max_error >= abs(c[row, column] - expected[row, column]) * 0.999
        assert mismatch.allowed is not None
        assert 0 < mismatch.allowed <= abs(mismatch.got - mismatch.expected)
    else:
        assert verification.max_error is None


@settings(max_examples=40)
@given(
    m=st.integers(1, 70),
    n=st.integers(1, 70),
    k=st.integers(1, 300),
    seed=st.integers(0, 2**32 - 1),
    full=st.sampled_from([0, 1e9]),
)
def test_in_any_shape_a_dropped_term_is_found(m: int, n: int, k: int, seed: int, full: float) -> None:
    problem = Problem(m, n, k, lda=k + seed % 3, ldb=n + seed % 5, ldc=n + seed % 7)
    matrices = draw(problem, seed)
    c = matrices.a @ matrices.b
    assert verify_product(problem, "float32", matrices, c, full).verified
    where = terms_too_many(-1)(np.random.default_rng(seed), problem, matrices, c)
    assert place(verify_product(problem, "float32", matrices, c, full)) == where


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_a_dropped_term_is_found_in_a_16_bit_result_near_zero(dtype: str) -> None:
    problem = Problem(M, N, 640, dtype)
    matrices = draw(problem, seed=1)
    expected = exact(problem, matrices)
    row, column = divmod(int(np.abs(expected).argmin()), problem.n)
    c = narrow(expected, dtype)
    c[row, column] = narrow(expected[row, column] + 0.25, dtype)
    assert place(verify_product(problem, "float32", matrices, c)) == (row, column)


def test_of_several_mistakes_the_first_is_reported_and_all_are_counted(regime: str) -> None:
    problem = Problem(80, 40, 20)
    matrices = draw(problem, seed=1)
    rng = np.random.default_rng(1)
    for _ in range(10):
        c = right(problem, matrices)
        places = {anywhere(rng, problem) for _ in range(3)}
        for where in places:
            c[where] += 1
        verification = verify_product(problem, "float32", matrices, c)
        assert place(verification) == min(places)
        assert verification.max_error == pytest.approx(1, abs=1e-4)
        assert verification.wrong == len(places) or regime != "every element"


# The tolerance.


@pytest.mark.parametrize("computed_by", ["host", "device", "rows"])
@pytest.mark.parametrize("types", [("float64", "float64"), ("float32", "float64")])
def test_numbers_beyond_the_range_of_float32_have_a_tolerance(types: tuple[str, str], computed_by: str) -> None:
    problem = Problem(50, 40, 30, types[0], types[1])
    matrices = draw_wide(problem, types[1], seed=1)
    a, b = (widen(matrix, types[0]) for matrix in (matrices.a, matrices.b))
    products = (a @ b, np.abs(a) @ np.abs(b)) if computed_by == "device" else None
    sums = np.add.accumulate(a.T[:, :, np.newaxis] * b[:, np.newaxis], axis=0)[-1]
    full_flops = 0 if computed_by == "rows" else None
    assert verify_product(problem, types[1], matrices, sums, full_flops, products).verified
    verification = verify_product(problem, types[1], matrices, sums * (1 + 2.0**-15), full_flops, products)
    assert verification.wrong == verification.compared


def test_a_wrong_row_is_suspect_whatever_the_squares_of_its_numbers_are() -> None:
    problem = Problem(100, 64, 64, "float64")
    for scale in (2.0**508, 2.0**-508):
        matrices = draw(problem, seed=1)
        matrices = replace(matrices, a=matrices.a * scale, b=matrices.b * scale)
        c = matrices.a @ matrices.b
        c[::3, 5] *= 1 + 2.0**-30
        suspects = suspect_rows(problem, "float64", matrices, c, np.random.default_rng(1))
        assert suspects.tolist() == list(range(0, 100, 3))


@pytest.mark.parametrize("k", [4, 8, 64, 640])
def test_float32_in_parts_is_right_where_all_that_count_are_multiplied(k: int) -> None:
    def parts(numbers: Array) -> tuple[Array, Array]:
        """Return the big and small parts of numbers, truncated to TF32."""
        big = (numbers.copy().view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32)
        small = ((numbers - big).view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32)
        return big.astype(float), small.astype(float)

    problem = Problem(60, 50, k)
    for seed in range(5):
        matrices = draw_mixed(problem, "float32", seed)
        (a, a_small), (b, b_small) = parts(matrices.a), parts(matrices.b)
        for sums, verified in ((a @ b + a_small @ b + a @ b_small, True), (a @ b + a_small @ b, False)):
            c, quantum = sums.astype(np.float32), 2.0**-136
            outcome = verify_product(problem, "float32", matrices, c, algorithm="parts", quantum=quantum)
            assert outcome.verified is verified


@pytest.mark.parametrize("accumulate", [False, True])
@pytest.mark.parametrize("k", SIZES)
def test_an_element_passes_just_inside_the_tolerance_and_not_just_outside(k: int, accumulate: bool) -> None:
    problem = Problem(20, 20, k, "float32", "float64", beta=accumulate)
    matrices = draw(problem, seed=k)
    magnitude = np.abs(matrices.a[11].astype(float)) @ np.abs(matrices.b[:, 7].astype(float))
    magnitude += abs(matrices.c[11, 7]) * (1 + math.sqrt(k) / 8) if accumulate else 0
    for distance, verified in [(0.99, True), (-0.99, True), (1.01, False), (-1.01, False)]:
        c = exact(problem, matrices)
        c[11, 7] += distance * 2 * math.sqrt(k + accumulate) * ROUNDOFF * magnitude
        assert verify_product(problem, "float32", matrices, c).verified is verified


@given(
    expected=st.floats(-60000, 60000) | st.floats(-1e-6, 1e-6),
    magnitude=st.floats(0, 60000, width=32),
    error=st.sampled_from([-1.0, 0.0, 1.0]),
    output=st.sampled_from(["float16", "bfloat16"]),
)
def test_rounding_stays_within_the_tolerance(expected: float, magnitude: float, error: float, output: str) -> None:
    references, magnitudes = np.array([expected]), np.array([magnitude])
    summed = tolerance(Problem(1, 1, 8192, output, "float32"), "float32")(references, magnitudes)
    total = expected + error * summed[0]
    allowed = tolerance(Problem(1, 1, 8192, output), "float32")(references, magnitudes)
    assert abs(widen(narrow(total, output), output) - expected) <= allowed[0] or abs(total) > 65504


def test_a_float64_sum_is_allowed_as_much_as_its_reference_and_storing_its_rounding() -> None:
    limit = tolerance(Problem(1, 1, 9, "float64"), "float64")
    assert limit(np.array([0.0]), np.array([4.5]))[0] == 2 * 3 * 2 * 2.0**-53 * 4.5
    problem = Problem(20, 20, 16, "bfloat16")
    matrices = draw(problem, seed=1)
    c = right(problem, matrices)
    assert verify_product(problem, "float32", matrices, c).verified
    c[3, 4] += 2  # two units in the last place
    assert place(verify_product(problem, "float32", matrices, c)) == (3, 4)


@pytest.mark.parametrize(("alpha", "beta", "more"), [(1, 0, 0), (1, 1, 0), (2, 0, 2), (-1, 1, 2), (1, 3, 2), (2, 3, 2)])
@pytest.mark.parametrize("accumulator", ["float16", "float32"])
def test_a_factor_is_allowed_two_roundings(accumulator: str, alpha: float, beta: float, more: int) -> None:
    plain = tolerance(Problem(4, 5, 7, beta=bool(beta)), accumulator)
    scaled = tolerance(Problem(4, 5, 7, alpha=alpha, beta=beta), accumulator)
    unit = {"float16": 2.0**-11, "float32": 2.0**-24}[accumulator]
    assert scaled.summing - plain.summing == pytest.approx(more * (unit + 2.0**-53))
    assert scaled.last_bits - plain.last_bits == more * unit


@pytest.mark.parametrize("algorithm", ["", "strassen"])
def test_strassens_errors_are_allowed_to_strassens_algorithm(algorithm: str, regime: str) -> None:
    problem = Problem(M, N, 64, "float32", "float64")
    matrices = draw(problem, seed=1)
    c = exact(problem, matrices)
    c[39] += 80 * 64 * tolerance(problem, "float32").summing  # |A|·|B| is less than 64; three levels allow 91 times
    assert verify_product(problem, "float32", matrices, c, algorithm=algorithm).verified == bool(algorithm)


@pytest.mark.parametrize(("kind", "accumulator", "allowed"), [
    (Kind.SCALED, "float22", True), (Kind.UNIFORM, "float22", False), (Kind.SCALED, "float32", False),
])  # fmt: skip
def test_terms_that_differ_much_are_cut_off_where_the_largest_is(kind: Kind, accumulator: str, allowed: bool) -> None:
    """Tensor cores cut a sum of 32 terms off once: of terms of one size that is less than each term's own rounding."""
    problem = Problem(3, 40, 64, "float8_e4m3fn", "float64")
    matrices = replace(draw(problem, seed=1), rows=np.array([0, kind, 0]), columns=np.zeros(40, int))
    [panel] = reference.panels(problem, matrices, np.arange(3))
    c = panel.product.copy()
    c[1] += 3 * tolerance(problem, accumulator).summing * panel.magnitude[1]
    assert verify_product(problem, accumulator, matrices, c).verified == allowed


def test_promoted_sums_err_no_more_the_longer_they_are() -> None:
    bounds = {}
    for accumulator in ("float22", "float22/128"):
        problems = [Problem(3, 40, k, "float8_e4m3fn", "bfloat16") for k in (64, 128, 512, 8192)]
        bounds[accumulator] = [tolerance(problem, accumulator).summing for problem in problems]
    assert bounds["float22/128"] == [*bounds["float22"][:2], *[bounds["float22"][1]] * 2]
    assert bounds["float22"][3] == pytest.approx(8 * bounds["float22"][1], rel=1e-9)


@pytest.mark.parametrize("terms", [128, 8192])
def test_sums_that_are_promoted_too_late_are_found(terms: int) -> None:
    """Use numbers of one sign, as float22 cuts off the last terms of long sums."""
    problem = Problem(3, 40, 8192, "float8_e4m3fn", "float64")
    matrices = draw(problem, seed=1)
    numbers = [np.abs(wide(matrix, problem.dtype)) for matrix in (matrices.a, matrices.b)]
    sums = np.zeros((3, 40))
    for first in range(0, problem.k, terms):
        part = np.zeros((3, 40))
        for at in range(first, first + terms, 32):
            part = rounded(part + numbers[0][:, at : at + 32] @ numbers[1][at : at + 32], "float22")
        sums += part
    bound = tolerance(problem, "float22/128").summing * (numbers[0] @ numbers[1])
    assert bool((np.abs(sums - numbers[0] @ numbers[1]) <= bound).all()) == (terms == 128)


# Accumulation.


@pytest.mark.parametrize("by_device", [False, True])
@pytest.mark.parametrize(
    ("alpha", "beta"), [(1, 0), (1, 1), (2, 0), (-0.75, 0), (1, -1), (1, 0.25), (-3, 1), (0.5, 40)]
)
def test_other_factors_are_wrong(alpha: float, beta: float, by_device: bool, regime: str) -> None:
    problem = Problem(M, N, 17, alpha=alpha, beta=beta)
    matrices = draw(problem, seed=1)
    a, b = (widen(matrix, "float32") for matrix in (matrices.a, matrices.b))
    products = (a @ b, (np.abs(a) @ np.abs(b))) if by_device else None

    def verified(alpha: float, beta: float) -> bool:
        old = beta * widen(matrices.c, "float32") if beta else 0.0
        c = narrow(alpha * (a @ b) + old, "float32")
        return verify_product(problem, "float32", matrices, c, products=products).verified

    assert verified(alpha, beta)
    others = [(-alpha, beta), (alpha * 1.01, beta), (alpha, -beta), (alpha, beta + 0.01 * bool(beta)), (1, bool(beta))]
    others += [(alpha, 0), (alpha, beta + 1)]
    assert not any(verified(*other) for other in others if other != (alpha, beta))


def test_an_element_that_kept_the_old_c_is_wrong_and_not_called_unwritten(regime: str) -> None:
    problem = Problem(M, N, 17, beta=1)
    matrices = draw(problem, seed=1)
    c = right(problem, matrices)
    for value in (matrices.c[39, 20], poison((1,), "float32")[0]):
        c[39, 20] = value
        mismatch = found(verify_product(problem, "float32", matrices, c))
        assert (mismatch.row, mismatch.column, mismatch.unwritten) == (39, 20, False)


# Strides, types and inputs of the verified product.


def test_any_strides_will_do(regime: str) -> None:
    problem = Problem(M, N, 17, lda=20, ldb=45, ldc=64)
    matrices = draw(problem, seed=1)
    padded = poison((M, 64), "float32")[:, :N]
    padded[:] = right(problem, matrices)
    assert verify_product(problem, "float32", matrices, padded).verified
    by_columns = np.asfortranarray(padded)
    by_columns[35, 30] += 0.25
    assert place(verify_product(problem, "float32", matrices, by_columns)) == (35, 30)


def test_a_result_of_ml_dtypes_bfloat16_will_do(regime: str) -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    problem = Problem(M, N, 17, "bfloat16")
    matrices = draw(problem, seed=1)
    c = right(problem, matrices).view(ml_dtypes.bfloat16)
    assert verify_product(problem, "float32", matrices, c).verified
    c[35, 30] = poison((1,), "bfloat16").view(ml_dtypes.bfloat16)[0]
    mismatch = found(verify_product(problem, "float32", matrices, c))
    assert (mismatch.row, mismatch.column, mismatch.unwritten) == (35, 30, True)


def test_a_result_of_another_shape_or_type_cannot_be_verified() -> None:
    problem = Problem(4, 5, 6)
    matrices = draw(problem, seed=1)
    with pytest.raises(InvalidProblem, match="C is 4×5, but the array to verify has the shape"):
        verify_product(problem, "float32", matrices, np.zeros((5, 4), np.float32))
    with pytest.raises(InvalidProblem, match="a float32 matrix is stored as float32, but the array holds float64"):
        verify_product(problem, "float32", matrices, np.zeros((4, 5)))


def test_verifying_says_how_and_leaves_the_matrices_alone(regime: str) -> None:
    problem = Problem(M, N, 17, "float64", beta=1)
    matrices, untouched = draw(problem, seed=1), draw(problem, seed=1)
    c = right(problem, matrices)
    verification = verify_product(problem, "float64", matrices, c)
    assert (verification.method, verification.compared) == (
        ("every element against float64", M * N)
        if regime == "every element"
        else ("32 rows against float64 and 16 random projections of every row", 32 * N)
    )
    for name in ("a", "b", "c"):
        assert np.array_equal(getattr(matrices, name), getattr(untouched, name))
    assert np.array_equal(c, right(problem, untouched))


# The mismatch as it is printed and saved.


@pytest.mark.parametrize(
    ("expected", "got", "more", "text"),
    [
        (167.6, 0.0, {}, "expected 167.600000 - got 0.000000"),
        (167.6, math.nan, {}, "expected 167.600000 - got NaN"),
        (1.0, math.nan, {"unwritten": True}, "expected 1.000000 - got NaN (never written)"),
        (
            1,
            math.nan,
            {"unwritten": True, "output": "float64"},
            "expected 1.000000 - got NaN (never written, or added to)",
        ),
        (167.6, -3e38, {}, "expected 167.600000 - got -3e+38"),
        (1.0, 1.0 + 2e-8, {"allowed": 1e-8}, "expected 1.00000000 - got 1.00000002 (2e-08 off; 1e-08 is allowed)"),
        (167.6, 180.0, {"allowed": 1e-8}, "expected 167.600000 - got 180.000000"),
        (3e-39, 2e-39, {}, "expected 3.0000000000000003e-39 - got 1.9999999999999999e-39"),
        (-3e-39, 0.0, {}, "expected -3.0000000000000003e-39 - got 0.000000"),
        (2e-9, -2e-9, {}, "expected 0.000000002 - got -0.000000002"),
        (2.0, -2.0, {}, "expected 2.000000 - got -2.000000"),
        (2.0, -0.0, {}, "expected 2.000000 - got 0.000000"),
        (-1e-9, 2.0, {}, "expected 0.000000 - got 2.000000"),
        (1.0, 1e9, {}, "expected 1.000000 - got 1e+09"),
        (-1.5e12, 1.0, {}, "expected -1.5e+12 - got 1.000000"),
        (-999999999.5, 1.0, {}, "expected -999999999.500000 - got 1.000000"),
        (100.0, 99.001, {"allowed": 0.5}, "expected 100.000000 - got 99.001000 (1 off; 0.5 is allowed)"),
        (100.0, 100.999, {"allowed": 0.5}, "expected 100.000000 - got 100.999000 (1 off; 0.5 is allowed)"),
        (100.0, 98.999, {"allowed": 0.5}, "expected 100.000000 - got 98.999000"),
        (100.0, 101.001, {"allowed": 0.5}, "expected 100.000000 - got 101.001000"),
    ],
)
def test_a_mismatch_shows_enough_decimals(expected: float, got: float, more: dict[str, Any], text: str) -> None:
    mismatch = Mismatch(1, 640, expected, got, **more)
    document = json.loads(json.dumps(mismatch.to_json(), allow_nan=False))
    assert str(mismatch) == str(Mismatch.from_json(document)) == f"1:640: {text}"
    assert json.dumps(Mismatch(1, 640, 1.0, math.inf).to_json(), allow_nan=False)


@pytest.mark.parametrize(
    ("rows", "place"), [([Kind.ZERO, Kind.SCALED, Kind.UNIFORM], (2, 1)), ([Kind.ZERO, Kind.SCALED, Kind.ZERO], (0, 0))]
)
@pytest.mark.parametrize("panel", [1, 1000])
def test_the_first_mismatch_of_ordinary_size_is_reported(
    monkeypatch: pytest.MonkeyPatch, rows: list[Kind], place: Place, panel: int
) -> None:
    monkeypatch.setattr(reference, "PANEL_ELEMENTS", panel)
    monkeypatch.setattr(reference, "_GOOD_ROWS", 1)
    problem, columns = Problem(3, 2, 4), [Kind.ZERO, Kind.UNIFORM]
    factors = {Kind.ZERO: 0.0, Kind.SCALED: 2.0**-40, Kind.UNIFORM: 1.0}
    a = np.array([[factors[kind]] * 4 for kind in rows], np.float32)
    b = np.array([[factors[kind] for kind in columns]] * 4, np.float32)
    matrices = Matrices(a, b, poison((3, 2), "float32"), np.array(rows), np.array(columns))
    verification = verify_product(problem, "float32", matrices, a @ b + np.float32(0.5))
    mismatch = found(verification)
    assert (mismatch.row, mismatch.column, mismatch.got) == (*place, mismatch.expected + 0.5)
    assert verification.extent == "6 of the 6 elements compared are wrong"
    note = "" if Kind.UNIFORM in rows else ": those that should be zero, tiny or huge"
    assert replace(verification, wrong=4).extent == f"4 of the 6 elements compared are wrong{note}"


def test_an_unwritten_element_is_reported_whatever_it_should_be() -> None:
    matrices = Matrices(np.zeros((2, 3), np.float32), np.zeros((3, 2), np.float32), poison((2, 2), "float32"))
    mismatch = found(verify_product(Problem(2, 2, 3), "float32", matrices, matrices.c))
    assert str(mismatch) == "0:0: expected 0.000000 - got NaN (never written)"


@pytest.mark.parametrize("k", [1, 70, 1100])
def test_minus_zero_is_wrong_only_where_all_products_are_plus_zero(k: int) -> None:
    """One product of -0 is enough for a right sum of -0 or +0, wherever it is along k."""
    a, b = np.zeros((k + 1, k), np.float32), np.ones((k, 2), np.float32)
    a[range(k), range(k)] = -0.0
    matrices = Matrices(a, b, poison((k + 1, 2), "float32"))
    c = np.full((k + 1, 2), -0.0, np.float32)
    c[:, 1] = 0.0
    verification = verify_product(Problem(k + 1, 2, k), "float32", matrices, c)
    mismatch = found(verification)
    assert (verification.wrong, mismatch.row, mismatch.column) == (1, k, 0)


# Sampling and projections.


@pytest.mark.parametrize("m", [33, 64, 129, 3200])
def test_sampled_rows_are_the_ends_both_sides_of_tile_boundaries_and_random_ones(m: int) -> None:
    samples = [sampled_rows(m, np.random.default_rng(seed)) for seed in range(100)]
    for rows in samples:
        assert len(rows) == 32
        assert (np.diff(rows) > 0).all()
        assert (rows[0], rows[-1]) == (0, m - 1)
        for tile in (8, 16, 32, 64, 128):
            assert tile >= m or any({boundary - 1, boundary} <= set(rows) for boundary in range(tile, m, tile))
    assert len({tuple(rows) for rows in samples}) > 10
    assert len(set().union(*samples)) >= min(m, 1000)


def test_no_kernel_can_foresee_the_sampled_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the projections blind, a wrong row is found only in the samples that happen to hold it."""
    monkeypatch.setattr(comparison, "suspect_rows", lambda *_: np.array([], np.intp))
    problem = Problem(80, 5, 3)
    matrices = draw(problem, seed=1)
    c = right(problem, matrices)
    c[37] = 0
    assert {verify_product(problem, "float32", matrices, c, 0).verified for _ in range(100)} == {True, False}


def suspects(problem: Problem, matrices: Matrices, c: Array, accumulator: str = "float32") -> list[int]:
    return list(suspect_rows(problem, accumulator, matrices, c, np.random.default_rng(1)))


@pytest.mark.parametrize(("alpha", "beta"), [(1, 0), (2, 0), (-1, 2)])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("mistake", IN_ONE_ROW)
def test_exactly_the_wrong_rows_are_suspect(mistake: str, dtype: str, alpha: float, beta: float) -> None:
    problem = Problem(300, 200, 640, dtype, alpha=alpha, beta=beta)
    matrices = draw(problem, seed=1)
    c = right(problem, matrices)
    rng = np.random.default_rng(1)
    wrong = {MISTAKES[mistake](rng, problem, matrices, c)[0] for _ in range(5)}
    assert set(suspects(problem, matrices, c, dtype)) == wrong


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 6e4, -3e38, 1e300])
@pytest.mark.parametrize("output", ["float16", "bfloat16", "float32", "float64"])
def test_an_element_that_is_huge_or_not_finite_does_not_hide_itself(value: float, output: str) -> None:
    problem = Problem(57, 40, 17, "float64" if output == "float64" else "float16", output)
    accumulator = "float64" if output == "float64" else "float32"
    matrices = draw(problem, seed=1)
    c = right(problem, matrices)
    c[45, 20] = narrow(value, output)
    assert suspects(problem, matrices, c, accumulator) == [45]
    assert place(verify_product(problem, accumulator, matrices, c, 0)) == (45, 20)


def test_a_suspect_row_within_the_tolerance_is_right() -> None:
    """Errors of half the tolerance everywhere, which no order of summation makes, are suspicious but not wrong."""
    problem = Problem(60, 50, 2000, "float32", "float64")
    matrices = draw(problem, seed=1)
    [panel] = reference.panels(problem, matrices, np.arange(60))
    signs = np.random.default_rng(1).choice(np.array([-1.0, 1.0]), size=panel.product.shape)
    c = panel.product + 0.5 * signs * tolerance(problem, "float32")(panel.product, panel.magnitude)
    assert len(suspects(problem, matrices, c)) == 60
    assert verify_product(problem, "float32", matrices, c, 0).verified


def test_the_smallest_term_is_missed_in_no_row_at_8192() -> None:
    """The hardest supported case: terms of 0.25 among 8192, with the rounding of 4096 columns of sums."""
    problem = Problem(40, 4096, 8192)
    matrices = draw(problem, seed=1)
    rows, columns = [5, 21, 38], [4095, 0, 2321]
    for row, column, step in zip(rows, columns, (0, 8191, 77), strict=True):
        matrices.a[row, step] = matrices.b[step, column] = 0.5
    c = matrices.a @ matrices.b
    assert not suspects(problem, matrices, c)
    c[rows, columns] += np.array([-0.25, 0.25, -0.25], np.float32)
    assert suspects(problem, matrices, c) == rows


def test_memory_does_not_grow_with_the_matrices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reference, "PANEL_ELEMENTS", 2**15)
    problem = Problem(1000, 1000, 1000)
    matrices = draw(problem, seed=1)
    c = matrices.a @ matrices.b
    tracemalloc.start()
    try:
        assert verify_product(problem, "float32", matrices, c, 0).verified
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < c.nbytes


def test_each_suspect_row_is_compared_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reference, "BLOCK_COLUMNS", 16)
    problem = Problem(200, 64, 17)
    matrices = draw(problem, seed=1)
    c = right(problem, matrices)
    c[[50, 60, 199], :] += 1.0
    assert suspects(problem, matrices, c) == [50, 60, 199]
    c = right(problem, matrices)
    c[199, :] += 1.0
    verification = verify_product(problem, "float32", matrices, c, 0)
    assert place(verification) == (199, 0)
    assert (verification.wrong, verification.compared) == (64, 32 * 64)


def test_suspect_rows_are_compared_up_to_the_first_that_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reference, "PANEL_ELEMENTS", 1)  # a row at a time
    monkeypatch.setattr(comparison, "sampled_rows", lambda m, rng: np.arange(1, m, 2))
    problem = Problem(40, N, 17)
    matrices = draw(problem, seed=1)
    for wrong, row, counted, compared in [
        ([9, 20, 31], 9, 2, 20),  # the sampled rows 9 and 31 are wrong: no row after 9 can be the first
        ([4, 8, 9], 4, 2, 21),  # 4, which was not sampled, comes before 9: 8 is compared no more
        ([20, 22], 20, 1, 21),
    ]:
        c = right(problem, matrices)
        c[wrong, 5] += 1
        verification = verify_product(problem, "float32", matrices, c, 0)
        assert place(verification) == (row, 5)
        assert (verification.wrong, verification.compared) == (counted, compared * N)


@pytest.mark.parametrize(
    ("m", "flops", "sampled"),
    [(32, 0, False), (33, 0, True), (40, 2 * 40 * 5 * 6, False), (40, 2 * 40 * 5 * 6 - 1, True)],
)
def test_more_than_32_rows_may_be_sampled(m: int, flops: float, sampled: bool) -> None:
    problem = Problem(m, 5, 6)
    matrices = draw(problem, seed=1)
    verification = verify_product(problem, "float32", matrices, right(problem, matrices), flops)
    assert verification.method.startswith("32 rows") == sampled
    assert verification.compared == (32 if sampled else m) * 5


@table(
    "accumulator output algorithm hidden",
    """
    float32 bfloat16 plain bfloat16; bfloat16 float32 plain bfloat16; float16 bfloat16 plain bfloat16
    float32 float16 plain nothing; float32 float32 plain nothing; float32 float32 strassen float32""",
)
def test_the_method_names_the_type_that_hides_a_term(
    accumulator: str, output: str, algorithm: str, hidden: str
) -> None:
    algorithm, hidden = algorithm.replace("plain", ""), hidden.replace("nothing", "")
    problem = Problem(4, 5, 4096, "float32", output)
    matrices = draw(problem, seed=1)
    method = verify_product(problem, accumulator, matrices, right(problem, matrices), algorithm=algorithm).method
    begin = "every element against float64"
    begin += ", within the norm-wise bound of Strassen's algorithm" if algorithm else ""
    assert method == begin + (f", but one term of 4096 can hide in the rounding of {hidden}" if hidden else "")


@pytest.mark.parametrize(
    ("dtype", "accumulator", "output", "least"),
    [
        ("float32", "float32", "float32", 9 * 2.0**-24 * 2.0**-126),
        ("float32", "float32", "float16", 9 * 2.0**-24 * 2.0**-126 + 2.0**-11 * 2.0**-14),
        ("float16", "float32", "bfloat16", 9 * 2.0**-24 * 2.0**-126 + 2.0**-8 * 2.0**-126),
        ("float16", "float16", "float32", 9 * 2.0**-11 * 2.0**-14),
        ("float32", "float16", "float32", 9 * 2.0**-11 * 2.0**-14),
        ("float64", "float64", "float64", 0.0),
        ("float64", "float64", "float32", 2.0**-24 * 2.0**-126),
    ],
)
def test_subnormal_sums_have_a_tolerance(dtype: str, accumulator: str, output: str, least: float) -> None:
    limit, zero = tolerance(Problem(4, 5, 7, dtype, output, beta=1), accumulator), np.zeros(1)
    assert limit(zero, zero)[0] == limit.least == pytest.approx(least, rel=1e-6)
    unit = {"float16": 2.0**-11, "float32": 2.0**-24, "float64": 2.0**-53}[accumulator]
    assert limit.last_bits == (4 * unit if (dtype, accumulator) == ("float32", "float16") else 0)
    inexact = limit.last_bits + limit.storing
    assert limit.selected(np.array([-8.0]))[0] == pytest.approx(8 * inexact + (least if inexact else 0))


@pytest.mark.parametrize("k", [64, 4096])
def test_cs_old_value_may_be_cut_off_in_each_step_of_a_tensor_core(k: int) -> None:
    problem = Problem(8, 8, k, "tf32", "float32", beta=1)
    matrices = draw(problem, seed=k)
    # Products that are small beside C: each step of eight cuts the sum off at float32's 24 bits.
    matrices.a[:] *= np.float32(2.0**-30)
    c = matrices.c.astype(np.float64)
    for step in range(0, k, 8):
        c += matrices.a[:, step : step + 8].astype(np.float64) @ matrices.b[step : step + 8].astype(np.float64)
        bits = 2.0 ** (np.floor(np.log2(np.abs(c))) - 23)
        c = np.trunc(c / bits) * bits
    assert verify_product(problem, "float32", matrices, c.astype(np.float32)).verified


def test_numbers_that_may_be_lost_are_added_up_once_for_all_panels(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = Problem(600, 500, 8, "float32")
    matrices = draw(problem, 1)
    a, b = (each.astype(np.float64) for each in (matrices.a, matrices.b))
    products = a @ b, np.abs(a) @ np.abs(b)
    widened: list[tuple[int, ...]] = []

    def noting(numbers: Array, dtype: str) -> NDArray[np.float64]:
        widened.append(numbers.shape)
        return widen(numbers, dtype)

    monkeypatch.setattr(comparison, "widen", noting)
    c = products[0].astype(np.float32)
    assert verify_product(problem, "float32", matrices, c, products=products, quantum=2.0**-133).verified
    assert widened.count((500, 8)) == 1
    assert len(widened) > 4
