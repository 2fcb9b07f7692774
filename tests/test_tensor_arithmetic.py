"""What tensor cores compute: against integers of any size, term by term, and against results of an H200."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from bench.tensor_cores import CASES, Case, Draw, computed, fragments, from_vector, kinds_of, operands, result_of
from bench.tensor_cores import hypotheses as hypotheses_of
from mmcore_emulator.errors import UnsupportedInstruction
from mmcore_emulator.tensor_cores.arithmetic import NEVER, Arithmetic, arithmetic_of
from mmcore_emulator.tensor_cores.elements import values
from mmcore_emulator.tensor_cores.summation import multiply_add

Values = NDArray[Any]

VECTORS = Path(__file__).parents[1] / "bench/results/nvidia-h200/tensor_cores.json"
#: Bits of exponent and fraction.
FORMATS = {"f16": (5, 10), "bf16": (8, 7), "tf32": (8, 23), "e4m3": (4, 3), "e5m2": (5, 2), "f32": (8, 23)}
#: Of each kind of numbers.
DOT_PRODUCTS = 12

EARLIER = {
    (capability, case): arithmetic_of(capability, "mma", case.a, case.b, case.result, case.k)
    for capability, case in (
        ((7, 0), Case("mma", "f16", "f16", "f32", 4)),
        ((7, 0), Case("mma", "f16", "f16", "f16", 4)),
        ((7, 5), Case("mma", "f16", "f16", "f32", 8)),
        ((8, 0), Case("mma", "f16", "f16", "f32", 16)),
        ((8, 0), Case("mma", "f16", "f16", "f16", 16)),
        ((8, 0), Case("mma", "bf16", "bf16", "f32", 16)),
        ((8, 6), Case("mma", "tf32", "tf32", "f32", 8)),
        ((8, 6), Case("mma", "tf32", "tf32", "f32", 4)),
        ((8, 9), Case("mma", "e4m3", "e4m3", "f32", 32)),
        ((8, 9), Case("mma", "e5m2", "e5m2", "f16", 32)),
    )
}
EVERY_ARITHMETIC = [
    *((case, each) for (_, case), each in EARLIER.items()),
    *((case, each) for case in CASES if case.result in ("f32", "f16") for each in [*hypotheses_of(case).values()][::3]),
    *((case, replace(each, signed_zeros=True)) for case in CASES[4:5] for each in [*hypotheses_of(case).values()][:1]),
]


# The reference


@dataclass(frozen=True)
class Number:
    """significand · 2^unit, and the exponent that it counts with; or a NaN or an infinity, by ``special``."""

    significand: int = 0
    unit: int = 0
    exponent: int = 0
    special: float = 0.0


def number(bits: int, kind: str, zero: int | None) -> Number:
    exponent_bits, fraction_bits = FORMATS[kind]
    if kind == "tf32":
        bits = bits >> 13 << 13
    sign = -1 if bits >> (exponent_bits + fraction_bits) else 1
    biased, fraction = bits >> fraction_bits & ((1 << exponent_bits) - 1), bits & ((1 << fraction_bits) - 1)
    top = (1 << exponent_bits) - 1
    if kind == "e4m3" and (biased, fraction) == (15, 7):
        return Number(special=math.nan)
    if kind != "e4m3" and biased == top:
        return Number(special=math.nan if fraction else sign * math.inf)
    significand = fraction if biased == 0 else fraction + (1 << fraction_bits)
    exponent = max(biased, 1) - (top >> 1)
    if significand == 0 and zero is not None:
        return Number(exponent=zero)
    return Number(sign * significand, exponent - fraction_bits, exponent)


def cut_off(significand: int, by: int) -> int:
    """significand / 2^by without what is behind the point."""
    if by <= 0:
        return significand << -by
    return (abs(significand) >> by) * (1 if significand >= 0 else -1)


def step(a: Sequence[Number], b: Sequence[Number], c: Number, arithmetic: Arithmetic) -> int:
    """Bit pattern of one step's result."""
    pairs = list(zip(a, b, strict=True))
    special = special_value(pairs, c)
    if special is not None:
        return pattern(special, arithmetic.result)
    largest = max(arithmetic.floor, c.exponent, *(x.exponent + y.exponent for x, y in pairs))
    last = largest - arithmetic.kept
    total = cut_off(c.significand, last - c.unit)
    for x, y in pairs:
        total += cut_off(x.significand * y.significand, last - x.unit - y.unit)
    if arithmetic.result == "f16":
        return pattern(nearest_half(Fraction(total) * Fraction(2) ** last), "f16")
    fraction = 23 if arithmetic.result == "f32" else 13
    unit = max(last + abs(total).bit_length() - 1, -126) - fraction
    kept = cut_off(total, unit - last) if unit > last else total << (last - unit)
    value = math.ldexp(kept, unit)
    if arithmetic.result == "f16 of float22":
        return pattern(nearest_half(Fraction(value)), "f16")
    value = math.copysign(value, total if arithmetic.signed_zeros else 1) if value == 0 else value
    return pattern(value if abs(value) < 2.0**128 else math.copysign(math.inf, value), "f32")


