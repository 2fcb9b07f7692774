"""Additions in bulk: copies from shared memory that are added to elements in global memory when they arrive."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mmcore_emulator.isa.asynchronous.bulk.copies import OF_TENSORS, BulkCopy
from mmcore_emulator.isa.asynchronous.bulk.placement import Placement, Sent, issue, read_shared_elements
from mmcore_emulator.machine.machine import Execution
from mmcore_emulator.numerics.types import NUMPY, Values
from mmcore_emulator.proof.accumulation import UNITS
from mmcore_emulator.proof.kinds import is_integer
from mmcore_emulator.proof.polynomials import combined
from mmcore_emulator.proof.values import Bytes, Shadow

if TYPE_CHECKING:
    from mmcore_emulator.proof.domain import FieldDomain


def added_in_bulk(
    domain: FieldDomain,
    copy: BulkCopy,
    execution: Execution,
    operands: Sequence[Sequence[Values]],
    shadows: Sequence[Sequence[Shadow]],
    results: Sequence[Values],
) -> Sequence[Shadow]:
    """Send the elements of copies to their sums; they arrive before the copies themselves."""
    domain.addressed(execution, chain.from_iterable(shadows))
    copies = None if execution.idle else issue(copy, execution, copy.named([[*each] for each in operands]))
    if copies is not None:
        sent, placed = copies
        kind = OF_TENSORS.get(placed.layout.kind, "") if placed.layout else copy.kind
        for number, lane in enumerate(sent.lanes):
            execution.machine.bulk_groups.send(tuple(lane.tolist()), partial(_read, domain, sent, number, placed, kind))
    return []


def _read(domain: FieldDomain, sent: Sent, number: int, placed: Placement, kind: str) -> Callable[[], None]:
    """Read the elements and their tokens from shared memory; return a function that adds them."""
    planes = domain.memory.machines(sent.machine)
    every = [read_shared_elements(replace(sent, machine=each), number, placed) for each in (sent.machine, *planes)]
    read = [each for each in every if each is not None]
    return partial(_add, domain, sent, number, placed, kind, read) if len(read) == len(every) else lambda: None


def _add(
    domain: FieldDomain, sent: Sent, number: int, placed: Placement, kind: str, content: Sequence[NDArray[np.generic]]
) -> None:
    """Add elements to those in global memory, where one of both depends on a matrix."""
    dtype, itemsize = NUMPY[kind], placed.itemsize
    array = sent.machine.memory.spaces["global"].at(placed.base)
    if array is None:
        return
    places = placed.base - array.base + placed.offsets[number][placed.inside[number]]
    there = (places >= 0) & (places + itemsize <= array.permits("write"))
    index = places[there] // itemsize

    def elements(values: NDArray[np.generic], as_dtype: np.dtype[np.generic]) -> Values:
        return np.ascontiguousarray(values).view(as_dtype)

    bits, whole = np.dtype(f"u{dtype.itemsize}"), content[0].dtype
    tokens = domain.memory.planes_of(array)
    views = [plane[: len(plane) // itemsize * itemsize].view(whole) for plane in tokens]
    old = Bytes(tuple(elements(view[index], bits) for view in views))
    new = Bytes(tuple(elements(each[there], bits) for each in content[1:]))
    domain.table.reader = sent.at
    before = domain.table.resolved(old, elements(array.view(whole)[index], dtype), kind)
    coming = domain.table.resolved(new, elements(content[0][there], dtype), kind)
    made = combined("add", [before, coming], UNITS.get(kind, 0.0), kind)
    depends = domain.table.dependent(old) | domain.table.dependent(new)
    sums = domain.table.bytes_of(replace(made, known=~depends))
    for view, plane in zip(views, sums.planes, strict=True):
        view[index] = elements(plane, whole)


def has_sums(copy: BulkCopy) -> bool:
    """Return True for additions to global memory whose sums are polynomials."""
    sums = not copy.kind or not is_integer(copy.kind) or copy.kind in ("s32", "u32")
    return copy.reduction == "add" and copy.target == "global" and sums
