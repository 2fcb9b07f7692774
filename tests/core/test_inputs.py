"""A kernel's inputs: values that cannot hide a violation, and poison in storage that is never written."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from mmcore.errors import InvalidProblem
from mmcore.kernel.problem import Problem
from mmcore.verify import elements
from mmcore.verify.elements import POISON_HALFWORD, is_poison, poison, widen
from mmcore.verify.inputs import draw, fresh_seed
from tests.narrowing import narrow

DTYPES = ("float16", "bfloat16", "float32", "float64")


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_seed_draws_magnitudes_spread_evenly_from_a_half_to_one_and_signs_too(dtype: str) -> None:
    problem = Problem(300, 70, 300, dtype, beta=1)
    matrices = draw(problem, seed=2)
    for matrix in (matrices.a, matrices.b, matrices.c):
        magnitudes = np.abs(widen(matrix, dtype))
        assert magnitudes.min() >= 0.5
        assert magnitudes.max() < 1
    for first, second in zip(*(vars(each).values() for each in (matrices, draw(problem, seed=2))), strict=True):
        assert np.array_equal(first, second)
    values = widen(matrices.a, dtype)
    assert abs(np.sign(values).mean()) < 0.02
    assert np.histogram(np.abs(values), bins=8, range=(0.5, 1))[0] == pytest.approx(300 * 300 / 8, rel=0.05)


def test_each_seed_draws_other_matrices_and_no_matrix_repeats_another_or_itself() -> None:
    row = draw(Problem(1, 1, 400_000), seed=6).a[0]  # longer than one batch of random words
    assert len(np.unique(row)) > 380_000
    square = Problem(30, 30, 30, beta=1)
    drawn = [getattr(draw(square, seed), matrix) for seed in (4, 5) for matrix in "abc"]
    for one, other in itertools.combinations(drawn, 2):
        assert np.mean(one == other) < 0.01


def test_fresh_seeds_are_32_bits_and_differ() -> None:
    seeds = {fresh_seed() for _ in range(100)}
    assert len(seeds) > 98
    assert 0 <= min(seeds) <= max(seeds) < 2**32
    assert max(seeds) > 2**24


@pytest.mark.parametrize("dtype", DTYPES)
def test_rows_are_a_leading_dimension_apart_and_the_gap_is_poison(dtype: str) -> None:
    matrices = draw(Problem(9, 20, 30, dtype, lda=40, ldb=50, ldc=60, beta=1), seed=7)
    for matrix, shape, leading in ((matrices.a, (9, 30), 40), (matrices.b, (30, 20), 50), (matrices.c, (9, 20), 60)):
        whole = matrix.base
        assert whole is not None
        assert matrix.shape == shape
        assert matrix.strides == (leading * matrix.itemsize, matrix.itemsize)
        assert whole.shape == (shape[0], leading)
        assert whole.flags.c_contiguous
        assert np.shares_memory(matrix, whole)
        assert np.isnan(widen(whole, dtype)[:, shape[1] :]).all()
        assert is_poison(whole[:, shape[1] :]).all()
        assert not is_poison(matrix).any()


@pytest.mark.parametrize("output", DTYPES)
def test_c_is_poison_unless_the_product_is_added_to_it(output: str) -> None:
    poisoned = draw(Problem(4, 5, 6, "float16", output), seed=8).c
    added_to = draw(Problem(4, 5, 6, "float16", output, beta=1), seed=8).c
    assert is_poison(poisoned).all()
    assert np.isnan(widen(poisoned, output)).all()
    assert np.isfinite(widen(added_to, output)).all()


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_the_poison_is_a_quiet_nan_in_every_type(dtype: str) -> None:
    memory = np.full(4, POISON_HALFWORD, np.uint16)
    quiet_bit = {"float16": 1 << 9, "float32": 1 << 22, "float64": 1 << 51}[dtype]
    assert np.isnan(memory.view(dtype)).all()
    assert (memory.view(f"u{np.dtype(dtype).itemsize}") & quiet_bit).all()
    assert np.array_equal(poison((8 // np.dtype(dtype).itemsize,), dtype).view(np.uint16), memory)


@pytest.mark.parametrize("dtype", DTYPES)
def test_other_nans_and_single_changed_bits_are_not_poison(dtype: str) -> None:
    elements = poison((3, 4), dtype)
    elements[1, 2] = narrow(np.nan, dtype)
    elements.view(np.uint8)[2, 0] ^= 1
    expected = np.ones((3, 4), bool)
    expected[1, 2] = expected[2, 0] = False
    assert np.array_equal(is_poison(elements), expected)
    assert np.array_equal(is_poison(elements.T), expected.T)


@pytest.mark.parametrize("dtype", ["float8_e4m3fn", "float8_e5m2", "int8", "uint8", "int32"])
def test_the_poison_of_narrow_types_and_whole_numbers_is_known_by_its_bytes(dtype: str) -> None:
    elements = poison((3, 8), dtype)
    assert elements.tobytes() == POISON_HALFWORD.to_bytes(2, "little") * (elements.nbytes // 2)
    assert is_poison(elements).all()
    elements[1, 2:4] = 0
    assert np.argwhere(~is_poison(elements)).tolist() == [[1, 2], [1, 3]]


@pytest.mark.parametrize("dtype", ["float8_e4m3fn", "float8_e5m2"])
def test_every_8_bit_number_is_narrowed_to_itself_by_mmcore(dtype: str) -> None:
    bits = np.arange(256, dtype=np.uint8)
    values = widen(bits, dtype)
    finite = np.isfinite(values)
    assert np.array_equal(elements.narrow(values[finite], dtype), bits[finite])


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_every_16_bit_number_widens_and_narrows_to_itself(dtype: str) -> None:
    bits = np.arange(2**16, dtype=np.uint16)
    elements: NDArray[Any] = bits if dtype == "bfloat16" else bits.view(np.float16)
    values = widen(elements, dtype)
    back = narrow(values, dtype)
    nan = np.isnan(values)
    assert nan.sum() == {"float16": 2 * 1023, "bfloat16": 2 * 127}[dtype]
    assert np.array_equal(back.view(np.uint16)[~nan], bits[~nan])
    assert np.isnan(widen(back, dtype)[nan]).all()


@pytest.mark.parametrize(("dtype", "output"), [("float32", "float32"), ("float16", "float64"), ("float64", "float16")])
def test_matrices_fit_into_the_hosts_memory(monkeypatch: pytest.MonkeyPatch, dtype: str, output: str) -> None:
    problem = Problem(5, 6, 7, dtype, output, lda=70, ldb=110, ldc=130)
    needed = (5 * 70 + 7 * 110) * np.dtype(dtype).itemsize + 5 * 130 * np.dtype(output).itemsize
    for present in (needed, needed - 1):
        monkeypatch.setattr("os.sysconf", lambda name, present=present: 1 if name == "SC_PAGE_SIZE" else present)
        if present == needed:
            drawn = draw(problem, 1)
            assert sum(each.base.nbytes for each in (drawn.a, drawn.b, drawn.c) if each.base is not None) == needed
        else:
            with pytest.raises(InvalidProblem, match=r"the gaps between their rows take 0\.0 GB; the host"):
                draw(problem, 1)
