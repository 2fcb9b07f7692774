"""Rounding in every direction and to every format of numbers given as a float64 and its remaining error.

numpy itself rounds to nearest in its own formats; this module serves the other cases.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from mmcore_emulator.numerics.floats import fma64, two_sum, with_one_nan
from mmcore_emulator.numerics.types import Values

DIRECTIONS = ("rz", "rm", "rp")
"""Rounding toward zero, toward minus and toward plus infinity."""
Pair: TypeAlias = tuple[Values, Values]
_NOTHING = np.zeros(())


@dataclass(frozen=True)
class Format:
    """A floating-point format."""

    precision: int  # bits of the significand, the leading one included
    least: int  # exponent of the least normal number
    largest: float  # the largest finite number


FORMATS = {
    "f16": Format(11, -14, 65504.0),
    "bf16": Format(8, -126, (2 - 2.0**-7) * 2.0**127),
    "tf32": Format(11, -126, (2 - 2.0**-10) * 2.0**127),
    "f32": Format(24, -126, (2 - 2.0**-23) * 2.0**127),
    "e4m3": Format(4, -6, 448.0),
    "e5m2": Format(3, -14, 57344.0),
}


def rounded(high: Values, low: Values, way: str, to: Format) -> Values:
    """Return ``high`` + ``low`` rounded once, as float64; infinities and NaN are unchanged.

    Args:
        high: float64.
        low: less than half a unit in the last place of ``high``; only its sign matters.
        way: "rn" (to nearest, ties to even), "rna" (ties away from zero), or one of the DIRECTIONS.
        to: the format.
    """
    finite = np.isfinite(high)
    value, low = np.where(finite, high, 0.0), np.where(finite, np.sign(low), 0.0)
    negative = np.signbit(value)
    mantissa, exponent = np.frexp(value)
    # Numbers just below a power of two are closer to each other than those just above it.
    exponent = exponent - 1 - ((np.abs(mantissa) == 0.5) & (low == np.where(negative, 1, -1)))
    unit = np.maximum(exponent, to.least) - (to.precision - 1)
    scaled = np.ldexp(value, -unit)
    below = np.floor(scaled)
    rest = scaled - below
    less = (rest == 0) & (low < 0)
    below = below - less
    inexact = (rest != 0) | (low != 0)
    half = np.where(less, 1, np.where(rest == 0.5, low, np.sign(rest - 0.5)))
    up = {
        "rn": (half > 0) | ((half == 0) & (np.fmod(below, 2) != 0)),
        "rna": (half > 0) | ((half == 0) & ~negative),
        "rz": inexact & negative,
        "rm": np.False_,
        "rp": inexact,
    }[way]
    result = np.copysign(np.ldexp(below + up, unit), value)
    overflows: dict[str, Values | np.bool_] = {"rz": np.False_, "rm": negative, "rp": ~negative}
    limit = np.where(overflows.get(way, np.True_), np.inf, to.largest)
    result = np.where(np.abs(result) > to.largest, np.copysign(limit, value), result)
    return np.where(finite, result, high)


# These functions return a float64 result and the error to add to it for the exact result (or the error's sign).
# Their operands are float64 numbers; for products and quotients, numbers that float32 can represent.


def _quotient(a: Values, b: Values) -> Pair:
    """Return a/b."""
    quotient = np.asarray(a / b)
    return quotient, np.sign(fma64(-quotient, b, a)) * np.sign(b)


def _root(a: Values) -> Pair:
    """Return the square root."""
    root = np.asarray(np.sqrt(a))
    return root, np.sign(fma64(-root, root, a))


EXACT: dict[str, Callable[..., Pair]] = {
    "add": two_sum,
    "sub": lambda a, b: two_sum(a, -b),
    "mul": lambda a, b: (a * b, _NOTHING),
    **dict.fromkeys(("fma", "mad"), lambda a, b, c: two_sum(a * b, c)),
    "div": _quotient,
    "rcp": lambda a: _quotient(np.ones_like(a), a),
    "sqrt": _root,
}
"""The exact computation of each instruction."""


def directed(name: str, kind: str, way: str) -> Callable[..., Values]:
    """Return the instruction ``name`` for "f32" or "f64" numbers, rounded in one of the DIRECTIONS."""
    if kind == "f64":
        return partial(_directed_f64, name, way)

    def compute(*operands: Values) -> Values:
        wide = [operand.astype(np.float64) for operand in operands]
        high, low = EXACT[name](*wide)
        result = rounded(high, low, way, FORMATS["f32"])
        return with_one_nan(_zero_sums(name, way, result, (high == 0) & (low == 0), wide).astype(np.float32))

    return compute


def _zero_sums(name: str, way: str, result: Values, zero: Values, operands: list[Values]) -> Values:
    """Return ``result`` with -0 for zero sums of terms with opposite signs, when rounding toward minus infinity."""
    if way != "rm" or name not in ("add", "sub", "fma", "mad"):
        return result
    *factors, last = operands
    one = factors[0] if len(factors) == 1 else factors[0] * factors[1]
    opposite = np.signbit(one) != (np.signbit(last) ^ (name == "sub"))
    return np.where(zero & opposite, -0.0, result)


# Of numpy's arrays, and of fractions.
_PLAIN: dict[str, Callable[..., Any]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": operator.truediv,
    "rcp": lambda a: 1 / a,
    "sqrt": np.sqrt,
    **dict.fromkeys(("fma", "mad"), fma64),
}
_FRACTIONS = _PLAIN | dict.fromkeys(("fma", "mad"), lambda a, b, c: a * b + c)


def _directed_f64(name: str, way: str, *operands: Values) -> Values:
    """Compute by exact fractions, number by number; slow, but rarely used."""
    results: Values = np.array(_PLAIN[name](*operands), np.float64)
    full = np.broadcast_arrays(results, *operands)[1:]
    zero = np.zeros(results.shape, np.bool_)
    for index in np.ndindex(results.shape):
        numbers, result = [float(operand[index]) for operand in full], float(results[index])
        divides_by_zero = name in ("div", "rcp") and numbers[-1] == 0
        if not np.isfinite(numbers).all() or np.isnan(result) or divides_by_zero:
            continue
        sign = _beyond(name, numbers, result)
        zero[index] = result == 0 and sign == 0
        toward = {"rz": 0.0, "rm": -np.inf, "rp": np.inf}[way]
        wrong = sign > 0 if way == "rm" else sign < 0 if way == "rp" else sign * (1 if result > 0 else -1) > 0
        results[index] = np.nextafter(result, toward) if wrong else result
    return _zero_sums(name, way, results, zero, list(full))


def _beyond(name: str, numbers: list[float], result: float) -> int:
    """Return the sign of a result minus the exact result."""
    if np.isinf(result):
        return 1 if result > 0 else -1
    operands = [Fraction(number) for number in numbers]
    one, other = Fraction(result), Fraction(0)
    if name == "sqrt":
        one, other = one * one, operands[0]
    else:
        other = _FRACTIONS[name](*operands)
    return (one > other) - (one < other)
