"""Conversions from one type to another: cvt.

Reference: PTX ISA, "Data Movement and Conversion Instructions: cvt" and "cvt.pack".
"""

from __future__ import annotations

import functools
import re
from dataclasses import replace
from functools import partial

import numpy as np

from mmcore_emulator.isa.arithmetic.float_operations import (
    flushing,
    in_halves,
    joined_halves,
    saturated,
    then,
    unit_of,
    without_negative,
)
from mmcore_emulator.isa.entries import Compute, Effect, Entry, Family, Function
from mmcore_emulator.numerics import floats
from mmcore_emulator.numerics.rounding import FORMATS, rounded
from mmcore_emulator.numerics.types import NUMPY, Values
from mmcore_emulator.tensor_cores.elements import values

_WHOLE: dict[str, Function] = {"rni": np.rint, "rzi": np.trunc, "rmi": np.floor, "rpi": np.ceil}
_I, _LONG = r"[su](8|16|32|64)", r"[su](16|32|64)"
# The modifiers that are possible for types, the result's type first.
_FORMS = tuple(
    re.compile(form)
    for form in (
        rf"(sat\.)?{_I}\.{_I}",
        rf"r[nzmp]\.(sat\.)?(f16|f32|f64)\.{_I}|r[nzmp]\.bf16\.{_LONG}",
        rf"r[nzmp]i\.(ftz\.)?(sat\.)?{_I}\.f32|r[nzmp]i\.(sat\.)?{_I}\.(f16|f64)|r[nzmp]i\.{_LONG}\.bf16",
        r"(r[nzmp]i\.)?(ftz\.)?(sat\.)?f32\.f32|(r[nzmp]i\.)?(sat\.)?(f16\.f16|f64\.f64)|(r[nzmp]i\.)?bf16\.bf16",
        r"(sat\.)?(f32|f64)\.f16|(ftz\.)?(sat\.)?(f32\.f16|f64\.f32)",
        r"(r[nzmp]\.)?((ftz\.)?f32|f64|f16)\.bf16|(r[nzmp]\.)?bf16\.f16",
        r"r[nzmp]\.(ftz\.)?(sat\.)?(f16\.f32|f32\.f64)|r[nzmp]\.(sat\.)?f16\.f64|r[nzmp]\.(ftz\.)?bf16\.f32|r[nzmp]\.bf16\.f64",
        r"r[nz]\.(relu\.)?(satfinite\.)?(f16|bf16|f16x2|bf16x2)\.f32",
        r"rna\.(satfinite\.)?tf32\.f32|r[nz]\.(relu\.)?tf32\.f32",
        r"rn\.satfinite\.(relu\.)?(e4m3x2|e5m2x2)\.(f32|f16x2)|rn\.(relu\.)?f16x2\.(e4m3x2|e5m2x2)",
    )
)


@functools.cache
def conversion(modifiers: tuple[str, ...]) -> Compute | None:
    """Return the semantics of an opcode such as "cvt", ("rn", "f16", "f32"); None for an unknown one."""
    name = ".".join(modifiers)
    if modifiers[:2] == ("pack", "sat"):
        return _packing(modifiers[2:])
    if not any(form.fullmatch(name) for form in _FORMS):
        return None
    *how, to, of = modifiers
    if how == ["sat"] and to[0] in "su" and of[0] in "su" and not _exceeds(to, of):
        return None
    if to.endswith("x2") or of.endswith("x2"):
        return _of_pairs(how, to, of)
    algebra, unit = _polynomial(how, to, of)
    plain = Compute(_plain(how, to, of), (of,), "b32" if to == "tf32" else to, algebra=algebra, unit=unit)
    if to == "tf32":
        plain = replace(plain, number=to)
    if "ftz" in how:
        way = next((part for part in how if part[0] == "r"), "rn")
        flushed = flushing("cvt", plain, nearest=way[:2] == "rn")
        assert flushed is not None
        plain = flushed
    return plain


