"""cvt: from one type to another."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from mmcore_emulator import floats
from mmcore_emulator.floats import Values
from mmcore_emulator.ptx_types import FLOATS, INTEGERS, NUMPY, Entry, Function

_TO_WHOLE: dict[str, Function] = {"rni": np.rint, "rzi": np.trunc, "rmi": np.floor, "rpi": np.ceil}
_INTEGERS = (*INTEGERS, "u8", "s8")
_WIDTHS = {"bf16": 2, "f16": 2, "f32": 4, "f64": 8}


def conversions() -> Iterator[Entry]:
    """Every conversion that is known."""
    for origin in _INTEGERS:
        for to in _INTEGERS:
            yield f"cvt.{to}.{origin}", _cast(to), (origin,), to
        for to in (*FLOATS, "f16"):
            yield f"cvt.rn.{to}.{origin}", _cast(to), (origin,), to
    for origin in FLOATS:
        for rounding, whole in _TO_WHOLE.items():
            yield f"cvt.{rounding}.{origin}.{origin}", _to_whole(whole, origin), (origin,), origin
            for to in _INTEGERS:
                yield f"cvt.{rounding}.{to}.{origin}", _to_integer(to, origin, whole), (origin,), to
    for origin, width in _WIDTHS.items():
        for to, wanted in _WIDTHS.items():
            if wanted > width:
                yield (
                    f"cvt.{to}.{origin}",
                    _from_bfloat16(to) if origin == "bf16" else _to_float(to, origin),
                    (origin,),
                    to,
                )
            elif wanted < width and to != "bf16":
                yield f"cvt.rn.{to}.{origin}", _to_float(to, origin), (origin,), to
    yield "cvt.rn.bf16.f32", floats.to_bfloat16, ("f32",), "bf16"
    for rounding, added in (("rna", _away), ("rn", _to_even), ("rz", _off)):
        yield f"cvt.{rounding}.tf32.f32", partial(_to_tf32, added), ("f32",), "b32"
    yield "cvt.rn.f16x2.f32", partial(_pair, _to_float("f16", "f32")), ("f32", "f32"), "b32"
    yield "cvt.rn.bf16x2.f32", partial(_pair, floats.to_bfloat16), ("f32", "f32"), "b32"


_DROPPED = np.uint32(0x1FFF)


def _away(bits: Values) -> Values:
    return bits + np.uint32(0x1000)


def _to_even(bits: Values) -> Values:
    return bits + np.uint32(0x0FFF) + ((bits >> np.uint32(13)) & np.uint32(1))


def _off(bits: Values) -> Values:
    return bits


def _to_tf32(added: Function, a: Values) -> Values:
    """float32 of which the lower 13 bits are rounded off."""
    rounded = added(a.view(np.uint32)) & ~_DROPPED
    return np.where(np.isnan(a), np.uint32(0x7FFFFFFF), rounded)


def _pair(narrowed: Function, high: Values, low: Values) -> Values:
    """Two numbers in one register."""
    upper, lower = (narrowed(each).view(np.uint16).astype(np.uint32) for each in (high, low))
    return np.asarray((upper << np.uint32(16)) | lower)


def _cast(kind: str) -> Function:
    dtype = NUMPY[kind]
    return lambda a: a.astype(dtype)


def _from_bfloat16(kind: str) -> Function:
    dtype = NUMPY[kind]
    return lambda a: floats.from_bfloat16(a).astype(dtype)


def _to_float(kind: str, origin: str) -> Function:
    cast = _cast(kind)
    # To and from 64 bits a NaN keeps its sign and the highest bits of its payload.
    return cast if "f64" in (kind, origin) else lambda a: floats.with_one_nan(cast(a))


def _to_whole(whole: Function, kind: str) -> Function:
    return whole if kind == "f64" else lambda a: floats.with_one_nan(whole(a))


def _to_integer(kind: str, origin: str, whole_of: Function) -> Function:
    # Out of range saturates. The largest 64-bit integers are no floats, hence the two bounds.
    dtype = NUMPY[kind]
    info = np.iinfo(dtype)
    of_nan = dtype.type(0)
    if origin == "f64" or info.bits == 64:
        of_nan = np.array(1 << (info.bits - 1), f"u{dtype.itemsize}").view(dtype)[()]

    def convert(a: Values) -> Values:
        nan = np.isnan(a)
        whole = whole_of(np.where(nan, 0, a).astype(np.float64))
        above, below = whole >= float(info.max), whole <= float(info.min)
        inside = np.where(above | below, 0, whole).astype(dtype)
        clamped = np.where(above, dtype.type(info.max), np.where(below, dtype.type(info.min), inside))
        return np.where(nan, of_nan, clamped)

    return convert
