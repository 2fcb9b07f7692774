"""What each PTX instruction that computes does, on numpy arrays of lanes.

:func:`operation` knows an opcode or it does not; an unknown modifier makes an unknown opcode, so nothing is
executed with another meaning than its own.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mmcore_emulator import bitfields, floats
from mmcore_emulator.conversions import convert
from mmcore_emulator.floats import Values
from mmcore_emulator.flushing import flushing
from mmcore_emulator.kinds import BITS, FLOATS, INTEGERS, NUMPY, Operation


def operation(opcode: tuple[str, ...]) -> Operation | None:
    """The operation of an opcode such as ("fma", "rn", "f32"); None for one that is not known."""
    name, *modifiers = opcode
    types = 2 if name == "cvt" else 1
    if modifiers[-1 - types : -types] == ["ftz"] and modifiers.count("ftz") == 1:
        plain = operation((name, *modifiers[: -1 - types], *modifiers[-types:]))
        return flushing(name, plain) if plain else None
    find = _FAMILIES.get(name)
    return find(tuple(modifiers)) if find and modifiers else None


def _arithmetic(function: Callable[..., Values], modifiers: tuple[str, ...], *, arity: int = 2) -> Operation | None:
    """Operations that numpy's own are right for: wrapping integers, and IEEE floats rounded to nearest."""
    *rounding, kind = modifiers
    if kind in INTEGERS and not rounding:
        # Wrapping arithmetic is the same for signed and unsigned numbers.
        unsigned = f"u{kind[1:]}"
        return Operation(function, (unsigned,) * arity, unsigned)
    if kind in (*FLOATS, "f16") and rounding in ([], ["rn"]):
        return Operation(_on_floats(function, kind), (kind,) * arity, kind)
    return None


def _on_floats(function: Callable[..., Values], kind: str) -> Callable[..., Values]:
    """``function`` with the GPU's one NaN; what becomes of a float64 NaN's bits is open, and numpy's will do."""
    return function if kind == "f64" else lambda *sources: floats.with_one_nan(function(*sources))


def _add(modifiers: tuple[str, ...]) -> Operation | None:
    return _arithmetic(np.add, modifiers)


def _subtract(modifiers: tuple[str, ...]) -> Operation | None:
    return _arithmetic(np.subtract, modifiers)


def _multiply(modifiers: tuple[str, ...]) -> Operation | None:
    if modifiers[0] in ("lo", "wide", "hi"):
        return _product(modifiers)
    return None if modifiers[-1] in INTEGERS else _arithmetic(np.multiply, modifiers)


def _widths(part: str, kind: str) -> str | None:
    """Result type of an integer product: of its low or high half, or of the whole."""
    if kind not in INTEGERS:
        return None
    if part == "wide":
        return f"{kind[0]}{2 * int(kind[1:])}" if kind[1:] != "64" else None
    return kind


def _product(modifiers: tuple[str, ...]) -> Operation | None:
    if len(modifiers) != 2:
        return None
    part, kind = modifiers
    result = _widths(part, kind)
    if result is None:
        return None
    if part == "lo":
        return _arithmetic(np.multiply, (kind,))
    if part == "wide":
        wide = NUMPY[result]
        return Operation(lambda a, b: np.multiply(a, b, dtype=wide), (kind, kind), result)
    return Operation(_high_half(kind), (kind, kind), kind)


def _high_half(kind: str) -> Callable[[Values, Values], Values]:
    bits = int(kind[1:])
    if bits < 64:
        wide, narrow = np.dtype(f"{'int' if kind[0] == 's' else 'uint'}{2 * bits}"), NUMPY[kind]
        return lambda a, b: (np.multiply(a, b, dtype=wide) >> wide.type(bits)).astype(narrow)
    return _high_signed64 if kind[0] == "s" else _high_unsigned64