def _polynomial(how: list[str], to: str, of: str) -> tuple[str, float]:
    """Return the algebra of a conversion, and the bound of its rounding."""
    way = next((part for part in how if part in ("rna", "rn", "rz", "rm", "rp")), "")
    if {"sat", "relu", *_WHOLE} & set(how) or (to[0] in "su" and of[0] not in "su"):
        return "", 0.0
    if to[0] in "su":
        return "copy", 0.0
    if of[0] in "su":
        exact = int(of[1:]) - (of[0] == "s") <= (53 if to == "f64" else FORMATS[to].precision)
        return "copy", 0.0 if exact else unit_of(to, way)
    precisions = {"f64": 53, **{kind: each.precision for kind, each in FORMATS.items()}}
    return "copy", unit_of(to, way) if precisions[to] < precisions[of] else 0.0


def _plain(how: list[str], to: str, of: str) -> Function:
    """Return a conversion of one number, without ``.ftz``."""
    way = next((part for part in how if part in ("rna", "rn", "rz", "rm", "rp", *_WHOLE)), "")
    if to[0] in "su" and of[0] in "su":
        return partial(_clamp, to) if "sat" in how else _cast(to)
    if to[0] in "su":
        return partial(_to_integer, to, of, _WHOLE[way])
    if of[0] in "su":
        convert = _cast(to) if way == "rn" and to != "bf16" else partial(_from_integer, to, way)
    elif way in _WHOLE:
        convert = _to_whole(_WHOLE[way], to)
    elif "satfinite" in how:
        convert = partial(_to_finite, to, way)
    else:
        convert = _between_floats(to, of, way)
    if "sat" in how:
        convert = then(saturated, convert)
    return then(without_negative, convert) if "relu" in how else convert


def _cast(kind: str) -> Function:
    dtype = NUMPY[kind]
    return lambda a: a.astype(dtype)


def _exceeds(to: str, of: str) -> bool:
    """Return True if an integer type has numbers that another does not have."""
    bounds, others = np.iinfo(NUMPY[to]), np.iinfo(NUMPY[of])
    return bool(others.min < bounds.min or others.max > bounds.max)


def _clamp(kind: str, a: Values) -> Values:
    """Return integers that saturate at the range of a type."""
    info, of = np.iinfo(NUMPY[kind]), np.iinfo(a.dtype)
    return np.clip(a, max(info.min, of.min), min(info.max, of.max)).astype(NUMPY[kind])


def _value(a: Values, kind: str) -> Values:
    """Return numbers of a type as float64."""
    return (floats.from_bfloat16(a) if kind == "bf16" else a).astype(np.float64)


def _held(numbers: Values, kind: str) -> Values:
    """Return float64 numbers, which the type can represent, in that type."""
    if kind == "bf16":
        return floats.to_bfloat16(numbers.astype(np.float32))
    if kind == "tf32":
        return np.where(np.isnan(numbers), np.uint32(0x7FFFFFFF), numbers.astype(np.float32).view(np.uint32))
    return numbers if kind == "f64" else floats.with_one_nan(numbers.astype(NUMPY[kind]))


def _between_floats(to: str, of: str, way: str) -> Function:
    if to == of:
        return _to_whole(np.asarray, to)
    # To and from 64 bits a NaN keeps its sign and the highest bits of its payload.
    if way in ("", "rn") and "bf16" not in (to, of) and to != "tf32":
        cast = _cast(to)
        return cast if "f64" in (to, of) else lambda a: floats.with_one_nan(cast(a))
    if to == "tf32":
        return partial(_to_tf32, _ADDED[way])
    if (to, of, way) == ("bf16", "f32", "rn"):
        return floats.to_bfloat16
    if (to, of) == ("f32", "bf16"):  # a shift: a NaN keeps its bits
        return floats.from_bfloat16
    if (to, of) == ("f64", "bf16"):  # which can represent every such number
        return lambda a: _held(_value(a, of), to)
    return lambda a: _held(rounded(_value(a, of), np.zeros(()), way or "rn", FORMATS[to]), to)


