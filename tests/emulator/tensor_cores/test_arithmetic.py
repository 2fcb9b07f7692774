"""Results of tensor cores: by integers of any size, term by term, and as an H200 computes them."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench.studies.tensor_cores.comparison import arithmetic_for as arithmetic_of_h200
from bench.studies.tensor_cores.comparison import computed, from_vector
from bench.studies.tensor_cores.kernels import fragments, result_of
from bench.studies.tensor_cores.numbers import CASES, FORMATS, Case, Draw, kinds_of, operands
from mmcore_emulator.errors import UnsupportedInstruction
from mmcore_emulator.tensor_cores.arithmetic import NEVER, Arithmetic, arithmetic_of
from mmcore_emulator.tensor_cores.elements import BITS, values
from mmcore_emulator.tensor_cores.summation import multiply_add
from tests.narrowing import wide
from tests.tables import table

Terms = list[tuple[float, float]]
VECTORS = Path(__file__).parents[3] / "bench/results/nvidia-h200/tensor_cores.json"
DOT_PRODUCTS = 12  # of each kind of numbers
# Architecture, types of A and B and of the result, and products of one instruction, of tensor cores before an H200's.
EARLIER = """70 f16 f32 4; 70 f16 f16 4; 75 f16 f32 8; 80 f16 f32 16; 80 f16 f16 16; 80 bf16 f32 16; 86 tf32 f32 8;
86 tf32 f32 4; 89 e4m3 f32 32; 89 e5m2 f16 32"""
INF, NAN = math.inf, math.nan
NARROW = {"e4m3": "float8_e4m3fn", "e5m2": "float8_e5m2", "bf16": "bfloat16"}


def arithmetic_for(capability: str, kind: str, result: str, k: int, instruction: str = "mma", **how: Any) -> Arithmetic:
    return arithmetic_of((int(capability[0]), int(capability[1])), instruction, kind, kind, result, k, **how)


def every_arithmetic() -> list[tuple[Case, Arithmetic]]:
    """Return the instructions of earlier tensor cores, and those of an H200 with other exponents of zero."""
    earlier = [each.split() for each in EARLIER.split(";")]
    found = [
        (Case("mma", kind, kind, result, int(k)), arithmetic_for(capability, kind, result, int(k)))
        for capability, kind, result, k in earlier
    ]
    for case in CASES:
        if case.result in ("f32", "f16"):
            usual = arithmetic_of_h200(case)
            zeros = [replace(usual, zero=-126, zero_of_c=None), replace(usual, zero=None, zero_of_c=NEVER)]
            found += [(case, each) for each in zeros]
            if usual.kept == 13 and usual.result == "f16":
                found += [(case, replace(each, result="f16 of float22")) for each in zeros]
    return [*found, (CASES[4], replace(arithmetic_of_h200(CASES[4]), zero=-126, zero_of_c=None, signed_zeros=True))]


# The reference


def numbers(bits: Sequence[int], kind: str) -> list[float]:
    """Return the numbers with these bits; the decoder of 8 and 16 bits is independent of the emulator's."""
    stored = np.array(bits, f"u{BITS[kind] // 8}")
    stored = stored >> 13 << 13 if kind == "tf32" else stored
    with np.errstate(invalid="ignore"):
        if kind in NARROW:
            return [float(each) for each in wide(stored, NARROW[kind])]
        return [float(each) for each in stored.view(f"f{stored.itemsize}")]


def exponent(number: float, kind: str, zero: int | None) -> int:
    """Return the exponent that a number counts with."""
    if number == 0 and zero is not None:
        return zero
    return max(math.frexp(number)[1] - 1 if number else -999, 2 - (1 << FORMATS[kind][0] - 1))