def _high_unsigned64(a: Values, b: Values) -> Values:
    half, mask = np.uint64(32), np.uint64(0xFFFFFFFF)
    a_high, a_low, b_high, b_low = a >> half, a & mask, b >> half, b & mask
    middle = a_high * b_low + (a_low * b_low >> half)
    return np.asarray(a_high * b_high + (middle >> half) + ((a_low * b_high + (middle & mask)) >> half))


def _high_signed64(a: Values, b: Values) -> Values:
    unsigned = _high_unsigned64(a.view(np.uint64), b.view(np.uint64)).view(np.int64)
    return np.asarray(unsigned - np.where(a < 0, b, 0) - np.where(b < 0, a, 0))


def _multiply_add(modifiers: tuple[str, ...]) -> Operation | None:
    if len(modifiers) == 2 and modifiers[0] == "rn":
        return _fused(modifiers)
    product = _product(modifiers)
    if product is None:
        return None
    multiply = product.compute
    return Operation(lambda a, b, c: multiply(a, b) + c, (*product.sources, product.result), product.result)


def _fused(modifiers: tuple[str, ...]) -> Operation | None:
    functions = {"f32": floats.fma32, "f64": floats.fma64, "f16": floats.fma16, "bf16": floats.fma_bfloat16}
    if len(modifiers) != 2 or modifiers[0] != "rn" or modifiers[1] not in functions:
        return None
    kind = modifiers[1]
    return Operation(functions[kind], (kind,) * 3, kind)


