"""What each PTX instruction that computes does, on numpy arrays of lanes: a table of every opcode that is known.

An unknown modifier makes an unknown opcode, so nothing is executed with another meaning than its own.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from mmcore_emulator import floats, integers
from mmcore_emulator.conversions import conversions
from mmcore_emulator.floats import Values
from mmcore_emulator.ptx_types import BITS, FLOATS, INTEGERS, NUMPY, Entry, Function, Operation
from mmcore_emulator.subnormals import flushing

_COMPARISONS: dict[str, Function] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}
_OF_UNSIGNED: dict[str, Function] = {"lo": np.less, "ls": np.less_equal, "hi": np.greater, "hs": np.greater_equal}
_LOGICAL: dict[str, Function] = {"and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor}
_SUMS: dict[str, Function] = {"add": np.add, "sub": np.subtract, "mul": np.multiply}
_FUSED: dict[str, Function] = {
    "f32": floats.fma32,
    "f64": floats.fma64,
    "f16": floats.fma16,
    "bf16": floats.fma_bfloat16,
}


def operation(opcode: tuple[str, ...]) -> Operation | None:
    """The operation of an opcode such as ("fma", "rn", "f32"); None for one that is not known."""
    name, *modifiers = opcode
    types = 2 if name == "cvt" else 1
    if modifiers[-1 - types : -types] == ["ftz"] and modifiers.count("ftz") == 1:
        plain = operation((name, *modifiers[: -1 - types], *modifiers[-types:]))
        return flushing(name, plain) if plain else None
    return _table().get(".".join(opcode))


@functools.cache
def _table() -> dict[str, Operation]:
    entries = [entry for kind in INTEGERS for entry in _of_integers(kind)]
    entries += [entry for kind in (*FLOATS, "f16") for entry in _of_floats(kind)]
    for kind in (*INTEGERS, *BITS):
        shifts = (("shl", np.left_shift), ("shr", np.right_shift))
        entries += [(f"{name}.{kind}", integers.shifted(each, kind), (kind, "u32"), kind) for name, each in shifts]
    for kind in (*BITS, "pred"):
        bitwise = (("and", np.bitwise_and), ("or", np.bitwise_or), ("xor", np.bitwise_xor))
        entries += [(f"{name}.{kind}", function, (kind, kind), kind) for name, function in bitwise]
        entries.append((f"not.{kind}", np.invert, (kind,), kind))
    for kind in (*INTEGERS, *BITS, *FLOATS):
        entries.append((f"selp.{kind}", _chosen, (kind, kind, "pred"), kind))
        entries += _comparisons(kind)
    for one, other in itertools.product(("s32", "u32"), repeat=2):
        result = min(one, other)  # signed where one of them is
        entries.append((f"dp4a.{one}.{other}", integers.dot_product, (one, other, result), result))
    entries += _of_bit_fields()
    entries += _of_pairs(entries)
    entries += conversions()
    for kind, fused in _FUSED.items():
        entries += [(f"{name}.rn.{kind}", fused, (kind,) * 3, kind) for name in ("fma", "mad")]
    return {opcode: Operation(compute, sources, result) for opcode, compute, sources, result in entries}


def _of_integers(kind: str) -> Iterator[Entry]:
    # Wrapping arithmetic is the same for signed and unsigned numbers.
    unsigned = f"u{kind[1:]}"
    products: list[tuple[str, Function, str, str]] = [("lo", np.multiply, unsigned, unsigned)]
    products.append(("hi", integers.high_half(kind), kind, kind))
    if kind[1:] != "64":
        products.append(("wide", integers.whole_product(kind), kind, f"{kind[0]}{2 * int(kind[1:])}"))
    for part, multiply, source, result in products:
        yield f"mul.{part}.{kind}", multiply, (source, source), result
        yield f"mad.{part}.{kind}", _with_sum(multiply), (source, source, result), result
    yield f"add.{kind}", np.add, (unsigned, unsigned), unsigned
    yield f"sub.{kind}", np.subtract, (unsigned, unsigned), unsigned
    yield f"div.{kind}", integers.quotient, (kind, kind), kind
    yield f"rem.{kind}", integers.remainder, (kind, kind), kind
    yield f"min.{kind}", np.minimum, (kind, kind), kind
    yield f"max.{kind}", np.maximum, (kind, kind), kind
    if kind[0] == "s":
        yield f"neg.{kind}", np.negative, (kind,), kind
        yield f"abs.{kind}", np.abs, (kind,), kind


def _with_sum(multiply: Function) -> Function:
    return lambda a, b, c: multiply(a, b) + c


def _of_floats(kind: str) -> Iterator[Entry]:
    """numpy's own are right: IEEE floats rounded to nearest. With the GPU's one NaN; of float64 numpy's will do."""

    def nan(function: Function) -> Function:
        return function if kind == "f64" else lambda *sources: floats.with_one_nan(function(*sources))

    for name, function in _SUMS.items():
        for rounding in ("", "rn."):
            yield f"{name}.{rounding}{kind}", nan(function), (kind, kind), kind
    if kind == "f16":
        return
    two: dict[str, Function] = {"div.rn": np.divide, "min": _smaller, "max": _larger}
    for name, function in two.items():
        yield f"{name}.{kind}", nan(function), (kind, kind), kind
    one: dict[str, Function] = {"neg": np.negative, "abs": np.abs, "sqrt.rn": np.sqrt, "rcp.rn": _reciprocal}
    for name, function in one.items():
        yield f"{name}.{kind}", nan(function), (kind,), kind


