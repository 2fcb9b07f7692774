"""Comparison and selection: set, setp, selp and slct.

Reference: PTX ISA, "Comparison and Selection Instructions" and "Half Precision Comparison Instructions".
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial

import numpy as np

from mmcore_emulator.isa.arithmetic.float_operations import flushed_half, halves, joined_halves
from mmcore_emulator.isa.entries import Compute, Effect, Entry, Family, Function
from mmcore_emulator.numerics.floats import flushed, from_bfloat16
from mmcore_emulator.numerics.types import NUMPY, DType, Values
from mmcore_emulator.ptx.types import BITS, FLOATS, INTEGERS

_OF_BITS: dict[str, Function] = {"eq": np.equal, "ne": np.not_equal}
_OF_SIGNED: dict[str, Function] = {
    **_OF_BITS,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}
_OF_UNSIGNED: dict[str, Function] = {
    **_OF_SIGNED,
    "lo": np.less,
    "ls": np.less_equal,
    "hi": np.greater,
    "hs": np.greater_equal,
}
_LOGICAL: dict[str, Function] = {"and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor}
_HALVES = ("f16", "bf16")
_SELECTED = (*INTEGERS, *BITS, *FLOATS)
_FORM = re.compile(r"(?P<compare>[a-z]+)(\.(?P<logical>and|or|xor))?(?P<ftz>\.ftz)?(\.(?P<result>\w+))?\.(?P<kind>\w+)")
# The value of "true" as a result of set; for integers all bits are set.
_TRUE: dict[str, np.generic] = {"f32": np.float32(1), "f16": np.float16(1), "bf16": np.uint16(0x3F80)}


def _any_nan(a: Values, b: Values) -> Values:
    return np.asarray(np.isnan(a) | np.isnan(b))


def _or_nan(compare: Function) -> Function:
    return lambda a, b: compare(a, b) | _any_nan(a, b)


# Ordered comparisons are false for NaN, and those with a "u" are true; numpy's "not equal" is true.
_ORDERED: dict[str, Function] = {**_OF_SIGNED, "ne": lambda a, b: (a < b) | (a > b)}
_OF_FLOATS: dict[str, Function] = {
    **_ORDERED,
    **{f"{name}u": _or_nan(compare) for name, compare in _ORDERED.items()},
    "num": lambda a, b: ~_any_nan(a, b),
    "nan": _any_nan,
}


def _comparisons(kind: str) -> dict[str, Function]:
    if kind in (*FLOATS, *_HALVES):
        return _OF_FLOATS
    return {"b": _OF_BITS, "s": _OF_SIGNED, "u": _OF_UNSIGNED}[kind[0]]


def _comparison(opcode: tuple[str, ...], results: int) -> Compute | None:
    """Return the semantics of an opcode such as "setp", ("lt", "and", "f32"); None for an unknown one.

    A second result of ``setp`` is the opposite of the first; for a pair of 16-bit numbers, each half has one result.
    """
    name, *modifiers = opcode
    match = _FORM.fullmatch(".".join(modifiers))
    if match is None or (match["result"] is None) != (name == "setp") or (results > 1 and name != "setp"):
        return None
    kind, pair = match["kind"].removesuffix("x2"), match["kind"].endswith("x2")
    known = kind in _HALVES if pair else kind in (*_SELECTED, *_HALVES)
    flushes = match["ftz"] is not None
    if not known or (flushes and kind not in ("f32", "f16")) or match["compare"] not in _comparisons(kind):
        return None
    logical = match["logical"]
    compare = partial(_compared, _prepared(kind, flushes), _comparisons(kind)[match["compare"]], _LOGICAL.get(logical))
    sources = ("b32" if pair else kind,) * 2 + ("pred",) * (logical is not None)
    if name == "setp":
        return _setp(compare, NUMPY[kind], sources, results, pair=pair)
    return _set(compare, kind, sources, match["result"], flushes=flushes, pair=pair)


def _prepared(kind: str, flushes: bool) -> Function:
    """Return the conversion of a type's operands before they are compared."""
    if kind == "bf16":
        return from_bfloat16
    if flushes:
        return flushed if kind == "f32" else flushed_half
    return np.asarray


