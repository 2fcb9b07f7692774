"""Floating-point arithmetic: each opcode is composed of an operation, its rounding, and modifiers of the result.

16-bit numbers may come in pairs; each is computed separately. Reference: PTX ISA, "Floating Point Instructions" and
"Half Precision Floating Point Instructions".
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TypeAlias

import numpy as np

from mmcore_emulator.isa.entries import Compute, Entry, Family, Function
from mmcore_emulator.numerics import floats
from mmcore_emulator.numerics.floats import LEAST_NORMAL, flushed
from mmcore_emulator.numerics.rounding import DIRECTIONS, EXACT, FORMATS, directed
from mmcore_emulator.numerics.types import NUMPY, DType, Values

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
_ALGEBRA = {name: name for name in ("add", "sub", "mul", "div", "fma", "neg")} | {"mad": "fma"}
_LEAST_HALF = np.float16(2.0**-14)
Exact: TypeAlias = Callable[..., tuple[Values, Values]]
# From here on, 24 bits with an unbounded exponent round up to 2^-126; a bounded one does so from 2^-126 - 2^-150 on.
_LEAST_ROUNDED_UP = 2.0**-126 - 2.0**-151
# Beyond this, numbers round up to 2^-126 in the other rounding modes.
_LARGEST_BELOW = 2.0**-126 - 2.0**-150
_NOTHING = np.zeros(())


def float_operation(name: str, modifiers: tuple[str, ...]) -> Compute | None:
    """Return the semantics of an opcode such as "fma", ("rn", "f32"); None for an unknown one."""
    if name not in _FORMS or not re.fullmatch(_FORMS[name], ".".join(modifiers)):
        return None
    *parts, kind = modifiers
    if kind.endswith("x2"):
        one = float_operation(name, (*parts, kind.removesuffix("x2")))
        assert one is not None
        pair = partial(in_halves, one.compute, NUMPY[one.result])
        return replace(one, compute=pair, sources=("b32",) * len(one.sources), result="b32", halves=one.result)
    count = _OPERANDS.get(name, 2)
    if name == "testp":
        return Compute(_TESTS[parts[0]], (kind,), "pred")
    way = next((part for part in parts if part in ("rn", *DIRECTIONS)), "rn")
    bounded = not {"sat", "relu"} & set(parts)
    algebra, unit = (_ALGEBRA.get(name, ""), unit_of(kind, way)) if bounded else ("", 0.0)
    semantics = Compute(_rounded(name, kind, way, parts), (kind,) * count, kind, algebra=algebra, unit=unit)
    if algebra == "neg":
        semantics = replace(semantics, unit=0.0)
    if "ftz" in parts:
        semantics = _flushing(name, semantics, way)
    if "sat" in parts:
        semantics = replace(semantics, compute=then(saturated, semantics.compute))
    if "relu" in parts:
        semantics = replace(semantics, compute=then(without_negative, semantics.compute))
    return semantics


def unit_of(kind: str, way: str = "rn") -> float:
    """Return the bound of the relative error of rounding a normal number to a floating-point type."""
    return float(2.0 ** (-FORMATS[kind].precision if kind != "f64" else -53)) * (1 if way in ("rn", "rna") else 2)


def _rounded(name: str, kind: str, way: str, parts: list[str]) -> Function:
    """Return the plain instruction, with operands and result in their type."""
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
        # float32 is precise enough for the rounding of bfloat16 sums and products.
        return lambda *numbers: floats.to_bfloat16(function(*map(floats.from_bfloat16, numbers)))
    # numpy's NaN is right for float64, and copying a sign keeps any NaN.
    return function if kind == "f64" or name == "copysign" else lambda *numbers: floats.with_one_nan(function(*numbers))


_FUSED_SUMS: dict[str, Function] = {
    "f32": floats.fma32,
    "f64": floats.fma64,
    "f16": floats.fma16,
    "bf16": floats.fma_bfloat16,
}


def _flushing(name: str, plain: Compute, way: str) -> Compute:
    if plain.result == "f16":
        return replace(plain, compute=lambda *numbers: flushed_half(plain.compute(*map(flushed_half, numbers))))
    flushed = flushing(name, plain, nearest=way == "rn")
    assert flushed is not None
    return flushed


def then(after: Function, function: Function) -> Function:
    """Return the composition of two functions."""
    return lambda *numbers: after(function(*numbers))


def flushed_half(values: Values) -> Values:
    """Return float16 numbers with subnormal ones replaced by zeros of the same sign."""
    return np.where(np.abs(values) < _LEAST_HALF, np.copysign(np.float16(0), values), values)


def saturated(values: Values) -> Values:
    """Return numbers clamped to [0, 1], where zero is positive; NaN becomes zero."""
    one = values.dtype.type(1)
    # A zero of either sign becomes +0.
    return np.asarray(np.where(values > 0, np.minimum(values, one), values.dtype.type(0)))


def without_negative(values: Values) -> Values:
    """Return numbers, float or bfloat16 bits, with +0 for those of negative sign; a NaN is not negative."""
    signed = values.view(np.dtype(f"i{values.itemsize}"))
    return np.where(signed < 0, values.dtype.type(0), values)


_PLAIN: dict[str, Function] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "rcp": lambda a: np.divide(a.dtype.type(1), a),
    "sqrt": np.sqrt,
    "neg": np.negative,
    "abs": np.abs,
    "copysign": lambda a, b: np.copysign(b, a),
}


def _extreme(smaller: bool, keeps_nan: bool, xorsign: bool, a: Values, b: Values) -> Values:
    """Return the smaller or larger of two numbers; if one is NaN, the other number or (``keeps_nan``) NaN.

    With ``xorsign``, the magnitudes are compared, and the result has the sign of the product.
    """
    one, other = (np.abs(a), np.abs(b)) if xorsign else (a, b)
    # numpy returns either of two zeros; for PTX, -0 is the smaller one.
    equal = np.where(np.signbit(one) == smaller, one, other)
    pick = np.fmin if smaller else np.fmax
    result = np.where(one == other, equal, pick(one, other))
    if keeps_nan:
        result = np.where(np.isnan(a) | np.isnan(b), result.dtype.type(np.nan), result)
    if xorsign:
        result = np.where(np.isnan(result), result, np.copysign(result, np.where(np.signbit(a) ^ np.signbit(b), -1, 1)))
        result = result.astype(a.dtype)
    return result


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


def halves(register: Values, dtype: DType) -> tuple[Values, Values]:
    """Return the lower and the upper half of 32-bit registers, as 16-bit numbers of a type."""
    low, high = ((register >> np.uint32(shift)).astype(np.uint16).view(dtype) for shift in (0, 16))
    return low, high


def joined_halves(low: Values, high: Values) -> Values:
    """Return 32-bit registers of two 16-bit numbers each."""
    lower, upper = (np.asarray(half).view(np.uint16).astype(np.uint32) for half in (low, high))
    return np.asarray(lower | (upper << np.uint32(16)))


def in_halves(compute: Function, dtype: DType, *sources: Values) -> Values:
    """Apply a function of 16-bit numbers to both halves of 32-bit registers."""
    return joined_halves(
        *(compute(*numbers) for numbers in zip(*(halves(each, dtype) for each in sources), strict=True))
    )


def flushing(name: str, plain: Compute, *, nearest: bool = True) -> Compute | None:
    """Return the semantics of ``name`` with .ftz, from ``plain`` without; None if there is no such instruction.

    A result counts as subnormal if it is below 2^-126 after rounding to 24 bits with an unbounded exponent. NVIDIA's
    assembler does the same when it evaluates an instruction. A few results therefore become zero although they round up
    to 2^-126 without ``.ftz``. ``nearest`` is true if the instruction rounds to nearest.
    """
    if name not in _FLUSHING or "f32" not in (*plain.sources, plain.result):
        return None
    exact = _FLUSHING[name]

    def compute(*sources: Values) -> Values:
        kinds = zip(sources, plain.sources, strict=True)
        operands = [flushed(operand) if kind == "f32" else operand for operand, kind in kinds]
        result = plain.compute(*operands)
        if plain.result != "f32":
            return np.asarray(result)
        least = np.abs(result) == LEAST_NORMAL
        if exact is not None and least.any():
            short = _falls_short(*exact(*(operand.astype(np.float64) for operand in operands)), nearest=nearest)
            result = np.where(least & short, np.copysign(np.float32(0), result), result)
        return flushed(result)

    return replace(plain, compute=compute)


def _falls_short(high: Values, low: Values, *, nearest: bool) -> Values:
    """Return True where ``high`` + ``low`` does not round up to 2^-126; ``low`` only decides between equals."""
    magnitude, rest = np.abs(high), np.where(np.signbit(high), -low, low)
    if nearest:
        return np.asarray((magnitude < _LEAST_ROUNDED_UP) | ((magnitude == _LEAST_ROUNDED_UP) & (rest < 0)))
    return np.asarray((magnitude < _LARGEST_BELOW) | ((magnitude == _LARGEST_BELOW) & (rest <= 0)))


# The exact form of results that may have been rounded up; None if none may.
_FLUSHING: dict[str, Exact | None] = {
    **dict.fromkeys(("add", "sub", "min", "max", "abs", "neg", "sqrt", "setp", "set")),
    **{name: EXACT[name] for name in ("mul", "fma", "mad", "div", "rcp")},
    "cvt": lambda a: (a, _NOTHING),
}


FAMILY = Family(
    "Floating-point arithmetic",
    (Entry("|".join(_FORMS), lambda opcode: float_operation(opcode[0], opcode[1:])),),
    since=(
        ((9, 0), r"(add|sub|mul)\..*bf16.*|fma\..*\.oob\..*"),
        ((8, 6), r"(min|max)\..*xorsign\.abs.*"),
        ((8, 0), r"(fma|neg|abs|min|max)\..*bf16.*|fma\..*relu.*|(min|max)\.(ftz\.)?(NaN\..*|f16(x2)?)"),
    ),
    passes=("abs", "add", "sub"),
    flops={"fma": 2, "mad": 2, **dict.fromkeys(("add", "sub", "mul", "div", "rcp", "sqrt"), 1)},
    proof="polynomial: `add`, `sub`, `mul`, `fma`, `mad`, `neg`, `div` by a number of the kernel; others opaque",
)