def _reciprocal(a: Values) -> Values:
    return np.asarray(np.divide(a.dtype.type(1), a))


def _smaller(a: Values, b: Values) -> Values:
    # Of two zeros, numpy takes either; PTX the negative one.
    return np.where(a == b, np.where(np.signbit(a), a, b), np.fmin(a, b))


def _larger(a: Values, b: Values) -> Values:
    return np.where(a == b, np.where(np.signbit(a), b, a), np.fmax(a, b))


def _chosen(a: Values, b: Values, predicate: Values) -> Values:
    return np.where(predicate, a, b)


def _comparisons(kind: str) -> Iterator[Entry]:
    found = _COMPARISONS | _OF_UNSIGNED if kind not in FLOATS else _of_numbers_and_nan()
    for name, compare in found.items():
        yield f"setp.{name}.{kind}", compare, (kind, kind), "pred"
        for combination, logical in _LOGICAL.items():
            yield f"setp.{name}.{combination}.{kind}", _combined(compare, logical), (kind, kind, "pred"), "pred"


def _combined(compare: Function, logical: Function) -> Function:
    return lambda a, b, p: logical(compare(a, b), p)


def _of_numbers_and_nan() -> dict[str, Function]:
    """Ordered comparisons, which are false of NaN, and those with a "u", which are true of it."""
    # numpy's "not equal" is true of NaN.
    ordered = {**_COMPARISONS, "ne": lambda a, b: (a < b) | (a > b)}
    return {
        **ordered,
        **{f"{name}u": _or_nan(compare) for name, compare in ordered.items()},
        "num": lambda a, b: ~_any_nan(a, b),
        "nan": _any_nan,
    }


def _or_nan(compare: Function) -> Function:
    return lambda a, b: compare(a, b) | _any_nan(a, b)


def _any_nan(a: Values, b: Values) -> Values:
    return np.asarray(np.isnan(a) | np.isnan(b))


def _of_pairs(entries: Sequence[Entry]) -> Iterator[Entry]:
    """Two numbers of 16 bits in a register, each computed with as one alone."""
    fused: list[Entry] = [(f"fma.rn.{kind}", _FUSED[kind], (kind,) * 3, kind) for kind in ("f16", "bf16")]
    for opcode, compute, sources, result in [*entries, *fused]:
        if set(sources) <= {"f16", "bf16"} and result == sources[0] and not opcode.startswith(("cvt", "setp", "selp")):
            dtype = NUMPY[result]
            yield f"{opcode}x2", partial(_in_halves, compute, dtype), ("b32",) * len(sources), "b32"


def _in_halves(compute: Function, dtype: np.dtype[Any], *sources: Values) -> Values:
    halves = []
    for shift in (np.uint32(0), np.uint32(16)):
        numbers = [(each >> shift).astype(np.uint16).view(dtype) for each in sources]
        halves.append(np.asarray(compute(*numbers)).astype(dtype).view(np.uint16).astype(np.uint32))
    low, high = halves
    return np.asarray(low | (high << np.uint32(16)))


def _of_bit_fields() -> Iterator[Entry]:
    for bits in ("32", "64"):
        signless = f"b{bits}"
        yield f"bfe.u{bits}", integers.field_extract(f"u{bits}"), (f"u{bits}", "u32", "u32"), f"u{bits}"
        yield f"bfe.s{bits}", integers.signed_field(f"s{bits}"), (f"s{bits}", "u32", "u32"), f"s{bits}"
        yield f"bfi.{signless}", integers.field_insert(signless), (signless, signless, "u32", "u32"), signless
        yield f"popc.{signless}", integers.count_ones, (signless,), "u32"
        yield f"brev.{signless}", integers.reversed_bits, (signless,), signless
    yield "prmt.b32", integers.permuted, ("b32", "b32", "b32"), "b32"
    for side in "lr":
        for mode in ("wrap", "clamp"):
            shift = integers.funnel_shift(side == "l", mode == "wrap")
            yield f"shf.{side}.{mode}.b32", shift, ("b32", "b32", "u32"), "b32"
