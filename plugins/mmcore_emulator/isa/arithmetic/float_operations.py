"""Floating-point arithmetic: what each opcode computes, composed of the instruction, its rounding and what follows it.

16-bit numbers may come in pairs, each computed with as one alone. Reference: PTX ISA, "Floating Point Instructions" and
"Half Precision Floating Point Instructions".
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from mmcore_emulator.isa.arithmetic.subnormals import flushing
from mmcore_emulator.isa.entries import Compute, Entry, Family, Function, of_opcode
from mmcore_emulator.numerics import floats
from mmcore_emulator.numerics.floats import Values
from mmcore_emulator.numerics.rounding import DIRECTIONS, directed
from mmcore_emulator.numerics.types import NUMPY

_SUM = r"(rn\.)?(ftz\.)?(sat\.)?f16(x2)?|(rn\.)?bf16(x2)?|(r[nzmp]\.)?(ftz\.)?(sat\.)?f32|(r[nzmp]\.)?f64"
_WIDE_FUSED = r"r[nzmp]\.(ftz\.)?(sat\.)?f32|r[nzmp]\.f64"
_FUSED = r"rn\.(ftz\.)?((sat|relu)\.)?f16(x2)?|rn\.(relu\.)?bf16(x2)?|" + _WIDE_FUSED
_QUOTIENT = r"r[nzmp]\.(ftz\.)?f32|r[nzmp]\.f64"
_SIGN = r"(ftz\.)?f16(x2)?|bf16(x2)?|(ftz\.)?f32|f64"
_EXTREME = r"(ftz\.)?(NaN\.)?(xorsign\.abs\.)?(f16(x2)?|f32)|(NaN\.)?(xorsign\.abs\.)?bf16(x2)?|f64"
_FORMS = {
    **dict.fromkeys(("add", "sub", "mul"), _SUM),
    "fma": _FUSED,
    "mad": _WIDE_FUSED,
    **dict.fromkeys(("div", "rcp", "sqrt"), _QUOTIENT),
    **dict.fromkeys(("neg", "abs"), _SIGN),
    **dict.fromkeys(("min", "max"), _EXTREME),
    "copysign": r"f32|f64",
    "testp": r"(finite|infinite|number|notanumber|normal|subnormal)\.(f32|f64)",
}
_OPERANDS = {"fma": 3, "mad": 3, "rcp": 1, "sqrt": 1, "neg": 1, "abs": 1, "testp": 1}
_LEAST_HALF = np.float16(2.0**-14)


def float_operation(name: str, modifiers: tuple[str, ...]) -> Compute | None:
    """The operation of an opcode such as "fma", ("rn", "f32"); None for one that is not known."""
    if name not in _FORMS or not re.fullmatch(_FORMS[name], ".".join(modifiers)):
        return None
    *parts, kind = modifiers
    if kind.endswith("x2"):
        one = float_operation(name, (*parts, kind.removesuffix("x2")))
        assert one is not None
        return Compute(partial(in_halves, one.compute, NUMPY[one.result]), ("b32",) * len(one.sources), "b32")
    count = _OPERANDS.get(name, 2)
    if name == "testp":
        return Compute(_TESTS[parts[0]], (kind,), "pred")
    way = next((part for part in parts if part in ("rn", *DIRECTIONS)), "rn")
    found = Compute(_rounded(name, kind, way, parts), (kind,) * count, kind)
    if "ftz" in parts:
        found = _flushing(name, found, way)
    if "sat" in parts:
        found = Compute(_then(saturated, found.compute), found.sources, kind)
    if "relu" in parts:
        found = Compute(_then(without_negative, found.compute), found.sources, kind)
    return found


def _rounded(name: str, kind: str, way: str, parts: list[str]) -> Function:
    """The plain instruction: operands and result as the type has them."""
    if way in DIRECTIONS:
        return directed(name, kind, way)
    if name in ("fma", "mad"):
        return _FUSED_SUMS[kind]
    function: Function
    if name in ("min", "max"):
        function = partial(_extreme, name == "min", "NaN" in parts, "xorsign" in parts)
    else:
        function = _PLAIN[name]
    if kind == "bf16":
        # float32 has room for the rounding of sums and products.
        return lambda *numbers: floats.to_bfloat16(function(*map(floats.from_bfloat16, numbers)))
    # Of float64 numpy's NaN will do, and of what only copies a sign any.
    return function if kind == "f64" or name == "copysign" else lambda *numbers: floats.with_one_nan(function(*numbers))


_FUSED_SUMS: dict[str, Function] = {
    "f32": floats.fma32,
    "f64": floats.fma64,
    "f16": floats.fma16,
    "bf16": floats.fma_bfloat16,
}


def _flushing(name: str, plain: Compute, way: str) -> Compute:
    if plain.result == "f16":
        return Compute(
            lambda *numbers: flushed_half(plain.compute(*map(flushed_half, numbers))), plain.sources, plain.result
        )
    found = flushing(name, plain, nearest=way == "rn")
    assert found is not None
    return found


def _then(after: Callable[[Values], Values], function: Function) -> Function:
    return lambda *numbers: after(function(*numbers))


def flushed_half(values: Values) -> Values:
    """float16 numbers with zeros of the same sign for subnormal ones."""
    return np.where(np.abs(values) < _LEAST_HALF, np.copysign(np.float16(0), values), values)


def saturated(values: Values) -> Values:
    """Numbers clamped to [0, 1], of which zero is positive; NaN is zero."""
    one = values.dtype.type(1)
    # A zero of either sign is +0 then.
    return np.asarray(np.where(values > 0, np.minimum(values, one), values.dtype.type(0)))


def without_negative(values: Values) -> Values:
    """Numbers, float or the bits of bfloat16, with +0 for those whose sign is negative; NaN has none."""
    signed = values.view(np.dtype(f"i{values.itemsize}"))
    return np.where(signed < 0, values.dtype.type(0), values)


def _reciprocal(a: Values) -> Values:
    return np.asarray(np.divide(a.dtype.type(1), a))


_PLAIN: dict[str, Function] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "rcp": _reciprocal,
    "sqrt": np.sqrt,
    "neg": np.negative,
    "abs": np.abs,
    "copysign": lambda a, b: np.copysign(b, a),
}


def _extreme(smaller: bool, keeps_nan: bool, xorsign: bool, a: Values, b: Values) -> Values:
    """The smaller or larger of two, and where one is NaN the other or (``keeps_nan``) NaN.

    With ``xorsign`` it is that of the magnitudes, with the product's sign.
    """
    one, other = (np.abs(a), np.abs(b)) if xorsign else (a, b)
    # Of two zeros numpy takes either; for PTX -0 is the smaller.
    equal = np.where(np.signbit(one) == smaller, one, other)
    pick = np.fmin if smaller else np.fmax
    found = np.where(one == other, equal, pick(one, other))
    if keeps_nan:
        found = np.where(np.isnan(a) | np.isnan(b), found.dtype.type(np.nan), found)
    if xorsign:
        found = np.where(np.isnan(found), found, np.copysign(found, np.where(np.signbit(a) ^ np.signbit(b), -1, 1)))
        found = found.astype(a.dtype)
    return found


def _subnormal(a: Values) -> Values:
    return np.asarray((np.abs(a) < np.finfo(a.dtype).smallest_normal) & (a != 0))


_TESTS: dict[str, Function] = {
    "finite": np.isfinite,
    "infinite": np.isinf,
    "number": lambda a: ~np.isnan(a),
    "notanumber": np.isnan,
    "normal": lambda a: np.isfinite(a) & ~_subnormal(a),
    "subnormal": _subnormal,
}


def in_halves(compute: Function, dtype: np.dtype[Any], *sources: Values) -> Values:
    """What ``compute`` makes of 16-bit numbers, of those in either half of registers of 32 bits."""
    halves = []
    for shift in (np.uint32(0), np.uint32(16)):
        numbers = [(each >> shift).astype(np.uint16).view(dtype) for each in sources]
        halves.append(np.asarray(compute(*numbers)).view(np.uint16).astype(np.uint32))
    low, high = halves
    return np.asarray(low | (high << np.uint32(16)))


FAMILY = Family(
    "Floating-point arithmetic",
    (Entry("|".join(_FORMS), of_opcode(lambda opcode: float_operation(opcode[0], opcode[1:]))),),
    since=(
        ((9, 0), r"(add|sub|mul)\..*bf16.*|fma\..*\.oob\..*"),
        ((8, 6), r"(min|max)\..*xorsign\.abs.*"),
        ((8, 0), r"(fma|neg|abs|min|max)\..*bf16.*|fma\..*relu.*|(min|max)\.(ftz\.)?(NaN\..*|f16(x2)?)"),
    ),
    passes=("abs", "add", "sub"),
    flops={"fma": 2, "mad": 2, **dict.fromkeys(("add", "sub", "mul", "div", "rcp", "sqrt"), 1)},
)
