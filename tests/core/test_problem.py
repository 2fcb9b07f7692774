"""Products: their sizes, rows and element types, what must be moved for one, and how blocks are read."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from mmcore import Dim3, InvalidBlock, InvalidProblem, Problem
from mmcore.kernel.geometry import ceil_div, dim3, native, parse_shape
from mmcore.kernel.problem import accumulator_named, dtype_named, terms_until_promoted, three_sizes
from mmcore.planning.peaks import Bound, Peaks
from mmcore.verify.elements import widen
from mmcore_cuda.peaks import peaks

SIZES: dict[str, Any] = {"m": 2, "n": 3, "k": 5, "lda": 7, "ldb": 11, "ldc": 13}


def test_rows_are_packed_and_all_three_types_alike_unless_something_else_is_said() -> None:
    problem = Problem(2, 3, 5)
    assert (problem.lda, problem.ldb, problem.ldc) == (5, 3, 3)
    assert (problem.dtype, problem.output, problem.accumulate) == ("float32", "float32", False)
    assert (Problem(2, 3, 5, "f16").dtype, Problem(2, 3, 5, "f16").output) == ("float16", "float16")
    assert [Problem(2, 3, 5, "f16", "f64").span(matrix) for matrix in "ABC"] == [10, 15, 6]


def test_a_span_is_from_the_first_to_the_last_element_and_packing_takes_the_gaps_away() -> None:
    problem = Problem(**SIZES, dtype="float64", output="float32", beta=1)
    assert [problem.span(matrix) for matrix in "ABC"] == [7 + 5, 4 * 11 + 3, 13 + 3]
    assert problem.packed == Problem(2, 3, 5, "float64", "float32", beta=1)
    assert str(problem) == "2×3×5"


@pytest.mark.parametrize(
    ("types", "accumulate", "nbytes"),
    [
        (("float32", ""), False, 4 * (10 + 15) + 4 * 6),
        (("float16", "float64"), False, 2 * (10 + 15) + 8 * 6),
        (("float64", "float16"), True, 8 * (10 + 15) + 2 * 2 * 6),
    ],
)
def test_each_matrix_crosses_the_bus_once_or_twice(types: tuple[str, str], accumulate: bool, nbytes: int) -> None:
    problem = Problem(2, 3, 5, *types, beta=accumulate)
    assert (problem.compulsory_bytes, problem.flops) == (nbytes, 60)


@pytest.mark.parametrize(
    ("name", "size"),
    [*itertools.product(SIZES, (-1, 2.0, True, "3", None, 2**63, -(2**63))), ("m", 0), ("n", 0), ("k", 0)],
)
def test_a_size_is_a_positive_whole_number_below_two_to_the_63(name: str, size: Any) -> None:
    large = type(size) is int and abs(size) > 1
    reason = "be less than 2⁶³" if large else f"be a positive whole number, but is {size!r}"
    with pytest.raises(InvalidProblem, match=f"^{name} must {reason}$"):
        Problem(**SIZES | {name: size})


@pytest.mark.parametrize(("name", "row"), [("lda", 5), ("ldb", 3), ("ldc", 3)])
def test_a_leading_dimension_is_at_least_a_row_which_0_stands_for(name: str, row: int) -> None:
    for size in (row, 0):
        assert getattr(Problem(**SIZES | {name: size}), name) == row
    with pytest.raises(InvalidProblem, match=f"^{name} = {row - 1} is shorter than a row of {row} elements$"):
        Problem(**SIZES | {name: row - 1})


def test_numpys_whole_numbers_become_pythons() -> None:
    sizes: dict[str, Any] = {name: np.int16(size) for name, size in SIZES.items()}
    problem = Problem(**sizes)
    assert {type(getattr(problem, name)) for name in SIZES} == {int}
    assert (type(native(np.uint8(3))), native(True), native(2.5)) == (int, True, 2.5)
    assert type(native(True)) is bool


def test_sizes_are_given_as_one_or_as_three() -> None:
    assert three_sizes(4, None, None, None) == (4, 4, 4)
    assert three_sizes(None, 2, 3, 5) == (2, 3, 5)
    for one in range(3):
        sizes: list[int | None] = [None, None, None]
        sizes[one] = 4
        with pytest.raises(InvalidProblem, match=r"^give either one size or m, n and k, not both$"):
            three_sizes(4, *sizes)
        sizes = [4, 4, 4]
        sizes[one] = None
        with pytest.raises(InvalidProblem, match=r"^give one size, or all of m, n and k$"):
            three_sizes(None, *sizes)


# Blocks


@pytest.mark.parametrize(
    ("text", "extents"), [("32", (32,)), ("32x8", (32, 8)), ("32X8×2", (32, 8, 2)), ("9999999999", (9999999999,))]
)
def test_a_block_as_text(text: str, extents: tuple[int, ...]) -> None:
    assert parse_shape(text) == extents


@pytest.mark.parametrize("text", ["", "x", "0", "8x0", "8x", "1x2x3x4", "8 x 8", "-8", "8.0", "٣", "12345678901"])
def test_what_is_no_block_as_text(text: str) -> None:
    with pytest.raises(InvalidBlock, match="is not a block: give one to three whole numbers"):
        parse_shape(text)


def test_a_block_has_fewer_than_two_to_the_63_threads_along_each_axis() -> None:
    assert dim3((1, 2**63 - 1)) == Dim3(1, 2**63 - 1, 1)
    for extent in (2**63, -(2**63)):
        with pytest.raises(InvalidBlock, match=r"^a block has fewer than 2⁶³ threads along each axis$"):
            dim3((1, extent))


def test_a_blocks_extents_are_ones_where_they_are_not_given_and_its_third_is_shown_where_it_counts() -> None:
    assert (dim3(5), dim3([5, 6]), dim3((5, 6, 7))) == ((5, 1, 1), (5, 6, 1), (5, 6, 7))
    assert [str(dim3(shape)) for shape in ((5,), (5, 6), (5, 6, 7))] == ["5×1", "5×6", "5×6×7"]
    assert dim3((5, 6, 7)).size == 210


@pytest.mark.parametrize(("extent", "step", "count"), [(1, 8, 1), (8, 8, 1), (9, 8, 2), (0, 8, 0)])
def test_steps_that_cover_an_extent(extent: int, step: int, count: int) -> None:
    assert ceil_div(extent, step) == count


# Devices


@pytest.mark.parametrize(
    ("flops", "cache_bytes", "cold", "seconds"),
    [
        (2.0, 0, False, 30.0),  # 60 FLOP
        (1e9, 0, False, 19.6),  # 100 bytes of A and B, and 48 of C twice
        (1e9, 100, False, 9.6),
        (1e9, 100, True, 10.0),  # A and B; the cache may keep any part of C
    ],
)
def test_arithmetic_or_traffic_is_the_least_time(flops: float, cache_bytes: int, cold: bool, seconds: float) -> None:
    found = Peaks({"float32": flops, "float64": 1e9}, 10.0, cache_bytes)
    problem = Problem(2, 3, 5, output="float64", beta=1)
    assert found.least_seconds(problem, "float32", cold=cold) == pytest.approx(seconds)


@pytest.mark.parametrize(
    ("unit", "flops", "launch", "bound"),
    [
        ("float32", 2.0, 1.0, Bound(30.0, "arithmetic")),
        ("float32", 1e9, 1.0, Bound(19.6, "memory")),
        ("float32", 1e9, 20.0, Bound(20.0, "launch")),
        ("int32", 1e9, 1.0, None),
    ],
)
def test_the_bound_of_a_time_has_its_limiter(unit: str, flops: float, launch: float, bound: Bound | None) -> None:
    peaks = Peaks({"float32": flops}, 10.0, 0, launch)
    assert peaks.bound(Problem(2, 3, 5, output="float64", beta=1), unit, cold=False) == bound


@pytest.mark.parametrize(
    ("capability", "multiprocessors", "clock", "teraflops"),
    [
        ((6, 0), 56, 1.48e9, {"float16": 21.2, "float32": 10.6, "float64": 5.3}),  # P100
        ((6, 1), 28, 1.582e9, {"float32": 11.3, "float64": 0.354}),  # GTX 1080 Ti
        ((7, 0), 80, 1.53e9, {"float16": 125, "float32": 15.7, "float64": 7.8}),  # V100
        ((7, 5), 40, 1.59e9, {"float16": 65, "float32": 8.1, "float64": 0.254}),  # T4
        ((8, 0), 108, 1.41e9, {"float16": 312, "bfloat16": 312, "float32": 19.5, "float64": 19.5}),  # A100
        ((8, 6), 82, 1.695e9, {"float16": 142, "float32": 35.6, "float64": 0.556}),  # RTX 3090
        ((8, 9), 128, 2.52e9, {"float16": 330, "float32": 82.6, "float64": 1.29}),  # RTX 4090
        ((9, 0), 132, 1.83e9, {"float16": 989, "tf32": 495, "int8": 1979, "float32": 61.8, "float64": 61.8}),  # H200
        ((10, 0), 148, 1.965e9, {"float16": 2380, "bfloat16": 2380, "float32": 74.4, "float64": 37.2}),  # B200
        ((12, 0), 170, 2.407e9, {"float16": 419, "float32": 104.8, "float64": 1.64}),  # RTX 5090
    ],
)
def test_peak_rates_are_those_of_the_data_sheets(
    capability: tuple[int, int], multiprocessors: int, clock: float, teraflops: dict[str, float]
) -> None:
    found = peaks(
        capability, multiprocessors=multiprocessors, clock_hz=clock, bytes_per_second=3e12, cache_bytes=50 << 20
    )
    assert found is not None
    assert (found.bytes_per_second, found.cache_bytes) == (3e12, 50 << 20)
    for dtype, rate in teraflops.items():
        assert found.flops[dtype] == pytest.approx(1e12 * rate, rel=0.02), dtype
    assert found.of("float8_e5m2") == found.of("float8_e4m3fn") == found.flops.get("float8")
    assert found.flops["float16"] >= found.flops["bfloat16"] >= found.flops["float32"] >= found.flops["float64"]
    assert all(found.of(unit) is None for unit in {"tf32", "float8_e4m3fn", "int8"} if unit[:6] not in found.flops)
    assert peaks((1, 0), multiprocessors=1, clock_hz=1.0, bytes_per_second=1.0, cache_bytes=1) is None


# Element types

TYPES = (
    *("float16", "bfloat16", "float32", "float64", "tf32", "float8_e4m3fn", "float8_e5m2"),
    *("int8", "uint8", "int32"),
)


def numbers_of(dtype: str) -> Any:
    """Return all positive numbers of an 8-bit or 16-bit type, in ascending order."""
    named = dtype_named(dtype)
    bits = np.arange(2 ** (8 * named.itemsize - 1), dtype=f"u{named.itemsize}")
    values = widen(bits.view(named.storage), dtype)
    return values[np.isfinite(values) & (values > 0)]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float8_e4m3fn", "float8_e5m2"])
def test_what_is_said_of_a_type_is_true_of_its_numbers(dtype: str) -> None:
    named, numbers = dtype_named(dtype), numbers_of(dtype)
    above_one = numbers[np.searchsorted(numbers, 1.0) + 1]
    assert named.unit_roundoff == (above_one - 1) / 2
    distances = np.diff(numbers)
    # Subnormal numbers are as far apart as the least normal ones; from there on it doubles at each power of two.
    assert numbers[np.argmax(distances > distances[0])] == 2.0 ** (named.exponents[0] + 1)
    largest = named.exponents[1] + (dtype == "float8_e4m3fn")  # up to 448
    assert 2.0**largest <= numbers[-1] < 2.0 ** (largest + 1)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8", "uint8", "int32"])
def test_numpys_types_are_as_numpy_has_them(dtype: str) -> None:
    named = dtype_named(dtype)
    assert (named.itemsize, named.storage, named.is_integer) == (np.dtype(dtype).itemsize, dtype, "int" in dtype)
    if named.is_integer:
        assert (named.unit_roundoff, named.exponents) == (0, (0, np.iinfo(dtype).max.bit_length() - 1))
    else:
        known = np.finfo(dtype)
        assert named.unit_roundoff == known.eps / 2
        assert named.exponents == (known.minexp, known.maxexp - 1)


@pytest.mark.parametrize(("name", "bits"), [("tf32", 10), ("float22", 13), ("bfloat16", 7)])
def test_narrower_types_have_the_exponents_of_float32_and_fewer_bits(name: str, bits: int) -> None:
    named, float32 = accumulator_named(name), dtype_named("float32")
    assert named.exponents == float32.exponents
    # Truncation errs by up to a whole unit in the last place, rounding by half a unit.
    assert named.unit_roundoff == 2.0 ** -(bits + (name != "float22"))
    assert not named.is_integer
    assert named.storage == ("uint16" if name == "bfloat16" else "float32")


def test_sums_of_float22_may_be_promoted() -> None:
    assert accumulator_named("float22/128") == accumulator_named("float22")._replace(name="float22/128")
    assert [terms_until_promoted("float22/128", k) for k in (1, 127, 128, 4096)] == [1, 127, 128, 128]
    assert terms_until_promoted("float22", 4096) == terms_until_promoted("float32", 4096) == 4096
    for name in ("float22/", "float22/0", "float22/-1", "float22/x", "float32/128", "float22/128/2"):
        with pytest.raises(InvalidProblem, match=f"^'{name}' is not an element type"):
            accumulator_named(name)


SHORT = {
    "f16": "float16", "half": "float16", "bf16": "bfloat16", "f32": "float32", "float": "float32", "f64": "float64",
    "double": "float64", "e4m3": "float8_e4m3fn", "float8_e4m3": "float8_e4m3fn", "e5m2": "float8_e5m2",
    "s8": "int8", "u8": "uint8", "s32": "int32",
}  # fmt: skip


def test_a_type_is_known_by_its_name_and_for_short() -> None:
    assert [dtype_named(name).name for name in TYPES] == list(TYPES)
    assert {name: dtype_named(name).name for name in SHORT} == SHORT
    with pytest.raises(InvalidProblem, match=f"^'f12' is not an element type; there are {', '.join(TYPES)}$"):
        dtype_named("f12")