def _compared(
    prepared: Function,
    compare: Function,
    logical: Function | None,
    a: Values,
    b: Values,
    *c: Values,
    opposite: bool = False,
) -> Values:
    result = compare(prepared(a), prepared(b))
    if opposite:
        result = ~result
    return np.asarray(result if logical is None else logical(result, *c))


def _setp(compare: Function, dtype: DType, sources: tuple[str, ...], results: int, *, pair: bool) -> Compute | None:
    if results == 1:
        return None if pair else Compute(compare, sources, "pred")
    if pair:
        return Compute(partial(_both_halves, compare, dtype), sources, "pred", also="pred")
    if sources[0] in _HALVES:
        return None
    return Compute(
        lambda *operands: (compare(*operands), compare(*operands, opposite=True)), sources, "pred", also="pred"
    )


def _both_halves(compare: Function, dtype: DType, a: Values, b: Values, *c: Values) -> tuple[Values, ...]:
    """Return the comparisons of the lower halves, and of the upper halves."""
    return tuple(compare(*pair, *c) for pair in zip(halves(a, dtype), halves(b, dtype), strict=True))


def _set(
    compare: Function, kind: str, sources: tuple[str, ...], result: str, *, flushes: bool, pair: bool
) -> Compute | None:
    if pair:
        wanted = {f"{kind}x2": kind, "u32": "u16", "s32": "u16"}.get(result)
        if wanted is None:
            return None
        dtype = NUMPY[kind]

        def of_pair(*operands: Values) -> Values:
            return joined_halves(*(_as_numbers(truth, wanted) for truth in _both_halves(compare, dtype, *operands)))

        return Compute(of_pair, sources, "b32")
    allowed = ("u16", "s16", "u32", "s32", *_HALVES) if kind in _HALVES else ("u32", "s32", "f32", *_HALVES)
    if result not in allowed or (flushes and result == "bf16") or (kind, result) == ("bf16", "f16"):
        return None
    return Compute(lambda *operands: _as_numbers(compare(*operands), result), sources, result)


def _as_numbers(truth: Values, kind: str) -> Values:
    """Return truth values as numbers of a type."""
    dtype = NUMPY[kind]
    true: np.generic = _TRUE[kind] if kind in _TRUE else ~dtype.type(0)
    return np.asarray(np.where(truth, true, dtype.type(0)), dtype)


def _selections() -> Iterator[tuple[str, Compute]]:
    """Yield ``selp`` and ``slct`` with their opcodes."""
    for kind in _SELECTED:
        yield f"selp.{kind}", Compute(_chosen, (kind, kind, "pred"), kind, rule="select", algebra="select")
        yield f"slct.{kind}.s32", Compute(_of_sign, (kind, kind, "s32"), kind)
        yield f"slct.{kind}.f32", Compute(_of_sign, (kind, kind, "f32"), kind)
        yield f"slct.ftz.{kind}.f32", Compute(lambda a, b, c: _of_sign(a, b, flushed(c)), (kind, kind, "f32"), kind)


def _chosen(a: Values, b: Values, chosen: Values) -> Values:
    return np.where(chosen, a, b)


def _of_sign(a: Values, b: Values, c: Values) -> Values:
    """Return a where c is not negative, else b; also b for NaN."""
    return np.where(c >= 0, a, b)


FAMILY = Family(
    "Comparison and selection",
    (
        Entry("setp", _comparison, effect=Effect("compare"), counts_results=True),
        Entry("set", _comparison, counts_results=True),
    ),
    exact=_selections,
    since=(((9, 0), r"(set|setp)\..*bf16.*"),),
    proof="moves: `selp` by a number of the kernel; others opaque",
)