def special_value(pairs: Sequence[tuple[Number, Number]], c: Number) -> float | None:
    """NaN or an infinity; None where all are numbers."""
    found = [c.special] if c.special else []
    for x, y in pairs:
        if x.special or y.special:
            left, right = (each.special or float(each.significand) for each in (x, y))
            found.append(left * right)
    return sum(found) if found else None


def nearest_half(value: Fraction) -> float:
    exponent = -14
    while abs(value) >= Fraction(2) ** (exponent + 1):
        exponent += 1
    unit = Fraction(2) ** (exponent - 10)
    rounded = round(value / unit) * unit
    return float(rounded) if abs(rounded) < 65536 else math.inf if rounded > 0 else -math.inf


def pattern(value: float, result: str) -> int:
    if math.isnan(value):
        return 0x7FFF if result.startswith("f16") else 0x7FFFFFFF
    if result.startswith("f16"):
        return int(np.array(value, np.float16).view(np.uint16))
    return int(np.array(value, np.float32).view(np.uint32))


def expected(case: Case, a: Sequence[int], b: Sequence[int], c: int, arithmetic: Arithmetic) -> int:
    """Bit pattern of a dot product and C."""
    kinds = case.a, case.b
    order = list(range(case.k))
    start = c
    if arithmetic.unpacked:
        a, b = (
            [int(each) for each in values(np.array(x, np.uint8), kind).astype(np.float16).view(np.uint16)]
            for x, kind in zip((a, b), kinds, strict=True)
        )
        kinds, start = ("f16", "f16"), 0
        order = [k for k in order if k % 4 < 2] + [k for k in order if k % 4 > 1]
    left, right = ([number(x[k], kind, arithmetic.zero) for k in order] for x, kind in zip((a, b), kinds, strict=True))
    for first in range(0, case.k, arithmetic.at_once):
        ks = slice(first, first + arithmetic.at_once)
        start = step(left[ks], right[ks], number(start, case.result, arithmetic.zero_of_c), arithmetic)
    return added(start, c, case.result) if arithmetic.unpacked else start


def added(x: int, y: int, result: str) -> int:
    """Bit pattern of an ordinary sum."""
    kind = np.uint16 if result == "f16" else np.uint32
    with np.errstate(all="ignore"):
        left, right = np.array([x, y], kind).view(np.float16 if result == "f16" else np.float32)
        return pattern(float(left + right), result)


# Against the reference


@pytest.mark.parametrize(
    ("case", "arithmetic"), EVERY_ARITHMETIC, ids=[f"{each[0].name}-{i}" for i, each in enumerate(EVERY_ARITHMETIC)]
)
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


def one(a: Sequence[float], b: Sequence[float], c: float, kind: str = "f16", result: str = "f32") -> Values:
    """A dot product as wgmma of an H100 computes it."""
    arithmetic = arithmetic_of((9, 0), "wgmma", kind, kind, result, len(a))
    return np.asarray(multiply_add(np.array([a]), np.array(b)[:, None], np.array([[c]]), arithmetic)[0, 0])


@pytest.mark.parametrize(
    ("a", "b", "c", "bits"),
    [
        ([-0.0], [1.0], -0.0, 0),
        ([1.0, 1.0], [1.5, -1.5], 0.0, 0),
        ([math.inf], [0.0], 1.0, 0x7FFFFFFF),
        ([math.inf, 1.0], [1.0, math.inf], -math.inf, 0x7FFFFFFF),
        ([math.inf, 1.0], [1.0, 1.0], 1.0, 0x7F800000),
        ([1.0], [-1.0], -math.inf, 0xFF800000),
        ([math.nan], [0.0], 1.0, 0x7FFFFFFF),
        ([32768.0], [-1.0], math.nan, 0x7FFFFFFF),
        # 2^24 + 1 + 1: float32 could not hold the first sum, but the terms are added at once.
        ([1.0, 1.0], [1.0, 1.0], 2.0**24, 0x4B800001),
        # 25 bits below the largest are kept, and no more.
        ([1.0, 2.0**-13], [1.0, 2.0**-13], -1.0, 0),
        ([1.0, 2.0**-13], [1.0, 2.0**-12], -1.0, 0x33000000),
    ],
)
def test_infinities_zeros_and_cancellation(a: list[float], b: list[float], c: float, bits: int) -> None:
    found = one(a, b, c)
    assert f"{found.view(np.uint32):x}" == f"{bits:x}"


