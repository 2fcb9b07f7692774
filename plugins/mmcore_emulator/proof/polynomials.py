"""Arithmetic on elements of the field, with bounds of the rounding errors.

Each element x̂ that a kernel computes for a polynomial x has |x̂ − x| ≤ e·|x|. Here |x| is the sum of the magnitudes of
all terms (Higham, Accuracy and Stability of Numerical Algorithms, chapter 3). A sum has the larger bound of its terms,
and a product (1 + e)(1 + f) − 1; each rounding multiplies by 1 + u. Overflow and underflow are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from mmcore_emulator.isa.entries import Compute
from mmcore_emulator.numerics.types import NUMPY, Values
from mmcore_emulator.proof import field
from mmcore_emulator.proof.kinds import as_numbers, is_integer
from mmcore_emulator.proof.splits import is_exact, is_zero, narrowed, negated, product, total
from mmcore_emulator.proof.table import Table
from mmcore_emulator.proof.values import Elements, Parts, Shadow
from mmcore_emulator.ptx.instructions import Instruction

ZEROS = field.zeros(())
_NO_SUM = "computes no sum of products"
BY_ZERO = "multiplies a value of a matrix by zero, which is NaN for NaN and infinities"


def whole(
    table: Table, semantics: Compute, at: Instruction, values: Sequence[Values], shadows: Sequence[Shadow]
) -> Shadow:
    """Return the second value of an instruction that computes one number."""
    kind = semantics.number or _kind(semantics.result)
    if semantics.algebra == "copy" and kind[0] in "su":
        return _converted(table, semantics, at, values, shadows, kind)
    return _computed(table, semantics, at, values, shadows, semantics.sources, kind)


def in_parts(
    table: Table, semantics: Compute, at: Instruction, values: Sequence[Values], shadows: Sequence[Shadow]
) -> Shadow:
    """Return the second value of an instruction that computes with both halves of registers."""
    kind = semantics.halves_of or semantics.halves
    split = [table.parts(shadow, 2, value.dtype) for shadow, value in zip(shadows, values, strict=True)]
    results = []
    for number in range(2):
        halves = [part(value, number, 2) for value in values]
        given = [parts[number] for parts in split]
        kinds = (kind,) * len(halves)
        some = any(each is not None for each in given)
        results.append(_computed(table, semantics, at, halves, given, kinds, semantics.halves) if some else None)
    return Parts(tuple(results))


def paired(
    table: Table, semantics: Compute, at: Instruction, values: Sequence[Values], shadows: Sequence[Shadow]
) -> Shadow:
    """Return the second value of two numbers that are converted into one register, the second in the lower half."""
    one = replace(semantics, algebra="copy")
    parts = [
        None if shadow is None else _computed(table, one, at, [value], [shadow], [kind], semantics.halves)
        for value, shadow, kind in zip(values, shadows, semantics.sources, strict=True)
    ]
    return Parts((parts[1], parts[0]))


def dot_product(
    table: Table, semantics: Compute, at: Instruction, values: Sequence[Values], shadows: Sequence[Shadow]
) -> Shadow:
    """Return the second value of ``dp4a``: a number plus the products of four pairs of bytes."""
    a, b, total = semantics.sources
    table.reader = at
    result = table.resolved(shadows[2], values[2], total)
    kinds = [f"{kind[0]}8" for kind in (a, b)]
    split = [table.parts(shadow, 4, value.dtype) for shadow, value in zip(shadows[:2], values[:2], strict=True)]
    for number in range(4):
        factors = [
            table.resolved(parts[number], part(value, number, 4).view(NUMPY[kind]), kind)
            for parts, value, kind in zip(split, values[:2], kinds, strict=True)
        ]
        result = combined("fma", [*factors, result], 0.0, total)
    return result


def opaque(
    table: Table, semantics: Compute, at: Instruction, values: Sequence[Values], shadows: Sequence[Shadow]
) -> Shadow:
    """Return an opaque result."""
    given = [shadow for shadow in shadows if shadow is not None]
    return opaque_of(table, at, given, semantics.result)


def opaque_of(
    table: Table, at: Instruction, given: Sequence[Shadow], kind: str, text: str = _NO_SUM
) -> Elements | None:
    """Return an opaque result in the lanes where one of the sources depends on a matrix."""
    lanes = np.logical_or.reduce(np.broadcast_arrays(*(table.dependent(shadow) for shadow in given)))
    if not lanes.any():
        return None
    reason = np.where(lanes, np.int32(table.reason("opaque", text, at)), np.int32(0))
    for shadow in given:
        if isinstance(shadow, Elements) and shadow.reason is not None:
            reason = np.where(shadow.reason != 0, shadow.reason, reason)
    return Elements(ZEROS, np.zeros(()), _kind(kind), ~lanes, reason)


def _computed(
    table: Table,
    semantics: Compute,
    at: Instruction,
    values: Sequence[Values],
    shadows: Sequence[Shadow],
    kinds: Sequence[str],
    result: str,
) -> Elements | None:
    """Return the result of a polynomial; in lanes whose operands depend on no matrix, it depends on none."""
    kinds, given = [*map(_kind, kinds)], [each for each in shadows if each is not None]
    if text := _refusal(table, semantics.algebra, shadows, kinds, result):
        return opaque_of(table, at, given, result, text)
    if is_integer(result) and any(table.signed(shadow).any() for shadow in shadows):
        result = f"s{result[1:]}"
    table.reader = at
    sources = list(zip(shadows, values, kinds, strict=True))
    operands = [table.resolved(*each) for each in sources]
    if semantics.algebra in ("mul", "fma") and not is_integer(kinds[0]):
        operands = _without_zeros(table, at, operands, shadows)
    unit = _unit(table, semantics, sources, result)
    narrows = semantics.algebra == "copy" and bool(unit) and not is_integer(kinds[0])
    table.narrows |= narrows and bool(is_exact(operands[0]).any())
    if narrows and table.symbols:
        made = replace(narrowed(operands[0], semantics.unit, table.symbols, at.mnemonic), kind=result)
    else:
        made = combined(semantics.algebra, operands, unit, result)
    known = ~np.logical_or.reduce(np.broadcast_arrays(*map(table.dependent, given)))
    return replace(made, known=made.is_known | known) if known.any() else made


def _unit(
    table: Table, semantics: Compute, sources: Sequence[tuple[Shadow, Values, str]], result: str
) -> Values | float:
    """Return the bound of the rounding of a result; 0 where it is exact."""
    if not semantics.unit or (semantics.algebra == "copy" and table.holds(sources[0][0], result)):
        return 0.0
    if semantics.algebra == "mul" and table.symbols:
        one, other = (_is_scale(table, *each) for each in sources)
        return np.where(one | other, 0.0, semantics.unit)
    return semantics.unit


def _is_scale(table: Table, shadow: Shadow, value: Values, kind: str) -> Values:
    """Return True where a factor depends on no matrix and is a power of two."""
    power = np.abs(np.frexp(as_numbers(value, kind).astype(np.float64))[0]) == 0.5
    return np.asarray(power if shadow is None else power & ~table.dependent(shadow))


def _without_zeros(
    table: Table, at: Instruction, operands: Sequence[Elements], shadows: Sequence[Shadow]
) -> list[Elements]:
    """Return the operands of a product, opaque where one factor depends on a matrix and the other is a plain zero."""
    result = list(operands)
    for factor, other in ((0, 1), (1, 0)):
        if shadows[other] is None or not (zero := is_zero(operands[factor])).any():
            continue
        zero = zero & table.dependent(shadows[other]) & ~table.dependent(shadows[factor])
        if zero.any():
            reason = np.where(zero, np.int32(table.reason("opaque", BY_ZERO, at)), result[factor].opaque)
            result[factor] = replace(result[factor], reason=reason)
    return result


def _refusal(table: Table, algebra: str, shadows: Sequence[Shadow], kinds: Sequence[str], result: str) -> str:
    """Return the reason why a result is no polynomial, or may be another integer in its type; "" if there is none."""
    if algebra == "div" and shadows[1] is not None and table.dependent(shadows[1]).any():
        return _NO_SUM
    if not is_integer(kinds[0]):
        return ""
    size = NUMPY[kinds[0]].itemsize
    extends = not is_integer(result) or NUMPY[result].itemsize > size
    if extends and kinds[0][0] == "u" and any(table.signed(shadow).any() for shadow in shadows):
        return "extends a signed number of a matrix by zeros"
    if algebra in ("add", "sub", "fma", "neg") and not extends and size < 4:
        return "computes a sum in less than 32 bits, which may wrap around"
    return ""


def _converted(
    table: Table, semantics: Compute, at: Instruction, values: Sequence[Values], shadows: Sequence[Shadow], kind: str
) -> Shadow:
    """Return the second value of a conversion between integer types, which moves bytes unless it extends a sign."""
    (shadow,), source = shadows, semantics.sources[0]
    of, to = NUMPY[source].itemsize, NUMPY[kind].itemsize
    if shadow is None or isinstance(shadow, Elements):
        if shadow is not None and table.size(shadow) > min(of, to):
            return opaque_of(table, at, [shadow], kind, "cuts off bits of a value of a matrix")
        if shadow is not None and table.size(shadow) == to and is_integer(shadow.kind):
            return table.bytes_of(shadow)
        return _computed(table, semantics, at, values, shadows, semantics.sources, kind)
    low = table.bytes(shadow, np.dtype(f"u{min(of, to)}"))
    if source[0] == "s" and to > of:
        return table.elements_of(low, source)
    return table.bytes(low, NUMPY[kind])


def combined(algebra: str, operands: Sequence[Elements], unit: Values | float, kind: str) -> Elements:
    """Return the result of a polynomial of elements that are all resolved; ``unit`` bounds its rounding."""
    first, *others = operands
    splits = any(each.splits is not None for each in operands)
    if algebra in ("mul", "fma", "div"):
        second, *rest = others
        if algebra == "div":
            inverse = second.magnitude and field.inverse(second.magnitude)
            second = replace(second, residues=field.inverse(second.residues), magnitude=inverse)
        error = first.error + second.error + first.error * second.error
        if rest:
            error = np.maximum(error, rest[0].error)
        if splits:
            made = product(first, second, field.multiply, *rest)
        else:
            residues, magnitude = _products(first, second, *rest)
            made = replace(first, residues=residues, magnitude=magnitude)
    elif algebra in ("add", "sub"):
        (second,) = others
        error, of = np.maximum(first.error, second.error), field.add if algebra == "add" else field.subtract
        if splits:
            made, unit = total(first, second, of, unit)
        else:
            magnitude = None
            if algebra == "sub" or first.magnitude is not None or second.magnitude is not None:
                magnitude = field.add(first.magnitudes, second.magnitudes)
            made = replace(first, residues=of(first.residues, second.residues), magnitude=magnitude)
    elif algebra == "neg":
        error, made = first.error, negated(first)
    else:
        error, made = first.error, first
    if np.any(unit):
        error = error + unit + error * unit
    return replace(made, error=np.asarray(error), kind=kind, known=None, reason=first_reason(operands))


def _products(a: Elements, b: Elements, *rest: Elements) -> tuple[field.Residues, field.Residues | None]:
    """Return a · b, plus the third element if there is one, and the sum of the magnitudes if it differs."""
    exact = [each.residues for each in (a, b, *rest)]
    make = field.multiply_add if rest else field.multiply
    magnitudes = None
    if any(each.magnitude is not None for each in (a, b, *rest)):
        magnitudes = make(*(each.magnitudes for each in (a, b, *rest)))
    return make(*exact), magnitudes


def first_reason(operands: Sequence[Elements]) -> Values | None:
    """Return the reason why the result of some elements is opaque, from the first opaque one."""
    reason: Values | None = None
    for each in operands:
        if each.reason is not None:
            reason = each.reason if reason is None else np.where(reason != 0, reason, each.reason)
    return reason


def _kind(kind: str) -> str:
    return f"u{kind[1:]}" if kind[0] == "b" and kind != "bf16" else kind


def part(value: Values, number: int, count: int) -> Values:
    """Return one of the equal parts of a register, the first in its lowest bits, as unsigned numbers."""
    bits, size = value.view(np.dtype(f"u{value.itemsize}")), value.itemsize // count
    return np.asarray((bits >> bits.dtype.type(8 * size * number)).astype(f"u{size}"))
