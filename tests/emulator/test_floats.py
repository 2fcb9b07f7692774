"""Arithmetic of floats: exact results rounded once in every direction, zeros, NaN, subnormal numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.emulation import computed
from tests.emulator.numbers import RNG, bits_of, finite, rounded, same, types_of, value, width
from tests.emulator.templates import expanded

EXACT: dict[str, Callable[..., Fraction]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "fma": lambda a, b, c: a * b + c,
    "mad": lambda a, b, c: a * b + c,
    "div": lambda a, b: a / b,
    "rcp": lambda a: 1 / a,
}
ROUNDED = """
<add|sub|mul>.<f16|f32|f64>
<add|sub|mul|fma>.rn.<f16|bf16>
<add|sub|mul|fma|mad|div|rcp>.<WAY>.<f32|f64>
<add|sub|mul|add.rn|fma.rn|div.rn|rcp.rn>.ftz.f32
"""


def flushed(number: Fraction, opcode: str) -> Fraction:
    return Fraction(0) if ".ftz" in opcode and abs(number) < Fraction(2) ** -126 else number


def operands_of(opcode: str) -> list[NDArray[np.uint64]]:
    """Return operands; some sums nearly cancel, and some products are near the least normal float32 number."""
    name, (types, kind) = opcode.split(".")[0], types_of(opcode)
    columns = [finite(kind, 600) for _ in types]
    if name in ("fma", "mad"):
        factors = zip(*(each[::3] for each in columns[:2]), strict=True)
        products = [bits_of(-value(int(a), kind) * value(int(b), kind), kind) for a, b in factors]
        columns[2][::3] = [bits if math.isfinite(value(bits, kind)) else 0 for bits in products]
    if ".ftz" in opcode and name in ("mul", "fma"):
        a = RNG.integers(0x20000000, 0x20800000, 120)
        least = (np.float32(2.0**-126) / a.astype(np.uint32).view(np.float32)).view(np.uint32)
        sign = RNG.integers(0, 2, 120) << 31
        columns[0][:120], columns[1][:120] = a, least + RNG.integers(-2, 3, 120) | sign
        if name == "fma":
            columns[2][:120] = sign
    return columns


@pytest.mark.parametrize("opcode", expanded(ROUNDED))
def test_a_result_is_the_exact_one_rounded_once(opcode: str) -> None:
    name, way, *_ = opcode.split(".")
    columns, kind, compared = operands_of(opcode), types_of(opcode)[1], 0
    for bits, row in zip(computed(opcode, *columns)[0], zip(*columns, strict=True), strict=True):
        numbers = [flushed(Fraction(value(int(each), kind)), opcode) for each in row]
        if name in ("div", "rcp") and numbers[-1] == 0:
            continue
        exact, found = EXACT[name](*numbers), value(int(bits), kind)
        if exact:
            expected = rounded(exact, kind, way if way in ("rz", "rm", "rp") else "rn", flush=".ftz" in opcode)
            assert same(found, expected), (row, found, expected)
            compared += 1
        else:
            assert found == 0
    assert compared > 200


@pytest.mark.parametrize("exponent", [-1080, -1076, -1024, -1023, -1000, -970])
def test_a_float64_sum_with_a_product_too_small_for_its_rounding_error_is_rounded_once(exponent: int) -> None:
    count, shift = 100, RNG.integers(400, 600, 100)
    signs = RNG.choice([-1, 1], (2, count))
    a = np.ldexp(1 + RNG.random(count), -shift) * signs[0]
    b = np.ldexp(2 - 2.0 ** -RNG.integers(1, 53, count), exponent + shift) * signs[1]
    least, edge = (np.ldexp(RNG.random(count) - 0.5, power) for power in (-1070, -1020))
    # The sum is nearly the product, nearly zero, at the edge of the subnormal numbers, or C alone.
    several = [least, least - a * b, edge, edge - a * b, 2.0**-1022 - a * b, np.ldexp(edge, 300), np.zeros(count)]
    operands = [np.concatenate(each) for each in ([a] * 7, [b] * 7, several)]
    found = computed("fma.rn.f64", *(each.view(np.uint64) for each in operands))[0]
    for bits, row in zip(found, zip(*(each.tolist() for each in operands), strict=True), strict=True):
        exact = math.prod(map(Fraction, row[:2])) + Fraction(row[2])
        expected = rounded(exact, "f64", "rn")
        assert same(value(int(bits), "f64"), expected or math.copysign(0.0, exact)), (row, expected)


@pytest.mark.parametrize("opcode", expanded("sqrt.<rz|rm|rp>.<f32|f64>"))
def test_every_direction_of_roots(opcode: str) -> None:
    _, way, kind = opcode.split(".")
    column = finite(kind) & np.uint64(2 ** (width(kind) - 1) - 1)
    for bits, operand in zip(computed(opcode, column)[0], column, strict=True):
        exact, root = Fraction(value(int(operand), kind)), Fraction(value(int(bits), kind))
        other = Fraction(value(int(bits) + (1 if way != "rp" else -1), kind)) if bits or way != "rp" else Fraction(0)
        if way == "rp":
            assert root**2 >= exact
            assert root == 0 or other**2 < exact
        else:
            assert root**2 <= exact < other**2


@pytest.mark.parametrize(
    "opcode", expanded("<add|sub|mul|fma>.rn.<f16|bf16>\nex2.approx.<f16|ftz.bf16>\ntanh.approx.<f16|bf16>")
)
def test_pairs_are_computed_half_by_half(opcode: str) -> None:
    columns = [finite(kind, 600) for kind in types_of(opcode)[0]]
    found = computed(opcode, *columns)[0]
    pairs = computed(f"{opcode}x2", *(each[::2] | each[1::2] << np.uint64(16) for each in columns))[0]
    assert (pairs == found[::2] | found[1::2] << np.uint64(16)).all()


@pytest.mark.parametrize("opcode", expanded("fma.rn.<f16|f32|f64>"))
@pytest.mark.parametrize("a", [-1.0, -0.0, 0.0, 2.0])
@pytest.mark.parametrize("b", [-0.0, 0.0, 3.0])
@pytest.mark.parametrize("c", [-0.0, 0.0, -6.0, 3.0])
def test_a_zero_has_the_sign_that_the_plain_sum_gives_it(opcode: str, a: float, b: float, c: float) -> None:
    kind = types_of(opcode)[1]
    found = value(int(computed(opcode, *(bits_of(each, kind) for each in (a, b, c)))[0][0]), kind)
    assert same(found, a * b + c)


@pytest.mark.parametrize(("a", "b", "c"), [("inf", "0", "1"), ("nan", "1", "1"), ("inf", "1", "-inf")])
def test_f64_makes_some_nan(a: str, b: str, c: str) -> None:
    bits = computed("fma.rn.f64", *(bits_of(float(each), "f64") for each in (a, b, c)))[0][0]
    assert math.isnan(value(int(bits), "f64"))
