"""cvt: from one type to another."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mmcore_emulator import floats
from mmcore_emulator.floats import Values
from mmcore_emulator.kinds import FLOATS, INTEGERS, NUMPY, Operation

_TO_WHOLE: dict[str, Callable[[Values], Values]] = {"rni": np.rint, "rzi": np.trunc, "rmi": np.floor, "rpi": np.ceil}


def convert(modifiers: tuple[str, ...]) -> Operation | None:
    """The operation of cvt with these modifiers; None for one that is not known."""
    if len(modifiers) < 2:
        return None
    *rounding, to, origin = modifiers
    integers = (*INTEGERS, "u8", "s8")
    if to in integers and origin in integers and not rounding:
        dtype = NUMPY[to]
        return Operation(lambda a: a.astype(dtype), (origin,), to)
    if to in (*FLOATS, "f16") and origin in integers and rounding == ["rn"]:
        dtype = NUMPY[to]
        return Operation(lambda a: a.astype(dtype), (origin,), to)
    if origin in FLOATS and len(rounding) == 1 and rounding[0] in _TO_WHOLE:
        whole = _TO_WHOLE[rounding[0]]
        if to in integers:
            return Operation(_to_integer(to, origin, whole), (origin,), to)
        return Operation(_to_whole(whole, origin), (origin,), to) if to == origin else None
    return _between_floats(rounding, to, origin)


def _between_floats(rounding: list[str], to: str, origin: str) -> Operation | None:
    widths = {"bf16": 2, "f16": 2, "f32": 4, "f64": 8}
    if to not in widths or origin not in widths:
        return None
    if widths[to] > widths[origin] and not rounding:
        dtype = NUMPY[to]
        if origin == "bf16":
            return Operation(lambda a: floats.from_bfloat16(a).astype(dtype), (origin,), to)
        return Operation(_to_float(to, origin), (origin,), to)
    if widths[to] < widths[origin] and rounding == ["rn"]:
        if to == "bf16":
            return Operation(floats.to_bfloat16, (origin,), to) if origin == "f32" else None
        return Operation(_to_float(to, origin), (origin,), to)
    return None


def _to_float(kind: str, origin: str) -> Callable[[Values], Values]:
    dtype = NUMPY[kind]
    if "f64" in (kind, origin):
        # To and from 64 bits a NaN keeps its sign and the highest bits of its payload.
        return lambda a: a.astype(dtype)
    return lambda a: floats.with_one_nan(a.astype(dtype))


def _to_whole(whole: Callable[[Values], Values], kind: str) -> Callable[[Values], Values]:
    return whole if kind == "f64" else lambda a: floats.with_one_nan(whole(a))


def _to_integer(kind: str, origin: str, whole_of: Callable[[Values], Values]) -> Callable[[Values], Values]:
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