_DROPPED = np.uint32(0x1FFF)
# The amount added to a float32 before its lower 13 bits are cut off.
_ADDED: dict[str, Function] = {
    "rna": lambda bits: np.uint32(0x1000),
    "rn": lambda bits: np.uint32(0x0FFF) + ((bits >> np.uint32(13)) & np.uint32(1)),
    "rz": lambda bits: np.uint32(0),
}


def _to_tf32(added: Function, a: Values) -> Values:
    """Return float32 numbers with the lower 13 bits rounded off."""
    bits = a.view(np.uint32)
    return np.where(np.isnan(a), np.uint32(0x7FFFFFFF), (bits + added(bits)) & ~_DROPPED)


def _to_finite(to: str, way: str, a: Values) -> Values:
    """Return numbers rounded to a type, saturated at its largest and least finite number."""
    largest = FORMATS[to].largest
    number = rounded(_value(a, "f32"), np.zeros(()), way, FORMATS[to])
    return _held(np.where(np.isnan(number), number, np.clip(number, -largest, largest)), to)


def _from_integer(to: str, way: str, a: Values) -> Values:
    """Return integers rounded to a floating-point type."""
    high = a.astype(np.float64)
    # A 64-bit integer may differ from its float64.
    error = np.zeros(()) if a.itemsize < 8 else _shortfall(a, high)
    if to != "f64":
        return _held(rounded(high, error, way, FORMATS[to]), to)
    toward = {"rz": 0.0, "rm": -np.inf, "rp": np.inf}[way]
    beyond = (error > 0) if way == "rp" else (error < 0) if way == "rm" else (error * np.sign(high) < 0)
    return np.where(beyond, np.nextafter(high, toward), high)


def _shortfall(a: Values, high: Values) -> Values:
    """Return the sign of 64-bit integers minus their float64."""
    largest = high >= 2.0 ** (64 if a.dtype.kind == "u" else 63)
    back = np.where(largest, 0, high).astype(a.dtype)
    return np.where(largest | (a < back), -1.0, np.where(a > back, 1.0, 0.0))


def _to_whole(whole: Function, kind: str) -> Function:
    """Return a rounding to whole numbers in the same type."""
    if kind == "bf16":
        return lambda a: floats.to_bfloat16(whole(floats.from_bfloat16(a)))
    return whole if kind == "f64" else lambda a: floats.with_one_nan(whole(a))


def _to_integer(kind: str, origin: str, whole_of: Function, a: Values) -> Values:
    """Return numbers as integers of a type; a number out of range saturates."""
    dtype, info = NUMPY[kind], np.iinfo(NUMPY[kind])
    of_nan = dtype.type(0)
    if origin == "f64" or info.bits == 64:
        of_nan = np.array(1 << (info.bits - 1), f"u{dtype.itemsize}").view(dtype)[()]
    numbers = _value(a, origin)
    nan = np.isnan(numbers)
    whole = whole_of(np.where(nan, 0, numbers))
    # The largest 64-bit integers are no floats, hence the two bounds.
    above, below = whole >= float(info.max), whole <= float(info.min)
    inside = np.where(above | below, 0, whole).astype(dtype)
    clamped = np.where(above, dtype.type(info.max), np.where(below, dtype.type(info.min), inside))
    return np.where(nan, of_nan, clamped)


# Conversions of two numbers in one register.