def test_what_is_too_large_is_infinite() -> None:
    assert one([2.0**100], [-(2.0**29)], 0.0, "bf16") == -math.inf
    assert one([200.0, 200.0], [200.0, 200.0], 0.0, result="f16") == math.inf
    assert one([2.0**15], [1.0], 32752.0, result="f16") == math.inf  # it is rounded up
    assert one([2.0**127], [1.0], 1.7e38, "bf16") == np.float32(2.0**127 + 1.7e38)


def test_a_float32_result_is_cut_off_and_one_of_float16_rounded() -> None:
    assert one([-1.0, -1.0], [1.0, 2.0**-24], 0.0) == -1.0
    assert one([1.0, 1.0], [1.0, 1.5 * 2.0**-11], 0.0, result="f16") == 1.0 + 2.0**-10
    assert one([1.0, 1.0], [1.0, 2.0**-11], 0.0, result="f16") == 1.0


def test_zeros_may_count_with_an_exponent() -> None:
    usual = arithmetic_of((9, 0), "mma", "f16", "f16", "f32", 8)
    a, b, c = np.array([[0.0, 1.0]]), np.array([[2.0**15], [2.0**-24]]), np.array([[0.0]])
    counted, ignored = (multiply_add(a, b, c, replace(usual, zero=zero))[0, 0] for zero in (None, NEVER))
    # E is 1, of 0 · 2^15; 2^-24 is the last bit that is kept.
    assert (counted, ignored) == (2.0**-24, 2.0**-24)
    b[1] = 2.0**-24 * 0.75
    counted, ignored = (multiply_add(a, b, c, replace(usual, zero=zero))[0, 0] for zero in (None, NEVER))
    assert (counted, ignored) == (0.0, 0.75 * 2.0**-24)


@pytest.mark.parametrize(("last", "result"), [(2.0**-58, 2.0**-149), (2.0**-59, 0.0)])
def test_everything_is_aligned_to_at_least_the_floor(last: float, result: float) -> None:
    # The first product lacks two units of 2^-158 of the least float32.
    assert one([2.0**-100] * 3, [255 * 2.0**-57, last, last], 0.0, "bf16") == result
    assert one([2.0**-100] * 8, [2.0**-52] * 8, 0.0, "bf16") == 2.0**-149


def of_terms(arithmetic: Arithmetic, terms: Sequence[tuple[float, float]], c: float = 0.0) -> float:
    """Return the sum of products of pairs, and C."""
    a, b = np.array(terms).T
    return float(multiply_add(a[None], b[:, None], np.array([[c]]), arithmetic)[0, 0])


@pytest.mark.parametrize(
    ("capability", "result", "last"),
    [
        ((7, 5), "f16", 2.0**-44),
        ((8, 0), "f16", 2.0**-44),
        ((8, 9), "f16", 2.0**-44),
        ((9, 0), "f16", 2.0**-46),
        ((8, 0), "f32", 2.0**-156),
        ((8, 6), "f32", 2.0**-156),
        ((8, 9), "f32", 2.0**-156),
        ((9, 0), "f32", 2.0**-158),
    ],
)
def test_tiny_sums_are_cut_off_at_a_fixed_bit(capability: tuple[int, int], result: str, last: float) -> None:
    """MMA-Sim and MATLAB-tensor-core both found this bit, on cards."""
    kind = "f16" if result == "f16" else "bf16"
    arithmetic = arithmetic_of(capability, "mma", kind, kind, result, 8)
    if result == "f16":  # half the least float16, rounded up where something is left beside it
        half = (2.0**-11, 2.0**-14)
        assert of_terms(arithmetic, [half, (last * 2**24, 2.0**-24)]) == 2.0**-24
        assert of_terms(arithmetic, [half, (last * 2**23, 2.0**-24)]) == 0
    else:
        least = (2.0**-70, 2.0**-79)
        assert of_terms(arithmetic, [least, (-last * 2**80, 2.0**-80)]) == 0
        assert of_terms(arithmetic, [least, (-last * 2**79, 2.0**-80)]) == 2.0**-149