def step(case: Case, pairs: list[tuple[float, float]], c: float, kinds: Sequence[str], arithmetic: Arithmetic) -> int:
    """Return the bit pattern of one step's result."""
    if not all(map(math.isfinite, (c, *itertools.chain(*pairs)))):
        return pattern(sum(a * b for a, b in pairs) + c, arithmetic.result)
    zero = arithmetic.zero
    exponents = [sum(exponent(x, kind, zero) for x, kind in zip(pair, kinds, strict=True)) for pair in pairs]
    last = max(arithmetic.floor, exponent(c, case.result, arithmetic.zero_of_c), *exponents) - arithmetic.kept
    terms = [Fraction(c), *(Fraction(x) * Fraction(y) for x, y in pairs)]
    total = sum(math.trunc(term / Fraction(2) ** last) for term in terms)
    if arithmetic.result == "f16":
        return pattern(nearest_half(total * Fraction(2) ** last), "f16")
    fraction = 23 if arithmetic.result == "f32" else 13
    unit = max(last + abs(total).bit_length() - 1, -126) - fraction
    value = math.ldexp(math.trunc(total * Fraction(2) ** (last - unit)), unit)
    if arithmetic.result == "f16 of float22":
        return pattern(nearest_half(Fraction(value)), "f16")
    value = math.copysign(value, total if arithmetic.signed_zeros else 1) if value == 0 else value
    return pattern(value if abs(value) < 2.0**128 else math.copysign(INF, value), "f32")


def nearest_half(value: Fraction) -> float:
    exponent = -14
    while abs(value) >= Fraction(2) ** (exponent + 1):
        exponent += 1
    unit = Fraction(2) ** (exponent - 10)
    rounded = round(value / unit) * unit
    return float(rounded) if abs(rounded) < 65536 else INF if rounded > 0 else -INF


def pattern(value: float, result: str) -> int:
    """Return the bits of a number in a register; there is one NaN."""
    half = result.startswith("f16")
    if math.isnan(value):
        return 0x7FFF if half else 0x7FFFFFFF
    return int(np.array(value, np.float16).view(np.uint16) if half else np.array(value, np.float32).view(np.uint32))


def expected(case: Case, a: Sequence[int], b: Sequence[int], c: int, arithmetic: Arithmetic) -> int:
    """Return the bit pattern of a dot product and C."""
    order, start = list(range(case.k)), 0 if arithmetic.unpacked else c
    kinds = ("f16", "f16") if arithmetic.unpacked else (case.a, case.b)
    if arithmetic.unpacked:
        order.sort(key=lambda k: k % 4 > 1)
    pairs = list(zip(numbers(a, case.a), numbers(b, case.b), strict=True))
    for first in range(0, case.k, arithmetic.at_once):
        terms = [pairs[k] for k in order[first : first + arithmetic.at_once]]
        start = step(case, terms, numbers([start], case.result)[0], kinds, arithmetic)
    if not arithmetic.unpacked:
        return start
    total, own = np.array(numbers([start, c], case.result), np.float16 if case.result == "f16" else np.float32)
    with np.errstate(all="ignore"):
        return pattern(float(total + own), case.result)


@pytest.mark.parametrize(("case", "arithmetic"), every_arithmetic())
def test_every_result_is_that_of_integers_of_any_size(case: Case, arithmetic: Arithmetic) -> None:
    rng = np.random.default_rng(5)
    for kind in kinds_of(case):
        a, b, c = operands(case, kind, 128)
        found = computed(case, a, b, c, arithmetic)
        for _ in range(DOT_PRODUCTS):
            row, column = rng.integers(found.shape[1]), rng.integers(8)
            left, right, start = a[0, row].tolist(), b[0, :, column].tolist(), int(c[0, row, column])
            wanted = expected(case, left, right, start, arithmetic)
            assert f"{found[0, row, column]:x}" == f"{wanted:x}", (kind, left, right, start)


# Term by term


def bits_of_terms(arithmetic: Arithmetic, terms: Terms, c: float) -> int:
    """Return the bit pattern of the sum of products of pairs, and C."""
    a, b = np.array(terms, np.float64).T
    found = np.asarray(multiply_add(a[None], b[:, None], np.array([[c]], np.float64), arithmetic)[0, 0])
    return int(found.view({2: np.uint16, 4: np.uint32}[found.itemsize]))


TINY, NOTHING = (2**-12, 2**-12), (0.0, 0.0)
HALF, LEAST, REST = (2**-11, 2**-14), (2**-70, 2**-79), [NOTHING] * 6


