"""Integer arithmetic.

Reference: PTX ISA, "Integer Arithmetic Instructions" and "Extended-Precision Integer Arithmetic Instructions".
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import partial

import numpy as np

from mmcore_emulator.isa.arithmetic.float_operations import in_halves
from mmcore_emulator.isa.entries import Compute, Family, Function
from mmcore_emulator.numerics.types import NUMPY, DType, Values
from mmcore_emulator.ptx.types import BITS, INTEGERS

_Row = tuple[str, Function, tuple[str, ...], str]
"""An opcode, and its function, source types and result type."""


def _wrapping() -> Iterator[_Row]:
    """Yield integer arithmetic, shifts and logic of two operands."""
    for kind in INTEGERS:
        yield from _of_integers(kind)
    for kind in (*INTEGERS, *BITS):
        yield f"shl.{kind}", shifted(np.left_shift, kind), (kind, "u32"), kind
        yield f"shr.{kind}", shifted(np.right_shift, kind), (kind, "u32"), kind
    for kind in (*BITS, "pred"):
        for name, function in (("and", np.bitwise_and), ("or", np.bitwise_or), ("xor", np.bitwise_xor)):
            yield f"{name}.{kind}", function, (kind, kind), kind
        yield f"not.{kind}", np.invert, (kind,), kind
    for kind in BITS:
        yield f"cnot.{kind}", lambda a: (a == 0).astype(a.dtype), (kind,), kind
    for one, other in itertools.product(("s32", "u32"), repeat=2):
        result = min(one, other)  # signed if one of them is
        yield f"dp4a.{one}.{other}", dot_product, (one, other, result), result
        for half, first in (("lo", 0), ("hi", 2)):
            yield f"dp2a.{half}.{one}.{other}", partial(dot_product_of_two, first), (one, other, result), result
    for kind in ("s32", "u32"):
        for part in ("lo", "hi"):
            product = partial(product24, part == "hi")
            yield f"mul24.{part}.{kind}", product, (kind, kind), kind
            yield f"mad24.{part}.{kind}", _with_sum(product), (kind,) * 3, kind
    yield "mad24.hi.sat.s32", _with_clamped_sum(partial(product24, True)), ("s32",) * 3, "s32"
    yield "mad.hi.sat.s32", _with_clamped_sum(high_half("s32")), ("s32",) * 3, "s32"
    yield "add.sat.s32", lambda a, b: clamped(a.astype(np.int64) + b), ("s32", "s32"), "s32"
    yield "sub.sat.s32", lambda a, b: clamped(a.astype(np.int64) - b), ("s32", "s32"), "s32"
    for name, pick in (("min", np.minimum), ("max", np.maximum)):
        yield f"{name}.relu.s32", partial(_not_negative, pick), ("s32", "s32"), "s32"
        relu = partial(in_halves, partial(_not_negative, pick), NUMPY["s16"])
        yield f"{name}.relu.s16x2", relu, ("b32", "b32"), "b32"
    for name, of_two in (("add", np.add), ("min", np.minimum), ("max", np.maximum)):
        for kind in ("s16", "u16"):
            yield f"{name}.{kind}x2", partial(in_halves, of_two, NUMPY[kind]), ("b32", "b32"), "b32"


def _of_integers(kind: str) -> Iterator[_Row]:
    # Wrapping arithmetic is the same for signed and unsigned numbers.
    unsigned = f"u{kind[1:]}"
    products: list[tuple[str, Function, str, str]] = [("lo", np.multiply, unsigned, unsigned)]
    products.append(("hi", high_half(kind), kind, kind))
    if kind[1:] != "64":
        products.append(("wide", whole_product(kind), kind, f"{kind[0]}{2 * int(kind[1:])}"))
    for part, multiply, source, result in products:
        yield f"mul.{part}.{kind}", multiply, (source, source), result
        yield f"mad.{part}.{kind}", _with_sum(multiply), (source, source, result), result
    yield f"add.{kind}", np.add, (unsigned, unsigned), unsigned
    yield f"sub.{kind}", np.subtract, (unsigned, unsigned), unsigned
    yield f"div.{kind}", quotient, (kind, kind), kind
    yield f"rem.{kind}", remainder, (kind, kind), kind
    yield f"min.{kind}", np.minimum, (kind, kind), kind
    yield f"max.{kind}", np.maximum, (kind, kind), kind
    yield f"sad.{kind}", lambda a, b, c: c + np.where(a < b, b - a, a - b), (kind,) * 3, kind
    if kind[0] == "s":
        yield f"neg.{kind}", np.negative, (kind,), kind
        yield f"abs.{kind}", np.abs, (kind,), kind


def _with_sum(multiply: Function) -> Function:
    return lambda a, b, c: multiply(a, b) + c


def _with_clamped_sum(multiply: Function) -> Function:
    return lambda a, b, c: clamped(multiply(a, b).astype(np.int64) + c)


def _not_negative(pick: Function, a: Values, b: Values) -> Values:
    return np.asarray(np.maximum(pick(a, b), a.dtype.type(0)))


def clamped(values: Values) -> Values:
    """Return int64 numbers clamped to int32."""
    return np.clip(values, -(2**31), 2**31 - 1).astype(np.int32)


def _with_carries() -> Iterator[tuple[str, Compute]]:
    """Yield sums and differences with a carry, as the last operand or the second result."""
    for kind, (name, function) in itertools.product(
        ("u32", "s32", "u64", "s64"), (("add", _sum_and_carry), ("sub", _difference_and_borrow))
    ):
        unsigned = f"u{kind[1:]}"
        yield from _carrying(name, kind, (unsigned, unsigned), function)
        if name == "add":
            for part in ("lo", "hi"):
                multiply = np.multiply if part == "lo" else high_half(kind)
                source = unsigned if part == "lo" else kind
                product = partial(_product_sum_and_carry, multiply, NUMPY[unsigned])
                yield from _carrying(f"mad.{part}", kind, (source, source, unsigned), product)


def _carrying(name: str, kind: str, sources: tuple[str, ...], function: Function) -> Iterator[tuple[str, Compute]]:
    first, dot, part = name.partition(".")
    result = f"u{kind[1:]}"
    with_carry = (*sources, "pred")
    yield f"{name}.cc.{kind}", Compute(function, sources, result, also="pred")
    yield f"{first}c{dot}{part}.cc.{kind}", Compute(function, with_carry, result, also="pred")
    yield f"{first}c{dot}{part}.{kind}", Compute(lambda *operands: function(*operands)[0], with_carry, result)


def _sum_and_carry(a: Values, b: Values, *carry: Values) -> tuple[Values, Values]:
    total = a + b
    out = total < a
    for carry_in in carry:
        total = total + carry_in.astype(a.dtype)
        out = out | (carry_in & (total == 0))
    return total, out


def _difference_and_borrow(a: Values, b: Values, *borrow: Values) -> tuple[Values, Values]:
    total, out = a - b, a < b
    for borrow_in in borrow:
        out = out | (borrow_in & (total == 0))
        total = total - borrow_in.astype(a.dtype)
    return total, out


def _product_sum_and_carry(
    multiply: Function, dtype: DType, a: Values, b: Values, c: Values, *carry: Values
) -> tuple[Values, Values]:
    return _sum_and_carry(np.asarray(multiply(a, b)).view(dtype), c, *carry)


def product24(high: bool, a: Values, b: Values) -> Values:
    """Return the lower or upper 32 bits of the 48-bit product of the lower 24 bits (``mul24``)."""
    wide = np.dtype(np.int64 if a.dtype.kind == "i" else np.uint64)
    place = wide.type(40)
    one, other = ((operand.astype(wide) << place) >> place for operand in (a, b))
    product = one * other
    return np.asarray((product >> wide.type(16) if high else product).astype(a.dtype))


def quotient(a: Values, b: Values) -> Values:
    """Return a / b, truncated towards zero; division by zero gives all ones, as in ptxas's code."""
    return np.where(b == 0, ~np.zeros_like(b), (a - np.fmod(a, b)) // b)


def remainder(a: Values, b: Values) -> Values:
    """Return the remainder of :func:`quotient`."""
    return np.where(b == 0, ~np.zeros_like(b), np.fmod(a, b))


def whole_product(kind: str) -> Function:
    """Return a·b in twice the bits."""
    wide = np.dtype(f"{'int' if kind[0] == 's' else 'uint'}{2 * int(kind[1:])}")
    return lambda a, b: np.multiply(a, b, dtype=wide)


def dot_product(a: Values, b: Values, c: Values) -> Values:
    """Return c plus the products of the bytes of a and b (``dp4a``), which have the signedness of their types."""

    def byte(number: int, of: Values) -> Values:
        last = of.dtype.type(24)
        return np.asarray((of << of.dtype.type(24 - 8 * number)) >> last, c.dtype)

    return np.asarray(sum((byte(number, a) * byte(number, b) for number in range(4)), c))


def high_half(kind: str) -> Function:
    """Return the high half of :func:`whole_product`."""
    if kind[1:] == "64":
        return _high_signed64 if kind[0] == "s" else _high_unsigned64
    product, narrow = whole_product(kind), NUMPY[kind]
    return lambda a, b: (product(a, b) >> int(kind[1:])).astype(narrow)


def _high_unsigned64(a: Values, b: Values) -> Values:
    half, mask = np.uint64(32), np.uint64(0xFFFFFFFF)
    a_high, a_low, b_high, b_low = a >> half, a & mask, b >> half, b & mask
    middle = a_high * b_low + (a_low * b_low >> half)
    return np.asarray(a_high * b_high + (middle >> half) + ((a_low * b_high + (middle & mask)) >> half))


def _high_signed64(a: Values, b: Values) -> Values:
    unsigned = _high_unsigned64(a.view(np.uint64), b.view(np.uint64)).view(np.int64)
    return np.asarray(unsigned - np.where(a < 0, b, 0) - np.where(b < 0, a, 0))


def shifted(function: Function, kind: str) -> Function:
    """Return a shift; numpy, like PTX, shifts everything out for amounts beyond the width."""
    dtype = NUMPY[kind]
    return lambda a, amount: function(a, np.minimum(amount, 64).astype(dtype))


def dot_product_of_two(first: int, a: Values, b: Values, c: Values) -> Values:
    """Return c plus the products of the halves of a and two bytes of b, from number ``first`` on (``dp2a``)."""

    def part(of: Values, number: int, bits: int) -> Values:
        return np.asarray((of << of.dtype.type(32 - bits * (number + 1))) >> of.dtype.type(32 - bits), c.dtype)

    return np.asarray(sum((part(a, number, 16) * part(b, first + number, 8) for number in range(2)), c))


def _algebra(opcode: str) -> str:
    """Return the polynomial of integer arithmetic whose result has all its bits; "" for none."""
    name, *parts = opcode.split(".")
    if name in ("mul", "mad"):
        return {"mul": "mul", "mad": "fma"}[name] if parts[0] in ("lo", "wide") else ""
    plain = len(parts) == 1 and not parts[0].endswith("x2")
    return {"add": "add", "sub": "sub", "neg": "neg", "dp4a": "dot4"}.get(name, "") if plain or name == "dp4a" else ""


def _exact() -> Iterator[tuple[str, Compute]]:
    rules = {"shl": "shift", "shr": "shift", **{name: name for name in ("and", "or", "xor", "not")}}
    for opcode, compute, sources, result in _wrapping():
        rule = rules.get(opcode.partition(".")[0], "")
        algebra = "bits" if rule else _algebra(opcode)
        yield opcode, Compute(compute, sources, result, rule=rule, algebra=algebra, data=int(rule == "shift"))
    yield from _with_carries()


FAMILY = Family(
    "Integer arithmetic and logic",
    exact=_exact,
    passes=("and", "or", "xor", "shl", "shr"),
    since=(((9, 0), r"(add|min|max)\..*[us]16x2|(min|max)\.relu\.s32"),),
    proof="polynomial: `add`, `sub`, `mul`, `mad`, `neg`, `dp4a`; moves: logic, shifts; others opaque",
)