def test_a_tiny_sum_that_an_h100_published() -> None:
    """The issue 7 of north-numerical-computing/MATLAB-tensor-core: a floor of -132 or -134 gives 0x1.4p-146."""
    a = "9b94 19f3 9a2e 1a67 9a25 9b4e 9b29 9a33 99e0 1a14 9914 99d1 9ae9 1b1a 9a9c 1b3a"
    b = "9aaf 99f3 9acc 1b7c 19ed 1b25 9a1b 9a20 9af7 9a48 1ae1 1b32 1b12 1b0e 9a68 1735"
    left, right = (values(np.array([int(each, 16) for each in x.split()], np.uint16), "bf16").tolist() for x in (a, b))
    for instruction in ("mma", "wgmma"):
        arithmetic = arithmetic_of((9, 0), instruction, "bf16", "bf16", "f32", 16)
        assert of_terms(arithmetic, list(zip(left, right, strict=True))) == 11 * 2.0**-149


def test_turing_executes_voltas_instruction_as_volta_does() -> None:
    terms = [(1.0, 1.0), (2.0**-12, 2.0**-12), (0.0, 0.0), (0.0, 0.0)]
    bits = [
        of_terms(arithmetic_of(capability, "mma", "f16", "f16", "f32", k), terms, -1)
        for capability, k in (((7, 0), 4), ((7, 5), 4), ((7, 5), 8))
    ]
    assert bits == [0, 0, 2.0**-24]


def test_voltas_instruction_reads_a_c_of_float16_with_the_exponents_of_float16() -> None:
    product = (2.0**-19, 2.0**-19)
    kept, cut_off = (
        of_terms(arithmetic_of((7, 5), "mma", "f16", "f16", "f32", 4, c_type=kind), [product] * 4, 2.0**-24)
        for kind in ("f32", "f16")
    )
    assert (kept, cut_off) == (2.0**-24 + 2.0**-36, 2.0**-24)


@pytest.mark.parametrize("capability", [(8, 0), (8, 6), (8, 9), (9, 0)])
def test_voltas_instruction_is_a_subroutine_later(capability: tuple[int, int]) -> None:
    wide, half = (arithmetic_of(capability, "mma", "f16", "f16", result, 4) for result in ("f32", "f16"))
    tiny = (2.0**-12, 2.0**-12)
    # Every multiply-add rounds to nearest even, and the sum is added to C at last.
    assert of_terms(wide, [(1.0, 1.0), tiny, tiny, tiny]) == 1
    assert of_terms(wide, [tiny, tiny, (1.0, 1.0), tiny]) == 1 + 2.0**-22
    assert of_terms(wide, [tiny, tiny, tiny, tiny], 1.0) == 1 + 2.0**-22
    # With float16, C is added to each half of the products, in float32.
    assert of_terms(half, [(64.0, 1.0), (2.0**-11, 1.0), (-64.0, 1.0), (0.0, 0.0)], 2.0**-20) == 2.0**-11
    assert math.copysign(1, of_terms(half, [(-0.0, 1.0)] * 4, -0.0)) == -1
    assert math.copysign(1, of_terms(wide, [(-0.0, 1.0)] * 4, -0.0)) == 1
    assert math.isnan(of_terms(half, [(math.inf, 0.0)] * 4))


def test_zeros_may_have_a_sign() -> None:
    arithmetic = replace(arithmetic_of((9, 0), "mma", "bf16", "bf16", "f32", 8), signed_zeros=True)
    a, b, nothing = np.array([[-(2.0**-100)]]), np.array([[2.0**-53]]), np.array([[-0.0]])
    assert math.copysign(1, multiply_add(a, b, nothing, arithmetic)[0, 0]) == -1
    assert math.copysign(1, multiply_add(-0.0 * b, b, nothing, arithmetic)[0, 0]) == 1


@pytest.mark.parametrize("kind", ["normal", "wide", "cancellation", "any bits", "overflow"])
def test_float64_is_a_chain_of_fused_multiply_adds(kind: str) -> None:
    case = next(each for each in CASES if each.a == "f64")
    a, b, c = (each.view(np.float64) for each in operands(case, kind, 64))
    found = multiply_add(a, b, c, arithmetic_of((9, 0), "mma", "f64", "f64", "f64", 4))[0]
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
        return math.inf if exact > 0 else -math.inf


