"""Conversions: integers and floats of every width, rounded in every direction, saturated, extended."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from tests.emulation import computed
from tests.emulator.numbers import FORMATS, RNG, drawn, finite, rounded, same, signed, types_of, value, width
from tests.emulator.templates import expanded

ROUNDED = """
cvt.<WAY>.<f16|bf16>.<f32|f64>
cvt.<WAY>.f32.f64
cvt.<WAY>.f16.bf16
cvt.<WAY>.bf16.f16
cvt.<rn|rz|rna>.tf32.f32
cvt.f64.f16
cvt.f32.bf16
cvt.rn.ftz.f32.f64
cvt.<WAY>.<f16|f32|f64>.<INT8>
cvt.<WAY>.bf16.<INT>
"""


@pytest.mark.parametrize("opcode", expanded(ROUNDED))
def test_a_number_is_rounded_once(opcode: str) -> None:
    (_, *how, to, of), ((kind,), result) = opcode.split("."), types_of(opcode)
    column = finite(of, 500) if of in FORMATS else drawn(width(of))
    if "ftz" in how:  # numbers near the least normal one of float32
        near = RNG.integers(-(2**31), 2**31, 100) + 0x3810000000000000 | RNG.integers(0, 2, 100) << 63
        column[:100] = near.view(np.uint64)
    for bits, operand in zip(computed(opcode, column)[0], column, strict=True):
        whole = signed(int(operand), width(kind)) if of[0] == "s" else int(operand)
        number = Fraction(value(int(operand), of)) if of in FORMATS else Fraction(whole)
        found = value(int(bits), "f32" if to == "tf32" else result)
        if number:
            assert same(found, rounded(number, to, how[0] if how else "rn", flush="ftz" in how)), number
        else:
            assert found == 0


@pytest.mark.parametrize(("kind", "infinite"), [("e4m3", 0x7F), ("e5m2", 0x7C)])
def test_every_number_of_8_bits_comes_back(kind: str, infinite: int) -> None:
    every = np.arange(256, dtype=np.uint64)
    halves = computed(f"cvt.rn.f16x2.{kind}x2", every | (every[::-1] << np.uint64(8)))[0]
    precision, least = FORMATS[kind]
    for bits, found in zip(range(256), halves & np.uint64(0xFFFF), strict=True):
        magnitude, field = bits & 0x7F, (bits & 0x7F) >> (precision - 1)
        significand = magnitude & (2 ** (precision - 1) - 1) | (field > 0) << (precision - 1)
        exact = significand * Fraction(2) ** (max(field, 1) - 1 + least - precision + 1)
        number = value(int(found), "f16")
        if magnitude > infinite or magnitude == 0x7F:
            assert math.isnan(number)
        elif kind == "e5m2" and magnitude == infinite:
            assert math.isinf(number)
        else:
            assert number == float(exact) * (-1 if bits & 0x80 else 1)
    assert (halves >> np.uint64(16) == (halves & np.uint64(0xFFFF))[::-1]).all()
    back = computed(f"cvt.rn.satfinite.{kind}x2.f16x2", halves)[0]
    normal = [bits for bits in range(256) if bits & 0x7F < infinite]
    assert [int(back[bits]) & 0xFF for bits in normal] == normal


@pytest.mark.parametrize(("kind", "largest"), [("e4m3", 448), ("e5m2", 57344)])
def test_numbers_of_8_bits_are_rounded_and_never_infinite(kind: str, largest: int) -> None:
    column = finite("f32", 2000)
    found = computed(f"cvt.rn.satfinite.{kind}x2.f32", column, column[::-1])[0]
    wide = computed(f"cvt.rn.f16x2.{kind}x2", found)[0]
    for bits, operand in zip(wide >> np.uint64(16), column, strict=True):
        number = value(int(operand), "f32")
        expected = max(-largest, min(largest, rounded(Fraction(number), kind))) if number else 0
        assert value(int(bits), "f16") == expected, number
    relu = computed(f"cvt.rn.satfinite.relu.{kind}x2.f32", column, column[::-1])[0]
    sign = found & np.uint64(0x8080)
    assert (relu == (found & ~((sign >> np.uint64(7)) * np.uint64(0xFF)))).all()
