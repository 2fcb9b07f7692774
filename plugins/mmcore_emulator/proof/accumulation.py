"""Sums in memory: atomic additions and reductions of elements of the field."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from mmcore_emulator.isa.entries import Execute, MemoryAccess
from mmcore_emulator.machine.machine import Execution
from mmcore_emulator.machine.memory.arrays import RANK_SHIFT, SHARED_WINDOW
from mmcore_emulator.numerics.types import NUMPY, Values
from mmcore_emulator.proof import field
from mmcore_emulator.proof.polynomials import first_reason, opaque_of, part
from mmcore_emulator.proof.splits import magnitudes_of, residues_of, with_orders
from mmcore_emulator.proof.values import Bytes, Elements, Shadow, joined
from mmcore_emulator.ptx.instructions import Instruction

if TYPE_CHECKING:
    from mmcore_emulator.proof.domain import FieldDomain

UNITS = {"f32": 2.0**-24, "f64": 2.0**-53, "f16": 2.0**-11, "bf16": 2.0**-8}


def accumulated(
    domain: FieldDomain,
    semantics: Execute,
    execution: Execution,
    operands: Sequence[Sequence[Values]],
    shadows: Sequence[Sequence[Shadow]],
    results: Sequence[Values],
) -> Sequence[Shadow]:
    """Add elements to those in memory, before the instruction itself does."""
    access, ((address, *_), values, *_) = semantics.adds, operands
    assert access is not None
    domain.addressed(execution, shadows[0])
    if execution.idle:
        return [None] * len(results)
    kind, packed = access.type.removesuffix("x2"), access.type.endswith("x2")
    one = replace(access, dtype=NUMPY[kind], type=kind)
    refused = ""
    for number, (value, shadow) in enumerate(zip(values, shadows[1], strict=True)):
        place = address + np.uint64(number * access.dtype.itemsize)
        if not packed:
            refused = _added(domain, one, execution, place, value, shadow, bool(results)) or refused
            continue
        for half, of_half in enumerate(domain.table.parts(shadow, 2, value.dtype)):
            beside = place + np.uint64(half * one.dtype.itemsize)
            given = part(value, half, 2).view(one.dtype)
            refused = _added(domain, one, execution, beside, given, of_half, bool(results)) or refused
    if refused:
        domain.path("opaque", refused, execution.at)
        return [_unknown(domain, execution.at, f"u{8 * value.itemsize}") for value in results]
    return [None] * len(results)


def _added(
    domain: FieldDomain,
    access: MemoryAccess,
    execution: Execution,
    address: Values,
    value: Values,
    shadow: Shadow,
    is_read: bool,
) -> str:
    """Add an element of each lane to those in memory; return the reason if that is not possible, else ""."""
    machine, mask, at = execution
    kind = access.type
    old_bytes = _tokens(domain, execution, access, address)
    if shadow is None and not any(plane.any() for plane in old_bytes.planes):
        return ""
    if is_read or _is_remote(access.space, address):
        return "reads an element in memory while it adds to it" if is_read else "adds in another block's shared memory"
    before = machine.memory.peek(access.space, address, access.dtype, mask)
    domain.table.reader = at
    old = domain.table.resolved(old_bytes, before, kind)
    new = domain.table.resolved(shadow, value, kind)
    lanes = machine.batch.spread(mask)
    keys = np.broadcast_to(_places(execution, access.space, address), lanes.shape)[lanes]
    _, first, group = np.unique(keys, return_index=True, return_inverse=True)
    made = _sum(_of_lanes(old, lanes), _of_lanes(new, lanes), first, group, UNITS.get(kind, 0.0), kind)
    tokens = domain.table.bytes_of(made)
    one_each = np.zeros(lanes.size, np.bool_)
    one_each[np.flatnonzero(lanes)[first]] = True
    narrowed = machine.batch.mask(one_each.reshape(lanes.shape))
    for each, plane in zip(domain.memory.machines(machine), tokens.planes, strict=True):
        spread = np.zeros(lanes.size, plane.dtype)
        spread[np.flatnonzero(lanes)[first]] = plane
        given = spread.reshape(lanes.shape).view(access.dtype)
        each.memory.store(access.space, address, [given], access.dtype, narrowed, at)
    return ""


def changed(
    domain: FieldDomain,
    semantics: Execute,
    execution: Execution,
    operands: Sequence[Sequence[Values]],
    shadows: Sequence[Sequence[Shadow]],
    results: Sequence[Values],
) -> Sequence[Shadow]:
    """Note that an instruction changes elements of matrices in memory in a way that has no meaning in the field."""
    machine, mask, at = execution
    access, ((address, *_), values, *_) = semantics.changes, operands
    assert access is not None
    domain.addressed(execution, shadows[0])
    if execution.idle:
        return [None] * len(results)
    size = np.uint64(access.dtype.itemsize)
    tokens = [_tokens(domain, execution, access, address + number * size) for number in range(len(values))]
    before = len(domain.paths)
    for shadow in (*(shadow for several in shadows[1:] for shadow in several), *tokens):
        domain.depends(machine, mask, "opaque", "changes an element of a matrix in memory", at, shadow)
    if len(domain.paths) == before:
        return [None] * len(results)
    return [_unknown(domain, at, f"u{8 * min(value.itemsize, 8)}") for value in results]


def _unknown(domain: FieldDomain, at: Instruction, kind: str) -> Shadow:
    """Return an opaque result in every lane."""
    every = Elements(field.zeros(()), np.zeros(()), kind)
    return opaque_of(domain.table, at, [every], kind)


def _tokens(domain: FieldDomain, execution: Execution, access: MemoryAccess, address: Values) -> Bytes:
    """Return the tokens of elements in memory."""
    machine, mask, _ = execution
    planes = (each.memory.peek(access.space, address, access.dtype, mask) for each in domain.memory.machines(machine))
    return Bytes(tuple(plane.view(f"u{plane.itemsize}") if plane.itemsize <= 8 else _folded(plane) for plane in planes))


def _folded(plane: Values) -> Values:
    """Return the bits of 16 bytes that are set in either half."""
    halves = np.ascontiguousarray(plane).view(np.uint64).reshape(*plane.shape, 2)
    return np.asarray(halves[..., 0] | halves[..., 1])


def _is_remote(space: str, address: Values) -> bool:
    """Return True if addresses may be in the shared memory of other blocks."""
    inside = address & np.uint64(SHARED_WINDOW - 1)
    shared = space == "cluster" or (space == "generic" and (address // np.uint64(SHARED_WINDOW) == 1).all())
    return shared and bool((inside >> np.uint64(RANK_SHIFT)).any())


def _places(execution: Execution, space: str, address: Values) -> Values:
    """Return a number for each address, different for the shared memories of different blocks."""
    if space in ("global", "generic") and int(address.min()) >= 1 << 40:
        return address.view(np.int64)
    return execution.machine.batch.block_index() * (1 << 40) + address.view(np.int64)


def _of_lanes(elements: Elements, lanes: Values) -> Elements:
    return replace(joined(lambda values: np.broadcast_to(values, lanes.shape)[lanes], elements), known=None)


def _sum(old: Elements, new: Elements, first: Values, group: Values, unit: float, kind: str) -> Elements:
    """Return the elements in memory after the additions of all lanes, group by group."""
    reach = old.residues[0]

    def total(one: field.Residues, other: field.Residues) -> field.Residues:
        sums = []
        for before, added, prime in zip(one, other, field.PRIMES, strict=True):
            into = np.broadcast_to(before, reach.shape)[first].copy()
            np.add.at(into, group, np.broadcast_to(added, reach.shape))
            sums.append(field.reduced(into, prime))
        return sums[0], sums[1]

    error = old.error[first].copy()
    np.maximum.at(error, group, new.error)
    rounded = np.expm1(np.bincount(group) * np.log1p(unit))
    reason = first_reason([old, new])
    if reason is not None:
        worst = reason[first].copy()
        np.maximum.at(worst, group, reason)
        reason = worst
    every = [[total(*each) for each in zip(of(old), of(new), strict=True)] for of in (residues_of, magnitudes_of)]
    made = with_orders(old, *every)
    if old.splits is None and new.splits is None:
        same = old.magnitude is None and new.magnitude is None
        made = replace(made, splits=None, magnitude=None if same else made.magnitude)
    return replace(made, error=error + rounded + error * rounded, kind=kind, reason=reason)
