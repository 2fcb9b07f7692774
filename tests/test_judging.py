"""A right product is accepted whatever its order of summation; one wrong element in it is found."""

from __future__ import annotations

import math
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from mmcore.errors import InvalidProblem
from mmcore.verify import verify_product as judging
from mmcore.verify import projections, reference
from mmcore.verify.tolerance import tolerance, hides_a_term
from mmcore.verify.inputs import Matrices, draw
from mmcore.verify.comparison import verify_product, sampled_rows
from mmcore.verify.poison import poison
from mmcore.verify.projections import suspect_rows
from mmcore.verify.storage import narrow, widen
from mmcore.kernel.problem import Problem

Float32s = NDArray[np.float32]
Product = Callable[[Float32s, Float32s], Float32s]
SIZES = [1, 2, 3, 17, 640, 8192]
ROUNDOFF = 2.0**-24


@pytest.fixture(params=["every element", "sampled", "sampled in small pieces"])
def regime(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param != "every element":
        monkeypatch.setattr(judging, "FULL_REFERENCE_FLOPS", 0)
    if request.param == "sampled in small pieces":
        monkeypatch.setattr(projections, "BLOCK_COLUMNS", 16)
        monkeypatch.setattr(projections, "PANEL_ELEMENTS", 3000)
        monkeypatch.setattr(reference, "PANEL_ELEMENTS", 300)
    return str(request.param)


def exact(problem: Problem, matrices: Matrices) -> NDArray[np.float64]:
    product = widen(matrices.a, problem.dtype) @ widen(matrices.b, problem.dtype)
    return product + widen(matrices.c, problem.output) if problem.accumulate else product


def right(problem: Problem, matrices: Matrices) -> NDArray[Any]:
    return narrow(exact(problem, matrices), problem.output)


# Right products. Each takes float32 A and B and sums in float32.


def one_after_another(a: Float32s, b: Float32s) -> Float32s:
    total = np.zeros((len(a), b.shape[1]), np.float32)
    for column, row in zip(a.T, b, strict=True):
        total += np.multiply.outer(column, row)
    return total


def last_term_first(a: Float32s, b: Float32s) -> Float32s:
    return one_after_another(a[:, ::-1], b[::-1])


def fused(a: Float32s, b: Float32s) -> Float32s:
    total = np.zeros((len(a), b.shape[1]), np.float32)
    for column, row in zip(a.T.astype(np.float64), b.astype(np.float64), strict=True):
        total = (total + np.multiply.outer(column, row)).astype(np.float32)
    return total


def pairwise(a: Float32s, b: Float32s) -> Float32s:
    if a.shape[1] == 1:
        return a * b
    half = a.shape[1] // 2
    return pairwise(a[:, :half], b[:half]) + pairwise(a[:, half:], b[half:])


def split_in_four(a: Float32s, b: Float32s) -> Float32s:
    parts = [one_after_another(a[:, start::4], b[start::4]) for start in range(4)]
    return (parts[3] + parts[1]) + (parts[2] + parts[0])


def tensor_core(a: Float32s, b: Float32s) -> Float32s:
    """Eight exact products at a time are added to a sum that is truncated to float32."""
    total = np.zeros((len(a), b.shape[1]), np.float32)
    for start in range(0, a.shape[1], 8):
        wide = total + a[:, start : start + 8].astype(np.float64) @ b[start : start + 8].astype(np.float64)
        nearest = wide.astype(np.float32)
        total = np.where(np.abs(nearest) > np.abs(wide), np.nextafter(nearest, np.float32(0)), nearest)
    return total


def blas(a: Float32s, b: Float32s) -> Float32s:
    return a @ b


ORDERS = [one_after_another, last_term_first, fused, pairwise, split_in_four, tensor_core, blas]


@pytest.mark.parametrize("k", [*SIZES, 5, 100])
@pytest.mark.parametrize("order", ORDERS, ids=lambda order: order.__name__)
def test_a_right_product_is_accepted_in_any_order_of_summation(order: Product, k: int, regime: str) -> None:
    problem = Problem(48, 33, k)
    matrices = draw(problem, seed=k)
    verification = verify_product(problem, "float32", matrices, order(matrices.a, matrices.b))
    assert verification.verified
    assert verification.mismatch is None
    assert verification.max_error is not None


@pytest.mark.parametrize("output", ["float32", "stored as it is read"])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("k", SIZES)
def test_a_right_product_of_16_bit_inputs_is_accepted(k: int, dtype: str, output: str, regime: str) -> None:
    problem = Problem(48, 33, k, dtype, output if output == "float32" else dtype)
    matrices = draw(problem, seed=k)
    a, b = (widen(matrix, dtype).astype(np.float32) for matrix in (matrices.a, matrices.b))
    for order in (one_after_another, tensor_core):
        assert verify_product(problem, "float32", matrices, narrow(order(a, b), problem.output)).verified


@pytest.mark.parametrize("k", SIZES)
def test_a_right_product_in_float64_is_accepted(k: int, regime: str) -> None:
    problem = Problem(48, 33, k, "float64")
    matrices = draw(problem, seed=k)
    forwards, backwards = np.zeros((2, 48, 33))
    for step in range(k):
        forwards += np.multiply.outer(matrices.a[:, step], matrices.b[step])
        backwards += np.multiply.outer(matrices.a[:, k - 1 - step], matrices.b[k - 1 - step])
    assert verify_product(problem, "float64", matrices, forwards).verified
    assert verify_product(problem, "float64", matrices, backwards).verified


@pytest.mark.parametrize("k", [1, 2, 17, 640])
def test_a_right_sum_in_float16_is_accepted(k: int, regime: str) -> None:
    problem = Problem(48, 33, k, "float16")
    matrices = draw(problem, seed=k)
    total = np.zeros((48, 33), np.float16)
    for step in range(k):
        total += np.multiply.outer(matrices.a[:, step], matrices.b[step])
    assert verify_product(problem, "float16", matrices, total).verified
    assert k < 17 or not verify_product(problem, "float32", matrices, total).verified


@pytest.mark.parametrize(("dtype", "k"), [("bfloat16", 64), ("bfloat16", 1024), ("bfloat16", 8192), ("float16", 8192)])
def test_a_sum_in_a_narrow_type_is_accepted_and_nothing_is_not(dtype: str, k: int, regime: str) -> None:
    problem = Problem(48, 33, k, dtype)
    matrices = draw(problem, seed=k)
    a, b = widen(matrices.a, dtype), widen(matrices.b, dtype)
    total = np.zeros((48, 33))
    for step in range(k):
        total = widen(narrow(total + np.multiply.outer(a[:, step], b[step]), dtype), dtype)
    verification = verify_product(problem, dtype, matrices, narrow(total, dtype))
    assert verification.verified
    assert verification.method.endswith(f", but one term of {k} can hide in the rounding of {dtype}")
    nothing = verify_product(problem, dtype, matrices, narrow(np.zeros((48, 33)), dtype))
    assert not nothing.verified
    assert nothing.mismatch is not None
    assert nothing.mismatch.got == 0
    small = Problem(7, 9, k, dtype)
    assert verify_product(small, dtype, draw(small, seed=1), right(small, draw(small, seed=1))).verified


def test_terms_hide_in_float32_from_k_10322_on_and_in_narrow_types_far_earlier() -> None:
    for accumulator, output, most in [
        ("float32", "float32", 10321),
        ("float16", "float16", 25),
        ("bfloat16", "bfloat16", 6),
    ]:
        assert not hides_a_term(Problem(1, 1, most, output=output), accumulator)
        assert hides_a_term(Problem(1, 1, most + 1, output=output), accumulator)
    assert not hides_a_term(Problem(1, 1, 180, output="bfloat16"), "float32")
    assert hides_a_term(Problem(1, 1, 200, output="bfloat16"), "float32")
    assert not hides_a_term(Problem(1, 1, 10**9, "float64"), "float64")


@settings(deadline=None, max_examples=60)
@given(m=st.integers(1, 70), n=st.integers(1, 70), k=st.integers(1, 300), seed=st.integers(0, 2**32 - 1))
def test_a_right_product_of_any_shape_is_accepted(m: int, n: int, k: int, seed: int) -> None:
    problem = Problem(m, n, k, lda=k + seed % 3, ldb=n + seed % 5, ldc=n + seed % 7)
    matrices = draw(problem, seed)
    c = matrices.a @ matrices.b
    with pytest.MonkeyPatch.context() as patch:
        assert verify_product(problem, "float32", matrices, c).verified
        patch.setattr(judging, "FULL_REFERENCE_FLOPS", 0)
        assert verify_product(problem, "float32", matrices, c).verified


# Faults. Each damages a right C in place and says where the first wrong element is.

Violation = Callable[[np.random.Generator, Problem, Matrices, NDArray[Any]], tuple[int, int]]


def anywhere(rng: np.random.Generator, problem: Problem) -> tuple[int, int]:
    return int(rng.integers(problem.m)), int(rng.integers(problem.n))


def one_term(rng: np.random.Generator, problem: Problem, matrices: Matrices, row: int, column: int) -> Any:
    step = rng.integers(problem.k)
    return matrices.a[row, step] * matrices.b[step, column]


def a_dropped_term(rng: np.random.Generator, problem: Problem, matrices: Matrices, c: NDArray[Any]) -> tuple[int, int]:
    where = anywhere(rng, problem)
    c[where] -= one_term(rng, problem, matrices, *where)
    return where


def a_doubled_term(rng: np.random.Generator, problem: Problem, matrices: Matrices, c: NDArray[Any]) -> tuple[int, int]:
    where = anywhere(rng, problem)
    c[where] += one_term(rng, problem, matrices, *where)
    return where


def two_swapped_elements(
    rng: np.random.Generator, problem: Problem, matrices: Matrices, c: NDArray[Any]
) -> tuple[int, int]:
    row, _ = anywhere(rng, problem)
    one, other = sorted(int(column) for column in rng.choice(problem.n, 2, replace=False))
    c[row, [one, other]] = c[row, [other, one]]
    return row, one


def an_element(value: float) -> Violation:
    def damage(rng: np.random.Generator, problem: Problem, matrices: Matrices, c: NDArray[Any]) -> tuple[int, int]:
        where = anywhere(rng, problem)
        c[where] = value
        return where

    return damage


def an_unwritten_element(
    rng: np.random.Generator, problem: Problem, matrices: Matrices, c: NDArray[Any]
) -> tuple[int, int]:
    where = anywhere(rng, problem)
    c[where] = poison((1,), problem.output)[0]
    return where


def an_unwritten_row(
    rng: np.random.Generator, problem: Problem, matrices: Matrices, c: NDArray[Any]
) -> tuple[int, int]:
    row, _ = anywhere(rng, problem)
    c[row] = poison((problem.n,), problem.output)
    return row, 0


def zeros(rng: np.random.Generator, problem: Problem, matrices: Matrices, c: NDArray[Any]) -> tuple[int, int]:
    c[:] = 0
    return 0, 0


def a_stale_result(rng: np.random.Generator, problem: Problem, matrices: Matrices, c: NDArray[Any]) -> tuple[int, int]:
    c[:] = right(problem, draw(problem, int(rng.integers(2**32))))
    return 0, 0


def a_transposed_result(
    rng: np.random.Generator, problem: Problem, matrices: Matrices, c: NDArray[Any]
) -> tuple[int, int]:
    c[:] = c.T.copy()
    return 0, 1


FAULTS = {
    "dropped term": a_dropped_term,
    "doubled term": a_doubled_term,
    "swapped elements": two_swapped_elements,
    "NaN": an_element(math.nan),
    "Inf": an_element(math.inf),
    "-Inf": an_element(-math.inf),
    "zero": an_element(0.0),
    "unwritten element": an_unwritten_element,
    "unwritten row": an_unwritten_row,
    "zeros": zeros,
    "stale": a_stale_result,
    "transposed": a_transposed_result,
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("k", SIZES)
@pytest.mark.parametrize("violation", FAULTS)
def test_a_fault_is_caught_where_it_is(violation: str, k: int, dtype: str, regime: str) -> None:
    problem = Problem(57, 57, k, dtype)
    matrices = draw(problem, seed=k)
    expected = exact(problem, matrices)
    rng = np.random.default_rng(k)
    for _ in range(3):
        c = right(problem, matrices)
        row, column = FAULTS[violation](rng, problem, matrices, c)
        verification = verify_product(problem, dtype, matrices, c, entropy=1)
        assert not verification.verified
        assert verification.mismatch is not None
        assert (verification.mismatch.row, verification.mismatch.column) == (row, column)
        assert verification.mismatch.expected == pytest.approx(expected[row, column], abs=1e-9)
        assert verification.mismatch.got == pytest.approx(float(c[row, column]), nan_ok=True)
        assert verification.mismatch.unwritten == violation.startswith("unwritten")
        if math.isfinite(verification.mismatch.got):
            assert verification.max_error is not None
            assert verification.max_error >= abs(c[row, column] - expected[row, column]) * 0.999
        else:
            assert verification.max_error is None


@settings(deadline=None, max_examples=60)
@given(
    m=st.integers(33, 90),
    n=st.integers(1, 90),
    k=st.integers(1, 300),
    seed=st.integers(0, 2**32 - 1),
    full=st.booleans(),
)
def test_a_dropped_term_is_caught_in_any_shape(m: int, n: int, k: int, seed: int, full: bool) -> None:
    problem = Problem(m, n, k)
    matrices = draw(problem, seed)
    c = right(problem, matrices)
    where = a_dropped_term(np.random.default_rng(seed), problem, matrices, c)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(judging, "FULL_REFERENCE_FLOPS", 1e9 if full else 0)
        mismatch = verify_product(problem, "float32", matrices, c).mismatch
    assert mismatch is not None
    assert (mismatch.row, mismatch.column) == where


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_a_dropped_term_is_caught_in_a_16_bit_result_near_zero(dtype: str) -> None:
    problem = Problem(57, 40, 640, dtype)
    matrices = draw(problem, seed=1)
    expected = exact(problem, matrices)
    row, column = divmod(int(np.abs(expected).argmin()), problem.n)
    c = narrow(expected, dtype)
    c[row, column] = narrow(expected[row, column] + 0.25, dtype)
    mismatch = verify_product(problem, "float32", matrices, c).mismatch
    assert mismatch is not None
    assert (mismatch.row, mismatch.column) == (row, column)


def test_of_several_faults_the_first_in_row_major_order_is_reported(regime: str) -> None:
    problem = Problem(80, 40, 20)
    matrices = draw(problem, seed=1)
    rng = np.random.default_rng(1)
    for _ in range(10):
        c = right(problem, matrices)
        places = [anywhere(rng, problem) for _ in range(3)]
        for place in places:
            c[place] += 1
        mismatch = verify_product(problem, "float32", matrices, c).mismatch
        assert mismatch is not None
        assert (mismatch.row, mismatch.column) == min(places)


# The bound


def test_up_to_k_8192_twice_the_bound_is_less_than_the_smallest_term() -> None:
    """Every |a·b| is below 1, so that |A|·|B| is below k."""
    for k, accumulate in [(8192, False), (8191, True), (10321, False)]:
        largest = float(k + accumulate)
        bound = tolerance(Problem(1, 1, k, accumulate=accumulate), "float32")
        assert 2 * bound(np.array([0.0]), np.array([largest]))[0] < 0.25
    beyond = tolerance(Problem(1, 1, 10322), "float32")
    assert 2 * beyond(np.array([0.0]), np.array([10322.0]))[0] > 0.25


def test_adding_one_after_another_errs_by_a_sixth_of_k_roundoffs_far_below_the_bound() -> None:
    problem = Problem(64, 64, 8192)
    matrices = draw(problem, seed=1)
    [panel] = reference.panels(problem, matrices, np.arange(64))
    error = one_after_another(matrices.a, matrices.b) - panel.product
    typical = np.sqrt(np.square(error).mean())
    assert 0.14 < typical / (8192 * ROUNDOFF) < 0.20
    assert 500 * typical < tolerance(problem, "float32")(panel.product, panel.magnitude).min()
    assert 50 * np.abs(error).max() < tolerance(problem, "float32")(panel.product, panel.magnitude).min()


def test_magnitudes_are_never_less_than_the_sum_of_the_terms_and_hardly_more() -> None:
    for k in SIZES:
        problem = Problem(40, 30, k, "float64", accumulate=True)
        matrices = draw(problem, seed=k)
        [panel] = reference.panels(problem, matrices, np.arange(40))
        terms = np.abs(matrices.a) @ np.abs(matrices.b) + np.abs(matrices.c)
        assert (panel.magnitude >= terms).all()
        assert (panel.magnitude <= terms * (1 + 3 * (k + 3) * ROUNDOFF)).all()


@pytest.mark.parametrize("accumulate", [False, True])
@pytest.mark.parametrize("k", SIZES)
def test_an_element_passes_just_inside_the_bound_and_not_just_outside(k: int, accumulate: bool) -> None:
    problem = Problem(20, 20, k, "float32", "float64", accumulate=accumulate)
    matrices = draw(problem, seed=k)
    row, column = 11, 7
    magnitude = np.abs(matrices.a[row].astype(float)) @ np.abs(matrices.b[:, column].astype(float))
    magnitude += abs(matrices.c[row, column]) if accumulate else 0
    bound = 2 * math.sqrt(k + accumulate) * ROUNDOFF * magnitude
    for distance, verified in [(0.99, True), (-0.99, True), (1.01, False), (-1.01, False)]:
        c = exact(problem, matrices)
        c[row, column] += distance * bound
        assert verify_product(problem, "float32", matrices, c).verified is verified


@given(
    expected=st.floats(-60000, 60000) | st.floats(-1e-6, 1e-6),
    magnitude=st.floats(0, 60000, width=32),
    error=st.sampled_from([-1.0, 0.0, 1.0]),
    output=st.sampled_from(["float16", "bfloat16"]),
)
def test_whatever_a_sum_within_the_bound_is_rounded_to_is_within_the_bound(
    expected: float, magnitude: float, error: float, output: str
) -> None:
    references, magnitudes = np.array([expected]), np.array([magnitude])
    summed = tolerance(Problem(1, 1, 8192, output, "float32"), "float32")(references, magnitudes)
    total = expected + error * summed[0]
    stored = widen(narrow(total, output), output)
    allowed = tolerance(Problem(1, 1, 8192, output), "float32")(references, magnitudes)
    assert abs(stored - expected) <= allowed[0] or abs(total) > 65504


def test_a_float64_kernel_is_allowed_as_much_as_its_reference() -> None:
    bound = tolerance(Problem(1, 1, 9, "float64"), "float64")
    assert bound(np.array([0.0]), np.array([4.5]))[0] == 2 * 3 * 2 * 2.0**-53 * 4.5


def test_storing_in_a_narrower_type_is_allowed_its_rounding_and_no_more() -> None:
    problem = Problem(20, 20, 16, "bfloat16")
    matrices = draw(problem, seed=1)
    c = right(problem, matrices)
    assert verify_product(problem, "float32", matrices, c).verified
    c[3, 4] += 2  # two units in the last place
    assert not verify_product(problem, "float32", matrices, c).verified


# Accumulation


@pytest.mark.parametrize("k", SIZES)
def test_c_is_added_once(k: int, regime: str) -> None:
    problem = Problem(57, 40, k, accumulate=True)
    matrices = draw(problem, seed=k)
    product = matrices.a @ matrices.b
    assert verify_product(problem, "float32", matrices, product + matrices.c).verified
    assert not verify_product(problem, "float32", matrices, product).verified
    assert not verify_product(problem, "float32", matrices, product + 2 * matrices.c).verified


def test_an_element_that_kept_the_old_c_is_wrong_but_not_unwritten_poison(regime: str) -> None:
    problem = Problem(57, 40, 17, accumulate=True)
    matrices = draw(problem, seed=1)
    c = right(problem, matrices)
    c[40, 20] = matrices.c[40, 20]
    mismatch = verify_product(problem, "float32", matrices, c).mismatch
    assert mismatch is not None
    assert (mismatch.row, mismatch.column, mismatch.unwritten) == (40, 20, False)
    assert mismatch.got == matrices.c[40, 20]
    c[40, 20] = poison((1,), "float32")[0]
    mismatch = verify_product(problem, "float32", matrices, c).mismatch
    assert mismatch is not None
    assert (mismatch.row, mismatch.column, mismatch.unwritten) == (40, 20, False)


def test_an_old_c_is_not_added_unless_asked(regime: str) -> None:
    matrices = draw(Problem(57, 40, 17, accumulate=True), seed=1)
    product = matrices.a @ matrices.b
    assert verify_product(Problem(57, 40, 17), "float32", matrices, product).verified
    assert not verify_product(Problem(57, 40, 17), "float32", matrices, product + matrices.c).verified


# What is judged


def test_any_strides_will_do(regime: str) -> None:
    problem = Problem(57, 40, 17, lda=20, ldb=45, ldc=64)
    matrices = draw(problem, seed=1)
    padded = poison((57, 64), "float32")[:, :40]
    padded[:] = right(problem, matrices)
    assert verify_product(problem, "float32", matrices, padded).verified
    by_columns = np.asfortranarray(padded)
    by_columns[50, 30] += 0.25
    mismatch = verify_product(problem, "float32", matrices, by_columns).mismatch
    assert mismatch is not None
    assert (mismatch.row, mismatch.column) == (50, 30)


def test_a_result_of_ml_dtypes_bfloat16_will_do(regime: str) -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    problem = Problem(57, 40, 17, "bfloat16")
    matrices = draw(problem, seed=1)
    c = right(problem, matrices).view(ml_dtypes.bfloat16)
    assert verify_product(problem, "float32", matrices, c).verified
    c[50, 30] = poison((1,), "bfloat16").view(ml_dtypes.bfloat16)[0]
    mismatch = verify_product(problem, "float32", matrices, c).mismatch
    assert mismatch is not None
    assert (mismatch.row, mismatch.column, mismatch.unwritten) == (50, 30, True)


def test_a_result_of_another_shape_or_type_cannot_be_judged() -> None:
    problem = Problem(4, 5, 6)
    matrices = draw(problem, seed=1)
    with pytest.raises(InvalidProblem, match="C is 4×5, but the array to judge has the shape"):
        verify_product(problem, "float32", matrices, np.zeros((5, 4), np.float32))
    with pytest.raises(InvalidProblem, match="a float32 matrix is stored as float32, but the array holds float64"):
        verify_product(problem, "float32", matrices, np.zeros((4, 5)))


def test_judging_leaves_the_matrices_alone(regime: str) -> None:
    problem = Problem(57, 40, 17, "float64", accumulate=True)
    matrices, untouched = draw(problem, seed=1), draw(problem, seed=1)
    c = right(problem, matrices)
    verify_product(problem, "float64", matrices, c)
    for name in ("a", "b", "c"):
        assert np.array_equal(getattr(matrices, name), getattr(untouched, name))
    assert np.array_equal(c, right(problem, untouched))


def test_the_verdict_says_how_it_was_reached(regime: str) -> None:
    problem = Problem(57, 40, 17)
    matrices = draw(problem, seed=1)
    assert verify_product(problem, "float32", matrices, right(problem, matrices)).method == (
        "every element against float64"
        if regime == "every element"
        else "32 rows against float64 and 16 random projections of every row"
    )


def test_the_largest_error_is_that_of_the_worst_element() -> None:
    problem = Problem(57, 40, 17)
    matrices = draw(problem, seed=1)
    c = right(problem, matrices)
    c[3, 4] += 0.5
    c[50, 30] -= 2
    assert verify_product(problem, "float32", matrices, c).max_error == pytest.approx(2, abs=1e-5)


# Sampling


@pytest.mark.parametrize("m", [33, 64, 100, 129, 3200])
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
    monkeypatch.setattr(judging, "FULL_REFERENCE_FLOPS", 0)
    monkeypatch.setattr(judging, "suspect_rows", lambda *_: np.array([], np.intp))
    problem = Problem(80, 5, 3)
    matrices = draw(problem, seed=1)
    c = right(problem, matrices)
    c[37] = 0
    assert {verify_product(problem, "float32", matrices, c).verified for _ in range(100)} == {True, False}
    assert len({verify_product(problem, "float32", matrices, c, entropy=5).verified for _ in range(10)}) == 1


@pytest.mark.parametrize(
    ("dtype", "output"),
    [
        ("float32", "float32"),
        ("float64", "float64"),
        ("float16", "float16"),
        ("bfloat16", "bfloat16"),
        ("bfloat16", "float32"),
    ],
)
@pytest.mark.parametrize("accumulate", [False, True])
@pytest.mark.parametrize("k", [2, 17, 640])
def test_no_row_of_a_right_product_is_suspect(k: int, accumulate: bool, dtype: str, output: str) -> None:
    """From k = 5 on for float64, where the projection itself loses as much as a kernel at k = 1 or 2."""
    k = max(k, 5) if dtype == "float64" else k
    problem = Problem(1000, 300, k, dtype, output, accumulate=accumulate)
    matrices = draw(problem, seed=k)
    accumulator = "float64" if dtype == "float64" else "float32"
    a, b = (widen(matrix, dtype).astype(accumulator) for matrix in (matrices.a, matrices.b))
    c = a @ b + widen(matrices.c, output).astype(accumulator) if accumulate else a @ b
    rng = np.random.default_rng(k)
    assert not suspect_rows(problem, accumulator, matrices, narrow(c, output), rng).size


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("violation", ["dropped term", "doubled term", "swapped elements", "NaN", "Inf", "-Inf", "zero"])
def test_exactly_the_wrong_rows_are_suspect(violation: str, dtype: str) -> None:
    problem = Problem(300, 200, 640, dtype)
    matrices = draw(problem, seed=1)
    c = right(problem, matrices)
    rng = np.random.default_rng(1)
    wrong = {FAULTS[violation](rng, problem, matrices, c)[0] for _ in range(5)}
    assert set(suspect_rows(problem, dtype, matrices, c, rng)) == wrong


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("output", ["float16", "bfloat16", "float32", "float64"])
def test_a_row_with_an_element_that_is_not_finite_is_suspect(value: float, output: str) -> None:
    problem = Problem(57, 40, 17, "float16", output)
    matrices = draw(problem, seed=1)
    c = right(problem, matrices)
    c[45, 20] = narrow(value, output)
    assert list(suspect_rows(problem, "float32", matrices, c, np.random.default_rng(1))) == [45]


@pytest.mark.parametrize(
    ("value", "dtype"),
    [(1e4, "float32"), (-3e38, "float32"), (1e300, "float64"), (6e4, "float16"), (3e38, "bfloat16")],
)
def test_a_single_huge_element_does_not_hide_itself(value: float, dtype: str) -> None:
    problem = Problem(57, 40, 17, dtype)
    matrices = draw(problem, seed=1)
    accumulator = "float64" if dtype == "float64" else "float32"
    c = right(problem, matrices)
    c[45, 20] = narrow(value, dtype)
    assert list(suspect_rows(problem, accumulator, matrices, c, np.random.default_rng(1))) == [45]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(judging, "FULL_REFERENCE_FLOPS", 0)
        mismatch = verify_product(problem, accumulator, matrices, c).mismatch
    assert mismatch is not None
    assert (mismatch.row, mismatch.column) == (45, 20)


def test_a_suspect_row_within_the_bound_is_right(monkeypatch: pytest.MonkeyPatch) -> None:
    """Errors of half the bound everywhere, which no order of summation makes, are suspicious but not wrong."""
    monkeypatch.setattr(judging, "FULL_REFERENCE_FLOPS", 0)
    problem = Problem(60, 50, 2000, "float32", "float64")
    matrices = draw(problem, seed=1)
    [panel] = reference.panels(problem, matrices, np.arange(60))
    rng = np.random.default_rng(1)
    signs = rng.choice(np.array([-1.0, 1.0]), size=panel.product.shape)
    c = panel.product + 0.5 * signs * tolerance(problem, "float32")(panel.product, panel.magnitude)
    assert len(suspect_rows(problem, "float32", matrices, c, rng)) == 60
    assert verify_product(problem, "float32", matrices, c).verified


def test_the_smallest_term_is_missed_in_no_row_at_8192() -> None:
    """The hardest case promised: terms of 0.25 among 8192 whose sums have 8192 columns of rounding beside them."""
    problem = Problem(40, 8192, 8192)
    matrices = draw(problem, seed=1)
    rows = [5, 21, 38]
    for row, column, step in zip(rows, (8191, 0, 4321), (0, 8191, 77), strict=True):
        matrices.a[row, step] = matrices.b[step, column] = 0.5
    c = matrices.a @ matrices.b
    assert not suspect_rows(problem, "float32", matrices, c, np.random.default_rng(1)).size
    c[rows, [8191, 0, 4321]] += np.array([-0.25, 0.25, -0.25], np.float32)
    assert list(suspect_rows(problem, "float32", matrices, c, np.random.default_rng(2))) == rows
    mismatch = verify_product(problem, "float32", matrices, c).mismatch
    assert mismatch is not None
    assert (mismatch.row, mismatch.column) == (5, 8191)


def test_a_product_too_large_for_a_full_reference_is_sampled() -> None:
    problem = Problem(2600, 2100, 2000, ldc=2112)
    matrices = draw(problem, seed=1)
    c = poison((2600, 2112), "float32")[:, :2100]
    c[:] = matrices.a @ matrices.b
    accepted = verify_product(problem, "float32", matrices, c)
    assert accepted.verified
    assert accepted.method.startswith("32 rows")
    rng = np.random.default_rng(1)
    for violation in (a_dropped_term, an_unwritten_element):
        row, column = violation(rng, problem, matrices, c)
        mismatch = verify_product(problem, "float32", matrices, c).mismatch
        assert mismatch is not None
        assert (mismatch.row, mismatch.column) == (row, column)
        c[row, column] = matrices.a[row] @ matrices.b[:, column]


def test_memory_does_not_grow_with_the_matrices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judging, "FULL_REFERENCE_FLOPS", 0)
    for module in (reference, projections):
        monkeypatch.setattr(module, "PANEL_ELEMENTS", 2**15)
    problem = Problem(1000, 1000, 1000)
    matrices = draw(problem, seed=1)
    c = matrices.a @ matrices.b
    tracemalloc.start()
    try:
        verify_product(problem, "float32", matrices, c)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < c.nbytes