def _quotient(a: Values, b: Values) -> Values:
    # PTX truncates towards zero, as np.fmod does; numpy's // rounds down. Division by zero, which PTX leaves to the
    # machine, gives all ones in ptxas's code for it.
    return np.where(b == 0, ~np.zeros_like(b), (a - np.fmod(a, b)) // b)


def _left_over(a: Values, b: Values) -> Values:
    return np.where(b == 0, ~np.zeros_like(b), np.fmod(a, b))


def _divide(modifiers: tuple[str, ...]) -> Operation | None:
    *rounding, kind = modifiers
    if kind in INTEGERS and not rounding:
        return Operation(_quotient, (kind, kind), kind)
    return _arithmetic(np.divide, modifiers) if kind in FLOATS and rounding == ["rn"] else None


def _remainder(modifiers: tuple[str, ...]) -> Operation | None:
    (kind,) = modifiers if len(modifiers) == 1 else ("",)
    return Operation(_left_over, (kind, kind), kind) if kind in INTEGERS else None


def _extreme(
    integer: Callable[..., Values], real: Callable[..., Values]
) -> Callable[[tuple[str, ...]], Operation | None]:
    def find(modifiers: tuple[str, ...]) -> Operation | None:
        (kind,) = modifiers if len(modifiers) == 1 else ("",)
        if kind in INTEGERS:
            return Operation(integer, (kind, kind), kind)
        return Operation(_on_floats(real, kind), (kind, kind), kind) if kind in FLOATS else None

    return find


def _smaller(a: Values, b: Values) -> Values:
    # Of two zeros, numpy takes either; PTX the negative one.
    return np.where(a == b, np.where(np.signbit(a), a, b), np.fmin(a, b))


def _larger(a: Values, b: Values) -> Values:
    return np.where(a == b, np.where(np.signbit(a), b, a), np.fmax(a, b))


def _unary(
    function: Callable[..., Values], kinds: tuple[str, ...], rounding: tuple[str, ...] = ()
) -> Callable[[tuple[str, ...]], Operation | None]:
    def find(modifiers: tuple[str, ...]) -> Operation | None:
        if modifiers[:-1] != rounding or modifiers[-1] not in kinds:
            return None
        kind = modifiers[-1]
        return Operation(_on_floats(function, kind) if kind in FLOATS else function, (kind,), kind)

    return find


def _bitwise(function: Callable[..., Values], arity: int = 2) -> Callable[[tuple[str, ...]], Operation | None]:
    def find(modifiers: tuple[str, ...]) -> Operation | None:
        (kind,) = modifiers if len(modifiers) == 1 else ("",)
        return Operation(function, (kind,) * arity, kind) if kind in (*BITS, "pred") else None

    return find


def _shift(function: Callable[..., Values]) -> Callable[[tuple[str, ...]], Operation | None]:
    def find(modifiers: tuple[str, ...]) -> Operation | None:
        (kind,) = modifiers if len(modifiers) == 1 else ("",)
        if kind not in (*INTEGERS, *BITS):
            return None
        # numpy, like PTX, lets amounts beyond the width shift everything out.
        dtype = NUMPY[kind]
        return Operation(lambda a, amount: function(a, np.minimum(amount, 64).astype(dtype)), (kind, "u32"), kind)

    return find


_COMPARISONS: dict[str, Callable[..., Values]] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "lo": np.less,
    "ls": np.less_equal,
    "hi": np.greater,
    "hs": np.greater_equal,
}
_LOGICAL: dict[str, Callable[..., Values]] = {"and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor}


def _comparison(name: str, kind: str) -> Callable[..., Values] | None:
    if kind in (*INTEGERS, *BITS):
        return _COMPARISONS.get(name)
    if kind not in FLOATS:
        return None
    if name == "num":
        return lambda a, b: ~(np.isnan(a) | np.isnan(b))
    if name == "nan":
        return lambda a, b: np.isnan(a) | np.isnan(b)
    if name == "ne":
        # The ordered "not equal" is false of NaN, numpy's is true.
        return lambda a, b: (a < b) | (a > b)
    if name.endswith("u") and name[:-1] in ("eq", "ne", "lt", "le", "gt", "ge"):
        ordered = _COMPARISONS[name[:-1]]
        return lambda a, b: ordered(a, b) | np.isnan(a) | np.isnan(b)
    return _COMPARISONS.get(name) if name not in ("lo", "ls", "hi", "hs") else None


def _set_predicate(modifiers: tuple[str, ...]) -> Operation | None:
    if len(modifiers) < 2:
        return None
    name, *combine, kind = modifiers
    compare = _comparison(name, kind)
    if compare is None or len(combine) > 1 or (combine and combine[0] not in _LOGICAL):
        return None
    if not combine:
        return Operation(compare, (kind, kind), "pred")
    logical = _LOGICAL[combine[0]]
    return Operation(lambda a, b, p: logical(compare(a, b), p), (kind, kind, "pred"), "pred")


def _select(modifiers: tuple[str, ...]) -> Operation | None:
    (kind,) = modifiers if len(modifiers) == 1 else ("",)
    if kind not in (*INTEGERS, *BITS, *FLOATS):
        return None
    return Operation(_chosen, (kind, kind, "pred"), kind)


def _chosen(a: Values, b: Values, predicate: Values) -> Values:
    return np.where(predicate, a, b)


_FAMILIES: dict[str, Callable[[tuple[str, ...]], Operation | None]] = {
    "add": _add,
    "sub": _subtract,
    "mul": _multiply,
    "mad": _multiply_add,
    "fma": _fused,
    "div": _divide,
    "rem": _remainder,
    "min": _extreme(np.minimum, _smaller),
    "max": _extreme(np.maximum, _larger),
    "neg": _unary(np.negative, ("s16", "s32", "s64", *FLOATS)),
    "abs": _unary(np.abs, ("s16", "s32", "s64", *FLOATS)),
    "rcp": _unary(lambda a: np.divide(a.dtype.type(1), a), FLOATS, ("rn",)),
    "sqrt": _unary(np.sqrt, FLOATS, ("rn",)),
    "and": _bitwise(np.bitwise_and),
    "or": _bitwise(np.bitwise_or),
    "xor": _bitwise(np.bitwise_xor),
    "not": _bitwise(np.invert, 1),
    "shl": _shift(np.left_shift),
    "shr": _shift(np.right_shift),
    "setp": _set_predicate,
    "selp": _select,
    "cvt": convert,
    "bfe": bitfields.field_extract,
    "bfi": bitfields.field_insert,
    "popc": bitfields.count_ones,
    "prmt": bitfields.permute,
    "shf": bitfields.funnel_shift,
}
