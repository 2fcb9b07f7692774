"""Sums in memory: atomic additions and reductions of elements of the field."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from mmcore_emulator.isa.entries import Execute
from mmcore_emulator.machine.machine import Execution
from mmcore_emulator.numerics.types import Values
from mmcore_emulator.proof import field
from mmcore_emulator.proof.polynomials import first_reason, opaque_of
from mmcore_emulator.proof.values import Bytes, Elements, Shadow

if TYPE_CHECKING:
    from mmcore_emulator.proof.domain import FieldDomain

ADDRESS = "uses an address, or a lane, that depends on a value of a matrix"
_UNITS = {"f32": 2.0**-24, "f64": 2.0**-53}


def accumulated(
    domain: FieldDomain,
    semantics: Execute,
    execution: Execution,
    operands: Sequence[Sequence[Values]],
    shadows: Sequence[Sequence[Shadow]],
    results: Sequence[Values],
) -> Sequence[Shadow]:
    """Add elements to those in memory, before the instruction itself does."""
    machine, mask, at = execution
    access, ((address, *_), (value, *_), *_), shadow = semantics.adds, operands, shadows[1][0]
    assert access is not None
    for of_address in shadows[0]:
        domain.depends(machine, mask, "address", ADDRESS, at, of_address)
    kind = {"f": "f", "i": "s", "u": "u"}[access.dtype.kind] + str(8 * access.dtype.itemsize)
    if results or execution.idle:
        if shadow is None:
            return [None] * len(results)
        domain.path("opaque", "reads an element in memory while it adds to it", at)
        return [opaque_of(domain.table, at, [shadow], kind)] * len(results)
    planes = [each.memory.peek(access.space, address, access.dtype, mask) for each in domain.memory.machines(machine)]
    old_bytes = Bytes(tuple(plane.view(f"u{plane.itemsize}") for plane in planes))
    if shadow is None and not any(plane.any() for plane in old_bytes.planes):
        return ()
    before = machine.memory.peek(access.space, address, access.dtype, mask)
    old = domain.table.resolved(old_bytes, before, kind)
    new = domain.table.resolved(shadow, value, kind)
    lanes = machine.batch.spread(mask)
    keys = np.broadcast_to(_places(execution, access.space, address), lanes.shape)[lanes]
    _, first, group = np.unique(keys, return_index=True, return_inverse=True)
    made = _sum(_of_lanes(old, lanes), _of_lanes(new, lanes), first, group, _UNITS.get(kind, 0.0), kind)
    tokens = domain.table.bytes_of(made)
    one_each = np.zeros(lanes.size, np.bool_)
    one_each[np.flatnonzero(lanes)[first]] = True
    narrowed = machine.batch.mask(one_each.reshape(lanes.shape))
    for each, plane in zip(domain.memory.machines(machine), tokens.planes, strict=True):
        spread = np.zeros(lanes.size, plane.dtype)
        spread[np.flatnonzero(lanes)[first]] = plane
        given = spread.reshape(lanes.shape).view(access.dtype)
        each.memory.store(access.space, address, [given], access.dtype, narrowed, at)
    return ()


def _places(execution: Execution, space: str, address: Values) -> Values:
    """Return a number for each address, different for the shared memories of different blocks."""
    if space in ("global", "generic") and int(address.min()) >= 1 << 40:
        return address.view(np.int64)
    return execution.machine.batch.block_index() * (1 << 40) + address.view(np.int64)


def _of_lanes(elements: Elements, lanes: Values) -> Elements:
    def chosen(values: Values) -> Values:
        return np.asarray(np.broadcast_to(values, lanes.shape)[lanes])

    magnitude = None if elements.magnitude is None else (chosen(elements.magnitude[0]), chosen(elements.magnitude[1]))
    return Elements(
        (chosen(elements.residues[0]), chosen(elements.residues[1])),
        chosen(elements.error),
        elements.kind,
        None,
        None if elements.reason is None else chosen(elements.reason),
        magnitude,
    )


def _sum(old: Elements, new: Elements, first: Values, group: Values, unit: float, kind: str) -> Elements:
    """Return the elements in memory after the additions of all lanes, group by group."""

    def total(one: field.Residues, other: field.Residues) -> field.Residues:
        sums = []
        for before, added, prime in zip(one, other, field.PRIMES, strict=True):
            into = before[first].copy()
            np.add.at(into, group, added)
            sums.append(field.reduced(into, prime))
        return sums[0], sums[1]

    error = old.error[first].copy()
    np.maximum.at(error, group, new.error)
    rounded = np.expm1(np.bincount(group) * np.log1p(unit))
    magnitude = None
    if old.magnitude is not None or new.magnitude is not None:
        magnitude = total(old.magnitudes, new.magnitudes)
    reason = first_reason([old, new])
    if reason is not None:
        worst = reason[first].copy()
        np.maximum.at(worst, group, reason)
        reason = worst
    return Elements(total(old.residues, new.residues), error + rounded + error * rounded, kind, None, reason, magnitude)
