"""Products of matrices by tensor cores, on elements of the field."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from mmcore_emulator.isa.asynchronous.wgmma_actions import WarpGroups, scales
from mmcore_emulator.isa.asynchronous.wgmma_operands import ROWS, WgmmaKind
from mmcore_emulator.isa.entries import MatrixProduct
from mmcore_emulator.machine.machine import Execution
from mmcore_emulator.numerics.types import NUMPY, Values
from mmcore_emulator.proof import field
from mmcore_emulator.proof.kinds import is_integer
from mmcore_emulator.proof.polynomials import BY_ZERO, part
from mmcore_emulator.proof.splits import is_zero, magnitudes_of, product, residues_of, with_orders
from mmcore_emulator.proof.table import Table
from mmcore_emulator.proof.tokens import PLANES
from mmcore_emulator.proof.values import Bytes, Elements, Parts, Shadow, joined
from mmcore_emulator.tensor_cores.arithmetic import Arithmetic
from mmcore_emulator.tensor_cores.fragments import Fragment, wgmma_a, wgmma_d

if TYPE_CHECKING:
    from mmcore_emulator.proof.domain import FieldDomain

_Rows = Callable[[Values], Values]
_Registers = Sequence[Values]
_UNITS = {"f32": 2.0**-23, "float22": 2.0**-13, "f16": 2.0**-11, "f16 of float22": 2.0**-11 + 2.0**-13}


def multiplied(
    domain: FieldDomain,
    product: MatrixProduct,
    execution: Execution,
    operands: Sequence[_Registers],
    shadows: Sequence[Sequence[Shadow]],
    results: Sequence[Values],
) -> Sequence[Shadow]:
    """Return the second values of the registers of D = A·B + C."""
    of_group = isinstance(product.kind, WgmmaKind)
    if not of_group and all(each is None for several in shadows for each in several):
        return [None] * len(results)
    matrices = 3 if not of_group else 2 if len(operands[1]) > 1 else 1
    domain.addressed(execution, chain.from_iterable(shadows[matrices:]))
    domain.table.reader = execution.at
    arithmetic = product.arithmetic(domain.capability)
    make = _of_warpgroups if of_group else _of_warps
    return make(domain, product.kind, arithmetic, execution, operands, shadows)


def _of_warps(
    domain: FieldDomain,
    kind: Any,
    arithmetic: Arithmetic,
    execution: Execution,
    operands: Sequence[_Registers],
    shadows: Sequence[Sequence[Shadow]],
) -> Sequence[Shadow]:
    warps = execution.machine.warps
    d, *fragments = kind.fragments()
    types = kind.a, kind.b, kind.c
    a, b, c = (
        _matrices(domain.table, *each, warps.rows) for each in zip(fragments, types, operands, shadows, strict=True)
    )
    by_zero = domain.table.reason("opaque", BY_ZERO, execution.at)
    return _dealt(domain.table, d, _product(a, b, c, arithmetic, kind.d, by_zero), warps.lanes)


def _of_warpgroups(
    domain: FieldDomain,
    kind: WgmmaKind,
    arithmetic: Arithmetic,
    execution: Execution,
    operands: Sequence[_Registers],
    shadows: Sequence[Sequence[Shadow]],
) -> Sequence[Shadow]:
    table, groups = domain.table, WarpGroups(execution)
    d, a, b, scale_d, *constants = operands
    settings = scales(kind, len(a) > 1, constants)
    held = wgmma_d(kind.n, kind.accumulator)
    c = _matrices(table, held, kind.accumulator, d, shadows[0], groups.rows)
    added = groups.one(scale_d[0])[:, np.newaxis, np.newaxis]
    c = _scaled(c, np.where(added, 1, 0))
    if len(a) > 1:
        left = _matrices(table, wgmma_a(kind.a), kind.a, a, shadows[1], groups.rows)
    else:
        left = _in_shared(domain, execution, groups, kind, a[0], ROWS, kind.a, "trans_a", settings)
    right = _in_shared(domain, execution, groups, kind, b[0], kind.n, kind.b, "trans_b", settings)
    left = _scaled(left, np.array(settings.get("scale_a", 1)))
    right = _scaled(_transposed(right), np.array(settings.get("scale_b", 1)))
    by_zero = table.reason("opaque", BY_ZERO, execution.at)
    return _dealt(table, held, _product(left, right, c, arithmetic, kind.accumulator, by_zero), groups.lanes)


def _in_shared(
    domain: FieldDomain,
    execution: Execution,
    groups: WarpGroups,
    kind: WgmmaKind,
    descriptor: Values,
    rows: int,
    type: str,
    name: str,
    constants: Mapping[str, int],
) -> Elements:
    """Return matrices in shared memory, by their descriptors."""
    machine = execution.machine
    planes = tuple(
        np.ascontiguousarray(groups.on(each).matrix(kind, descriptor, rows, type, name, constants))
        for each in domain.memory.machines(machine)
    )
    raw = groups.matrix(kind, descriptor, rows, type, name, constants)
    return domain.table.resolved(Bytes(planes), np.ascontiguousarray(raw), type)


def _matrices(
    table: Table, fragment: Fragment, type: str, registers: _Registers, shadows: Sequence[Shadow], rows: _Rows
) -> Elements:
    """Return the matrices that registers hold, as elements [W, rows, columns]."""
    if fragment.register_parts == 1 and any(isinstance(each, Elements) for each in shadows):
        kind = "f32" if type == "tf32" else type
        pairs = zip(shadows, registers, strict=True)
        held = [table.resolved(shadow, value.view(NUMPY[kind]), type) for shadow, value in pairs]
        return _arranged(fragment, [[each] for each in held], rows)
    if fragment.register_parts > 1 and any(isinstance(each, Parts) for each in shadows):
        count = fragment.register_parts
        split = [
            [
                table.resolved(each, part(value, number, count), type)
                for number, each in enumerate(table.parts(shadow, count, value.dtype))
            ]
            for shadow, value in zip(shadows, registers, strict=True)
        ]
        return _arranged(fragment, split, rows)
    held_bytes = [
        None if shadow is None else table.bytes(shadow, value.dtype)
        for shadow, value in zip(shadows, registers, strict=True)
    ]
    raw = fragment.unpack([rows(value) for value in registers])
    planes = []
    for rank in range(PLANES):
        given = [
            np.zeros(1, value.dtype) if each is None else each.planes[rank].view(value.dtype)
            for each, value in zip(held_bytes, registers, strict=True)
        ]
        plane = fragment.unpack([rows(np.broadcast_to(each, (1,) * 6) if each.ndim == 1 else each) for each in given])
        planes.append(np.ascontiguousarray(plane).view(f"u{plane.dtype.itemsize}"))
    return table.resolved(Bytes(tuple(planes)), np.ascontiguousarray(raw), type)


def _arranged(fragment: Fragment, registers: Sequence[Sequence[Elements]], rows: _Rows) -> Elements:
    """Return elements of registers and their parts as matrices."""
    count = len(registers[0])

    def arranged(*given: Values) -> Values:
        first = given[0].flat[0]
        if all(each.size == 1 and each.flat[0] == first for each in given):
            return np.asarray(first)
        parts = [given[start : start + count] for start in range(0, len(given), count)]
        return fragment.arranged(np.stack([np.stack([rows(each) for each in few], axis=-1) for few in parts], axis=1))

    return replace(joined(arranged, *(each for parts in registers for each in parts)), known=None)


def _product(a: Elements, b: Elements, c: Elements, arithmetic: Arithmetic, kind: str, by_zero: int) -> Elements:
    """Return A·B + C; ``by_zero`` is the reason for elements with a term that is a plain zero times a value."""
    m, k, n = a.residues[0].shape[-2], a.residues[0].shape[-1], b.residues[0].shape[-1]

    def multiply(left: field.Residues, right: field.Residues) -> field.Residues:
        return field.matrix_product(_full(left, m, k), _full(right, k, n))

    if any(each.splits is not None for each in (a, b, c)):
        made = product(a, b, multiply, c)
    else:
        magnitude = None
        if any(each.magnitude is not None for each in (a, b, c)):
            magnitude = field.add(multiply(a.magnitudes, b.magnitudes), c.magnitudes)
        made = replace(c, residues=field.add(multiply(a.residues, b.residues), c.residues), magnitude=magnitude)
    of_rows, of_columns = _largest(a.error, -1), _largest(b.error, -2)
    error = np.maximum(of_rows + of_columns + of_rows * of_columns, c.error)
    unit = rounding_of(arithmetic, k)
    reason = None
    if any(each.reason is not None for each in (a, b, c)):
        reason = np.maximum(_largest(a.opaque, -1), _largest(b.opaque, -2))
        reason = np.where(c.opaque != 0, c.opaque, reason)
    of_zeros = _of_zeros(a, b)
    if of_zeros.any():
        before = np.int32(0) if reason is None else reason
        reason = np.where(before, before, np.int32(by_zero) * of_zeros)
    return replace(made, error=np.asarray(error + unit + error * unit), kind=kind, reason=reason)


def _of_zeros(a: Elements, b: Elements) -> Values:
    """Return True for the elements of A·B with a term whose one factor alone is zero."""
    m, k, n = a.residues[0].shape[-2], a.residues[0].shape[-1], b.residues[0].shape[-1]
    left, right = is_zero(a), is_zero(b)
    if is_integer(a.kind) or not (left.any() or right.any()):
        return np.zeros((), np.bool_)
    left = np.broadcast_to(left, (*left.shape[:-2], m, k)).astype(np.float32)
    right = np.broadcast_to(right, (*right.shape[:-2], k, n)).astype(np.float32)
    return np.asarray(left @ (1 - right) + (1 - left) @ right > 0)


def _largest(values: Values, axis: int) -> Values:
    return values if values.ndim == 0 else values.max(axis=axis, keepdims=True)


def _full(residues: field.Residues, rows: int, columns: int) -> field.Residues:
    one, other = (np.broadcast_to(each, (*each.shape[:-2], rows, columns)) for each in residues)
    return one, other


def rounding_of(arithmetic: Arithmetic, k: int) -> float:
    """Return a bound of the error of a product of ``k`` terms, relative to the sum of their magnitudes.

    In a step, each product and C lose less than a unit of the last kept place of the largest of them, and the result is
    cut off or rounded.
    """
    match arithmetic.result:
        case "s32":
            return 0.0
        case "f64":
            return math.expm1(k * math.log1p(2.0**-53))
    unit = _UNITS[arithmetic.result]
    if arithmetic.subroutine:
        return math.expm1((arithmetic.at_once + 1) * math.log1p(2.0**-24) + math.log1p(unit))
    steps = -(-k // arithmetic.at_once)
    of_step = (arithmetic.at_once + 1) * 2.0**-arithmetic.kept + unit
    return math.expm1(steps * math.log1p(of_step) + (math.log1p(unit) if arithmetic.unpacked else 0.0))


def _scaled(matrix: Elements, by: Values) -> Elements:
    """Return elements times 1, 0 or −1."""
    if (by == 1).all():
        return matrix
    factors = field.of_numbers(by), field.of_numbers(np.abs(by))
    residues, magnitudes = (
        [field.multiply(each, factor) for each in parts]
        for parts, factor in zip((residues_of(matrix), magnitudes_of(matrix)), factors, strict=True)
    )
    made = with_orders(matrix, residues, magnitudes)
    reason = None if matrix.reason is None else np.where(by == 0, 0, matrix.reason)
    if matrix.splits is None:
        same = matrix.magnitude is None and (by >= 0).all()
        made = replace(made, splits=None, magnitude=None if same else magnitudes[0])
    return replace(made, error=np.where(by == 0, 0.0, matrix.error), known=None, reason=reason)


def _transposed(matrix: Elements) -> Elements:
    return joined(lambda values: values.swapaxes(-1, -2) if values.ndim > 1 else values, matrix)


def _dealt(table: Table, fragment: Fragment, matrices: Elements, lanes: _Rows) -> Sequence[Shadow]:
    """Return the second values of the registers that hold matrices."""
    shape = matrices.residues[0].shape

    dealt: dict[int, Values] = {}  # components of the matrices, register by register

    def element(register: int, part: int) -> Elements:
        def of(values: Values) -> Values:
            if values.size == 1:
                return values.reshape((1,) * 6)
            if id(values) not in dealt:
                dealt[id(values)] = fragment.dealt(np.broadcast_to(values, shape))
            return lanes(dealt[id(values)][:, register, :, part])

        return joined(of, matrices)

    parts = fragment.register_parts
    made: list[Shadow] = []
    for register in range(fragment.register_count):
        one = [element(register, part) for part in range(parts)]
        made.append(one[0] if parts == 1 else Parts(tuple(one)))
    return made