@pytest.mark.parametrize(
    ("how", "terms", "c", "wanted"),
    [
        ("90 wgmma f16 f32", [(-0.0, 1)], -0.0, 0.0),
        ("90 wgmma f16 f32", [(1, 1.5), (1, -1.5)], 0, 0.0),
        ("90 wgmma f16 f32", [(INF, 0)], 1, NAN),
        ("90 wgmma f16 f32", [(INF, 1), (1, INF)], -INF, NAN),
        ("90 wgmma f16 f32", [(INF, 1), (1, 1)], 1, INF),
        ("90 wgmma f16 f32", [(1, -1)], -INF, -INF),
        ("90 wgmma f16 f32", [(NAN, 0)], 1, NAN),
        ("90 wgmma f16 f32", [(32768, -1)], NAN, NAN),
        # 2^24 + 1 + 1: float32 could not hold the first sum, but the terms are added at once.
        ("90 wgmma f16 f32", [(1, 1), (1, 1)], 2**24, 2**24 + 2),
        # 25 bits below the largest are kept, and no more.
        ("90 wgmma f16 f32", [(1, 1), (2**-13, 2**-13)], -1, 0.0),
        ("90 wgmma f16 f32", [(1, 1), (2**-13, 2**-12)], -1, 2**-25),
        # A result that is too large is infinite; it may be rounded up.
        ("90 wgmma bf16 f32", [(2.0**100, -(2.0**29))], 0, -INF),
        ("90 wgmma f16 f16", [(200, 200), (200, 200)], 0, INF),
        ("90 wgmma f16 f16", [(2**15, 1)], 32752, INF),
        ("90 wgmma bf16 f32", [(2.0**127, 1)], 1.7e38, 2.0**127 + 1.7e38),
        # A result of float32 is truncated, and one of float16 rounded.
        ("90 wgmma f16 f32", [(-1, 1), (-1, 2**-24)], 0, -1),
        ("90 wgmma f16 f16", [(1, 1), (1, 1.5 * 2**-11)], 0, 1 + 2**-10),
        ("90 wgmma f16 f16", [(1, 1), (1, 2**-11)], 0, 1),
        # Everything is aligned to at least 2^-158: the first product lacks two units of it of the least float32.
        ("90 wgmma bf16 f32", [(2**-100, 255 * 2**-57), *[(2**-100, 2**-58)] * 2], 0, 2**-149),
        ("90 wgmma bf16 f32", [(2**-100, 255 * 2**-57), *[(2**-100, 2**-59)] * 2], 0, 0.0),
        ("90 wgmma bf16 f32", [(2**-100, 2**-52)] * 8, 0, 2**-149),
        # Volta's instruction: Turing executes it as Volta does, and its own as itself.
        ("70,75 mma f16 f32", [(1, 1), TINY, NOTHING, NOTHING], -1, 0.0),
        ("75 mma f16 f32", [(1, 1), TINY, *REST], -1, 2**-24),
        # It reads a C of float16 with the exponents of float16.
        ("75 mma f16 f32 f32", [(2**-19, 2**-19)] * 4, 2**-24, 2**-24 + 2**-36),
        ("75 mma f16 f32 f16", [(2**-19, 2**-19)] * 4, 2**-24, 2**-24),
        # Later it is a subroutine: every multiply-add rounds to nearest even, and the sum is added to C at last.
        ("80,86,89,90 mma f16 f32", [(1, 1), TINY, TINY, TINY], 0, 1),
        ("80,86,89,90 mma f16 f32", [TINY, TINY, (1, 1), TINY], 0, 1 + 2**-22),
        ("80,86,89,90 mma f16 f32", [TINY, TINY, TINY, TINY], 1, 1 + 2**-22),
        ("80,86,89,90 mma f16 f32", [(-0.0, 1)] * 4, -0.0, 0.0),
        # With float16, C is added to each half of the products, in float32.
        ("80,86,89,90 mma f16 f16", [(64, 1), (2**-11, 1), (-64, 1), NOTHING], 2**-20, 2**-11),
        ("80,86,89,90 mma f16 f16", [(-0.0, 1)] * 4, -0.0, -0.0),
        ("80,86,89,90 mma f16 f16", [(INF, 0)] * 4, 0, NAN),
        # MMA-Sim and MATLAB-tensor-core both found a fixed last bit on cards. Half the least float16 rounds up if
        # something is left beside it.
        ("75,80,89 mma f16 f16", [HALF, (2**-20, 2**-24), *REST], 0, 2**-24),
        ("75,80,89 mma f16 f16", [HALF, (2**-21, 2**-24), *REST], 0, 0.0),
        ("90 mma f16 f16", [HALF, (2**-22, 2**-24), *REST], 0, 2**-24),
        ("90 mma f16 f16", [HALF, (2**-23, 2**-24), *REST], 0, 0.0),
        ("80,86,89 mma bf16 f32", [LEAST, (-(2**-76), 2**-80), *REST], 0, 0.0),
        ("80,86,89 mma bf16 f32", [LEAST, (-(2**-77), 2**-80), *REST], 0, 2**-149),
        ("90 mma bf16 f32", [LEAST, (-(2**-78), 2**-80), *REST], 0, 0.0),
        ("90 mma bf16 f32", [LEAST, (-(2**-79), 2**-80), *REST], 0, 2**-149),
    ],
)
def test_sums_of_few_terms(how: str, terms: Terms, c: float, wanted: float) -> None:
    capabilities, instruction, kind, result, *c_type = how.split()
    for capability in capabilities.split(","):
        options = {"c_type": c_type[0]} if c_type else {}
        arithmetic = arithmetic_for(capability, kind, result, len(terms), instruction, **options)
        assert f"{bits_of_terms(arithmetic, terms, c):x}" == f"{pattern(wanted, result):x}"