def _of_pairs(how: list[str], to: str, of: str) -> Compute:
    """Return a conversion of pairs; the first operand is the upper half."""
    if of in ("e4m3x2", "e5m2x2"):
        widened = partial(_from_octets, of.removesuffix("x2"))
        if "relu" in how:
            return Compute(then(partial(in_halves, without_negative, NUMPY["f16"]), widened), ("b16",), "b32")
        return Compute(widened, ("b16",), "b32", algebra="copy", halves="f16", halves_of=of.removesuffix("x2"))
    half, bounded = to.removesuffix("x2"), "relu" not in how
    unit = unit_of(half, "rz" if "rz" in how else "rn") if bounded else 0.0
    pair = partial(Compute, algebra="pair" if bounded else "", unit=unit, halves=half)
    if to in ("e4m3x2", "e5m2x2"):
        narrow = partial(_octet, half, "relu" in how)
        if of == "f32":
            return pair(lambda high, low: (narrow(high) << np.uint16(8)) | narrow(low), ("f32", "f32"), "b16")
        packed = then(_packed_octets, partial(in_halves, narrow, NUMPY["f16"]))
        return replace(pair(packed, ("b32",), "b16"), algebra="copy" if bounded else "", halves_of="f16")
    one = _plain(how, half, of)
    return pair(lambda high, low: joined_halves(one(low), one(high)), ("f32", "f32"), "b32")


def _packed_octets(pair: Values) -> Values:
    """Return the lower bytes of a register's halves."""
    return np.asarray((pair & np.uint32(0xFF)) | ((pair >> np.uint32(8)) & np.uint32(0xFF00))).astype(np.uint16)


def _octet(kind: str, relu: bool, a: Values) -> Values:
    """Return numbers as 8-bit floats in the lower half of 16 bits; infinity and larger numbers become the largest."""
    to = FORMATS[kind]
    fraction = to.precision - 1
    number = rounded(a.astype(np.float64), np.zeros(()), "rn", to)
    magnitude = np.minimum(np.where(np.isnan(number), 0, np.abs(number)), to.largest)
    exponent = np.maximum(np.where(magnitude > 0, np.frexp(magnitude)[1] - 1, to.least), to.least)
    # A normal number's leading bit adds one to the exponent's field.
    bits = ((exponent - to.least) << fraction) + np.ldexp(magnitude, fraction - exponent).astype(np.int64)
    bits = np.where(np.isnan(number), 0x7F, bits | np.where(np.signbit(number), 0x80, 0))
    return np.where(relu & (bits >= 0x80), 0, bits).astype(np.uint16)


def _from_octets(kind: str, pair: Values) -> Values:
    """Return pairs of 8-bit floats as pairs of 16-bit floats."""
    octets = np.ascontiguousarray(pair)[..., np.newaxis].view(np.uint8)
    halves = floats.with_one_nan(values(octets, kind).astype(np.float16))
    return np.asarray(halves.view(np.uint32)[..., 0])


def _packing(modifiers: tuple[str, ...]) -> Compute | None:
    """Return the semantics of ``cvt.pack.sat``: two clamped integers, before the bits of an optional third."""
    match = re.fullmatch(r"(?P<sign>[su])(?P<bits>16\.s32|(8|4|2)\.s32\.b32)", ".".join(modifiers))
    if match is None:
        return None
    bits = int(match["bits"].partition(".")[0])
    least = -(1 << (bits - 1)) if match["sign"] == "s" else 0
    mask, width = np.uint32((1 << bits) - 1), np.uint32(bits)

    def pack(a: Values, b: Values, *c: Values) -> Values:
        high, low = (np.clip(number, least, least + (1 << bits) - 1).view(np.uint32) & mask for number in (a, b))
        pair = (high << width) | low
        return np.asarray(pair | (c[0] << (width * np.uint32(2))) if c else pair)

    return Compute(pack, ("s32", "s32", *["b32"] * (bits < 16)), "b32")


FAMILY = Family(
    "Conversion",
    (Entry("cvt", lambda opcode: conversion(opcode[1:]), effect=Effect(passes=True)),),
    since=(
        ((9, 0), r"cvt\.r[nz]\..*tf32\.f32|cvt\.(?!(\w+\.)*bf16(x2)?\.f32$|(r[nzmp]\.)?f32\.bf16$).*bf16.*"),
        ((8, 9), r"cvt\..*e[45]m[23]x2.*"),
        ((8, 0), r"cvt\..*(tf32|bf16).*|cvt\..*\.relu\..*|cvt\..*f16x2\.f32"),
    ),
    proof="polynomial: a copy with its rounding; to integers, `sat` and `relu` opaque",
)