@pytest.mark.parametrize("case", [each for each in CASES if each.result == "s32"], ids=lambda case: case.name)
@pytest.mark.parametrize("kind", ["any bits", "extremes"])
def test_integers_wrap_around_or_are_clamped(case: Case, kind: str) -> None:
    a, b, c = operands(case, kind, 512)
    (arithmetic,) = hypotheses_of(case).values()
    found = computed(case, a, b, c, arithmetic)[0].view(np.int32)
    left, right = (values(each[0], each_kind).tolist() for each, each_kind in ((a, case.a), (b, case.b)))
    for row, column in np.ndindex(found.shape):
        total = int(c[0].view(np.int32)[row, column])
        total += sum(x * y[column] for x, y in zip(left[row], right, strict=True))
        clamped = min(max(total, -(2**31)), 2**31 - 1)
        assert found[row, column] == (clamped if case.saturate else (total + 2**31) % 2**32 - 2**31)


# Shapes


@pytest.mark.parametrize("shape", [(1, 16, 8), (3, 16, 8), (70, 16, 8), (600, 16, 8), (2, 64, 256), (90, 8, 72)])
def test_every_part_of_a_large_array_is_computed(shape: tuple[int, int, int]) -> None:
    warps, rows, columns = shape
    arithmetic = arithmetic_of((8, 0), "mma", "f16", "f16", "f32", 16)
    rng = np.random.default_rng(1)
    a, b = rng.standard_normal((warps, rows, 16)), rng.standard_normal((warps, 16, columns))
    a, b = (each.astype(np.float16).astype(np.float64) for each in (a, b))
    c = rng.standard_normal((warps, rows, columns)).astype(np.float32).astype(np.float64)
    found = multiply_add(a, b, c, arithmetic)
    for warp in {0, warps // 2, warps - 1}:
        alone = multiply_add(a[warp], b[warp], c[warp], arithmetic)
        assert alone.dtype == np.float32
        np.testing.assert_array_equal(found[warp], alone)
        parts = [multiply_add(a[warp], b[warp, :, [n]].T, c[warp, :, [n]].T, arithmetic) for n in range(columns)]
        np.testing.assert_array_equal(alone, np.concatenate(parts, axis=1))
    np.testing.assert_allclose(found, a @ b + c, rtol=1e-5, atol=1e-5)


def test_leading_axes_are_kept_and_may_be_empty() -> None:
    arithmetic = arithmetic_of((9, 0), "mma", "bf16", "bf16", "f32", 8)
    a, b, c = np.ones((2, 3, 16, 8)), np.ones((2, 3, 8, 8)), np.ones((2, 3, 16, 8))
    np.testing.assert_array_equal(multiply_add(a, b, c, arithmetic), np.full((2, 3, 16, 8), 9, np.float32))
    assert multiply_add(a[:0], b[:0], c[:0], arithmetic).shape == (0, 3, 16, 8)


# Types


def test_decoded_values() -> None:
    bits = np.array([0x01, 0x7E, 0x08, 0xB8, 0x80], np.uint8)
    assert values(bits, "e4m3").tolist() == [2.0**-9, 448.0, 2.0**-6, -1.0, 0.0]
    assert values(bits, "e5m2").tolist()[0] == 2.0**-16
    assert values(np.array([0x7B, 0x7C, 0xFC], np.uint8), "e5m2").tolist() == [57344.0, math.inf, -math.inf]
    assert np.isnan(values(np.array([0x7F, 0xFF], np.uint8), "e4m3")).all()
    assert np.isnan(values(np.array([0x7D, 0xFF], np.uint8), "e5m2")).all()
    assert values(np.array([0x3F80, 0x0001], np.uint16), "bf16").tolist() == [1.0, 2.0**-133]
    assert values(np.array([255], np.uint8), "s8").tolist() == [-1]


def test_tf32_ignores_the_low_bits() -> None:
    assert values(np.array([0x3F801FFF, 0x3F802000, 0x00001FFF], np.uint32), "tf32").tolist() == [
        1.0,
        1.0 + 2.0**-10,
        0.0,
    ]


def test_arithmetic_by_architecture() -> None:
    def facts(capability: tuple[int, int], instruction: str, kind: str, k: int) -> tuple[str, int, int, bool]:
        found = arithmetic_of(capability, instruction, kind, kind, "f32", k)
        return found.result, found.kept, found.at_once, found.unpacked

    assert facts((7, 0), "mma", "f16", 4) == ("f32", 23, 4, False)
    assert facts((7, 5), "mma", "f16", 8) == ("f32", 24, 8, False)
    assert facts((8, 6), "mma", "bf16", 16) == ("f32", 24, 8, False)
    assert facts((8, 0), "mma", "tf32", 8) == ("f32", 24, 4, False)
    assert facts((8, 9), "mma", "e4m3", 32) == ("float22", 13, 16, False)
    assert facts((9, 0), "mma", "f16", 16) == ("f32", 25, 16, False)
    assert facts((9, 0), "mma", "e4m3", 32) == ("f32", 25, 16, True)
    assert facts((9, 0), "wgmma", "e5m2", 32) == ("float22", 13, 32, False)


@pytest.mark.parametrize(
    ("capability", "instruction", "kind", "result"),
    [
        ((7, 5), "mma", "bf16", "f32"),
        ((8, 6), "mma", "e4m3", "f32"),
        ((8, 0), "wgmma", "f16", "f32"),
        ((9, 0), "mma", "bf16", "f16"),
        ((8, 0), "wgmma", "s8", "s32"),
        ((7, 0), "mma", "s8", "s32"),
        ((9, 0), "wgmma", "f64", "f64"),
        ((3, 0), "mma", "f16", "f32"),
        ((9, 0), "mma", "f32", "f32"),
    ],
)
def test_what_is_not_known_is_refused(capability: tuple[int, int], instruction: str, kind: str, result: str) -> None:
    with pytest.raises(UnsupportedInstruction, match="not known"):
        arithmetic_of(capability, instruction, kind, kind, result, 16)


# The comparison with a GPU


@pytest.mark.parametrize("case", {(x.instruction, x.k, x.a[1:]): x for x in CASES}.values(), ids=lambda case: case.name)
def test_fragments_lie_as_ptx_has_them(case: Case) -> None:
    a, b, c = Draw(case, [3], 1024).any_bits()
    places_of = wgmma_places if case.instruction == "wgmma" else mma_places
    held = max(1, (16 if case.instruction == "wgmma" else 4) // a.itemsize)
    for matrix, fragment in zip((a, b), fragments(case, a, b, c)[:2], strict=True):
        flat, is_a = fragment.reshape(len(matrix), -1), matrix is a
        for x, y in np.ndindex(matrix.shape[1:]):
            place = places_of(*((x, y) if is_a else (y, x)), held, case.rows // 8 if is_a else 1, case.k)
            np.testing.assert_array_equal(flat[:, place], matrix[:, x, y])
    fragment = fragments(case, a, b, c)[2]
    np.testing.assert_array_equal(result_of(case, fragment, len(c)), c)
    flat = fragment.reshape(len(c), -1)
    per_lane = 2 * min(case.rows // 8, 2)
    for m, n in np.ndindex(case.rows, 8):
        lane = m // 16 * 32 + m % 8 * 4 + n // 2
        np.testing.assert_array_equal(flat[:, lane * per_lane + m % 16 // 8 * 2 + n % 2], c[:, m, n])


def mma_places(row: int, k: int, held: int, blocks: int, size: int) -> int:
    """Index among all lanes' elements: four lanes share a row, and a register holds ``held`` elements."""
    lane, register = row % 8 * 4 + k // held % 4, k // (4 * held) * blocks + row // 8
    return (lane * (size // (4 * held) * blocks) + register) * held + k % held


def wgmma_places(row: int, k: int, held: int, blocks: int, size: int) -> int:
    """Index in shared memory: cores of 8 rows of 16 bytes, two along k."""
    return (row // 8 * 2 + k // held) * 8 * held + row % 8 * held + k % held


@pytest.mark.skipif(not VECTORS.exists(), reason="nobody has measured")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_results_of_an_h200(case: Case) -> None:
    found = json.loads(VECTORS.read_text(encoding="utf-8"))["tensor_cores"]
    (kinds,) = (each["kinds"] for each in found if Case(**each["case"]) == case)
    arithmetic = arithmetic_of((9, 0), case.instruction, case.a, case.b, case.result, case.k, saturate=case.saturate)
    for kind, vector in kinds.items():
        a, b, c, d = from_vector(case, vector)
        np.testing.assert_array_equal(computed(case, a, b, c, arithmetic), d, err_msg=kind)