def test_a_tiny_sum_that_an_h100_published() -> None:
    """The issue 7 of north-numerical-computing/MATLAB-tensor-core: a floor of -132 or -134 gives 0x1.4p-146."""
    a = "9b94 19f3 9a2e 1a67 9a25 9b4e 9b29 9a33 99e0 1a14 9914 99d1 9ae9 1b1a 9a9c 1b3a"
    b = "9aaf 99f3 9acc 1b7c 19ed 1b25 9a1b 9a20 9af7 9a48 1ae1 1b32 1b12 1b0e 9a68 1735"
    left, right = (values(np.array([int(each, 16) for each in x.split()], np.uint16), "bf16").tolist() for x in (a, b))
    for instruction in ("mma", "wgmma"):
        arithmetic = arithmetic_for("90", "bf16", "f32", 16, instruction)
        assert bits_of_terms(arithmetic, list(zip(left, right, strict=True)), 0) == pattern(11 * 2.0**-149, "f32")


def test_zeros_may_count_with_an_exponent_and_have_a_sign() -> None:
    """E is 1, of 0 · 2^15; 2^-24 is the last bit that is kept."""
    usual = arithmetic_for("90", "f16", "f32", 8)
    for zero, factor, wanted in ((None, 1, 1), (NEVER, 1, 1), (None, 0.75, 0), (NEVER, 0.75, 0.75)):
        found = bits_of_terms(replace(usual, zero=zero), [(0, 2**15), (1, factor * 2**-24)], 0)
        assert found == pattern(wanted * 2**-24, "f32")
    signed = replace(arithmetic_for("90", "bf16", "f32", 8), signed_zeros=True)
    for a, wanted in ((-(2**-100), -0.0), (-0.0, 0.0)):
        assert bits_of_terms(signed, [(a, 2**-53)], -0.0) == pattern(wanted, "f32")


# Other types, and shapes


@pytest.mark.parametrize("kind", ["normal", "wide", "cancellation", "any bits", "overflow"])
def test_float64_is_a_chain_of_fused_multiply_adds(kind: str) -> None:
    case = next(each for each in CASES if each.a == "f64")
    a, b, c = (each.view(np.float64) for each in operands(case, kind, 64))
    found = multiply_add(a, b, c, arithmetic_for("90", "f64", "f64", 4))[0]
    for row, column in np.ndindex(8, 8):
        wanted = float(c[0, row, column])
        for left, right in zip(a[0, row].tolist(), b[0, :, column].tolist(), strict=True):
            wanted = fused(left, right, wanted)
        np.testing.assert_equal(found[row, column], wanted)


def fused(a: float, b: float, c: float) -> float:
    if math.isinf(c) and math.isfinite(a) and math.isfinite(b):
        return c
    if not all(map(math.isfinite, (a, b, c))):
        with np.errstate(all="ignore"):
            return float(np.float64(a) * np.float64(b) + np.float64(c))
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    try:
        return float(exact)
    except OverflowError:
        return INF if exact > 0 else -INF


@pytest.mark.parametrize("case", [each for each in CASES if each.result == "s32"], ids=lambda case: case.name)
@pytest.mark.parametrize("kind", ["any bits", "extremes"])
def test_integers_wrap_around_or_are_clamped(case: Case, kind: str) -> None:
    a, b, c = operands(case, kind, 512)
    found = computed(case, a, b, c, arithmetic_of_h200(case))[0].view(np.int32)
    left, right = (values(each[0], type).astype(np.int64) for each, type in ((a, case.a), (b, case.b)))
    total = left @ right + c[0].view(np.int32)
    wanted = np.clip(total, -(2**31), 2**31 - 1) if case.saturate else (total + 2**31) % 2**32 - 2**31
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("shape", [(1, 16, 8), (3, 16, 8), (70, 16, 8), (600, 16, 8), (2, 64, 256), (90, 8, 72)])
def test_every_part_of_a_large_array_is_computed(shape: tuple[int, int, int]) -> None:
    warps, rows, columns = shape
    arithmetic, rng = arithmetic_for("80", "f16", "f32", 16), np.random.default_rng(1)
    a, b = (
        rng.standard_normal(each).astype(np.float16).astype(float) for each in ((warps, rows, 16), (warps, 16, columns))
    )
    c = rng.standard_normal((warps, rows, columns)).astype(np.float32).astype(float)
    found = multiply_add(a, b, c, arithmetic)
    for warp in {0, warps // 2, warps - 1}:
        alone = multiply_add(a[warp], b[warp], c[warp], arithmetic)
        assert alone.dtype == np.float32
        np.testing.assert_array_equal(found[warp], alone)
        parts = [multiply_add(a[warp], b[warp, :, [n]].T, c[warp, :, [n]].T, arithmetic) for n in range(columns)]
        np.testing.assert_array_equal(alone, np.concatenate(parts, axis=1))
    np.testing.assert_allclose(found, a @ b + c, rtol=1e-5, atol=1e-5)


def test_leading_axes_are_kept_and_may_be_empty() -> None:
    arithmetic = arithmetic_for("90", "bf16", "f32", 8)
    a, b, c = np.ones((2, 3, 16, 8)), np.ones((2, 3, 8, 8)), np.ones((2, 3, 16, 8))
    np.testing.assert_array_equal(multiply_add(a, b, c, arithmetic), np.full((2, 3, 16, 8), 9, np.float32))
    assert multiply_add(a[:0], b[:0], c[:0], arithmetic).shape == (0, 3, 16, 8)


@table(
    "type bits wanted",
    """
    e4m3  01,7e,08,b8,80        2**-9, 448, 2**-6, -1, 0
    e4m3  7f,ff                 NAN, NAN
    e5m2  01,7b,7c,fc,7d,ff     2**-16, 57344, INF, -INF, NAN, NAN
    f16   3c01                  1 + 2**-10,
    bf16  3f80,0001             1, 2.0**-133
    # The low bits of a register are ignored.
    tf32  3f801fff,3f802000,00001fff,3f803fff  1, 1 + 2**-10, 0, 1 + 2**-10
    f32   3f800001              1 + 2**-23,
    s8    ff                    -1,
    u8    ff                    255,
    s4    0f                    -1,
    u4    0f                    15,
    s32   80000000              -(2**31),
    f64   3ff8000000000000      1.5,
    """,
)
def test_values_of_bits(type: str, bits: str, wanted: str) -> None:
    stored = {4: np.uint8, 8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.uint64}[BITS[type]]
    raw = np.array([int(each, 16) for each in bits.split(",")], stored)
    raw = raw.view(np.float64) if type == "f64" else raw
    found = values(raw, type)
    np.testing.assert_array_equal(found.astype(float), eval(wanted))
    np.testing.assert_array_equal(values(np.asfortranarray([raw, raw]), type), [found, found])


@table(
    "capability instruction kind k result kept at_once unpacked",
    """
    70 mma  f16  4  f32  23 4  False;  75 mma  f16  8  f32  24 8  False;        86 mma  bf16 16  f32  24 8  False
    80 mma  tf32 8  f32  24 4  False;  89 mma  e4m3 32  float22  13 16 False;   90 mma  f16  16  f32  25 16 False
    90 mma  e4m3 32  f32  25 16 True;  90 wgmma e5m2 32  float22  13 32 False
    """,
)
def test_arithmetic_by_architecture(
    capability: str, instruction: str, kind: str, k: str, result: str, kept: str, at_once: str, unpacked: str
) -> None:
    found = arithmetic_for(capability, kind, "f32", int(k), instruction)
    assert [found.result, str(found.kept), str(found.at_once), str(found.unpacked)] == [result, kept, at_once, unpacked]


@table(
    "capability instruction kind result",
    """
    75 mma bf16 f32;   86 mma e4m3 f32;  80 wgmma f16 f32;  90 mma bf16 f16;  80 wgmma s8 s32;  70 mma s8 s32
    90 wgmma f64 f64;  30 mma f16 f32;   90 mma f32 f32
    """,
)
def test_other_instructions_are_refused(capability: str, instruction: str, kind: str, result: str) -> None:
    with pytest.raises(UnsupportedInstruction, match="not known"):
        arithmetic_for(capability, kind, result, 16, instruction)


# The comparison with a GPU


@pytest.mark.parametrize("case", {(x.instruction, x.k, x.a[1:]): x for x in CASES}.values(), ids=lambda case: case.name)
def test_fragments_for_a_gpu_are_those_of_ptx(case: Case) -> None:
    """Four lanes share a row of mma, and wgmma has cores of 8 rows of 16 bytes, two along k."""
    a, b, c = Draw(case, [3], 1024).any_bits()
    of_wgmma = case.instruction == "wgmma"
    held = max(1, (16 if of_wgmma else 4) // a.itemsize)
    for matrix, fragment in zip((a, b.swapaxes(1, 2)), fragments(case, a, b, c)[:2], strict=True):
        row, k = np.ogrid[: matrix.shape[1], : case.k]
        blocks = matrix.shape[1] // 8
        lane, register = row % 8 * 4 + k // held % 4, k // (4 * held) * blocks + row // 8
        place = (lane * (case.k // (4 * held) * blocks) + register) * held + k % held
        if of_wgmma:
            place = (row // 8 * 2 + k // held) * 8 * held + row % 8 * held + k % held
        np.testing.assert_array_equal(fragment.reshape(len(matrix), -1)[:, place], matrix)
    fragment = fragments(case, a, b, c)[2]
    np.testing.assert_array_equal(result_of(case, fragment, len(c)), c)
    m, n = np.ogrid[: case.rows, :8]
    lane, per_lane = m // 16 * 32 + m % 8 * 4 + n // 2, 2 * min(case.rows // 8, 2)
    np.testing.assert_array_equal(fragment.reshape(len(c), -1)[:, lane * per_lane + m % 16 // 8 * 2 + n % 2], c)


@pytest.mark.skipif(not VECTORS.exists(), reason="there are no measurements")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_results_of_an_h200(case: Case) -> None:
    found = json.loads(VECTORS.read_text(encoding="utf-8"))["tensor_cores"]
    (kinds,) = (each["kinds"] for each in found if Case(**each["case"]) == case)
    arithmetic = arithmetic_of_h200(case)
    for kind, vector in kinds.items():
        a, b, c, d = from_vector(case, vector)
        np.testing.assert_array_equal(computed(case, a, b, c, arithmetic), d, err_msg=kind)
