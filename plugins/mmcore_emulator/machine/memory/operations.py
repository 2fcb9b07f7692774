"""Checked accesses of lanes to the arrays of a memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from mmcore_emulator.machine.lanes import Mask
from mmcore_emulator.machine.memory.arrays import Array, Report, Space, StrayAccess, poisoned
from mmcore_emulator.numerics.floats import flushed
from mmcore_emulator.numerics.types import DType, Flags, Integers, Values

Combine = Callable[..., Values]
"""A map from the element in memory and an instruction's operands to the new element."""
_LEAST_UNFLUSHED = np.float32(2.0**-102)


def load(space: Space, address: Values, dtype: DType, mask: Mask | None, report: Report) -> Values:
    """Return the element at each lane's byte address; a lane whose access is a violation reads NaN."""
    taking_part = None if mask is None else mask.over(address.shape)
    active = address if taking_part is None else address[taking_part]
    array = _only_array(space, active, dtype.itemsize, "read")
    if array is None:
        return _load_some(space, address, dtype, taking_part, report)
    index = array.index(address, dtype.itemsize)
    if taking_part is not None:
        index = np.where(taking_part, index, 0)
    return array.view(dtype).take(index)


def store(space: Space, address: Values, value: Values, dtype: DType, mask: Mask | None, report: Report) -> None:
    """Write ``value`` at each lane's ``address``; a violation is reported and not executed. Arguments as for load."""
    shape = np.broadcast_shapes(address.shape, value.shape, (1,) * 6 if mask is None else mask.lanes.shape)
    taking_part = None if mask is None else np.broadcast_to(mask.lanes, shape)
    address = np.broadcast_to(address, shape)
    active = address if taking_part is None else address[taking_part]
    array = _only_array(space, active, dtype.itemsize, "write")
    if array is not None:
        _write(array, address, value, dtype, taking_part)
        return
    for array_written, lanes in _permitted(space, address, dtype.itemsize, taking_part, "write", report):
        _write(array_written, address, value, dtype, lanes)


def accumulate(space: Space, address: Values, value: Values, dtype: DType, lanes: Flags, report: Report) -> None:
    """Add ``value`` at the addresses of ``lanes`` (all axes in full), one lane after the other."""
    address, value = np.broadcast_to(address, lanes.shape), np.broadcast_to(value, lanes.shape)
    for array, permitted in _permitted(space, address, dtype.itemsize, lanes, "write", report):
        add_at = _flushing_add_at if space.flushes and dtype == np.float32 else np.add.at
        add_at(array.view(dtype), array.index(address, dtype.itemsize)[permitted], value[permitted])


def atomic(
    space: Space,
    address: Values,
    operands: Sequence[Values],
    dtype: DType,
    lanes: Flags,
    report: Report,
    combine: Combine,
) -> tuple[Values, bool]:
    """Apply ``combine`` to the element and the operands at the addresses of ``lanes`` (all axes in full), one by one.

    Returns:
        the previous element of each lane, and whether any element has changed.
    """
    address = np.broadcast_to(address, lanes.shape)
    previous, changed = np.zeros(lanes.shape, dtype), False
    flush = flushed if space.flushes and dtype == np.float32 else np.asarray
    for array, permitted in _permitted(space, address, dtype.itemsize, lanes, "write", report):
        view, index = array.view(dtype), array.index(address, dtype.itemsize)[permitted]
        arguments = [np.broadcast_to(operand, lanes.shape)[permitted] for operand in operands]
        before, rest = np.empty(len(index), dtype), np.arange(len(index))
        while rest.size:
            # One access to each place; further accesses to the same place follow.
            _, first = np.unique(index[rest], return_index=True)
            now = rest[first]
            old = view[index[now]]
            new = flush(combine(flush(old), *(flush(argument[now]) for argument in arguments)))
            before[now], view[index[now]] = old, new
            changed |= bool((new != old).any())
            rest = np.delete(rest, first)
        previous[permitted] = before
    return previous, changed


def _flushing_add_at(stored: Values, index: Integers, value: Values) -> None:
    """Add to ``stored`` with subnormal numbers flushed to zero, as the GPU's float32 atomics do in global memory."""
    touched = np.concatenate([stored[index], value])
    # Sums of numbers at least this large are never subnormal.
    if (np.abs(touched[touched != 0]) >= _LEAST_UNFLUSHED).all():
        np.add.at(stored, index, value)
        return
    for each, added in zip(index.tolist(), flushed(value), strict=True):
        stored[each] = flushed(flushed(stored[each]) + added)


def misalignment(space: Space, address: Values, lanes: Flags, nbytes: int) -> StrayAccess:
    """Return the violation of ``lanes`` whose address is no multiple of ``nbytes``."""
    return StrayAccess("misaligned", space, space.at(int(address[lanes][0])), lanes, address, nbytes)


def _write(array: Array, address: Values, value: Values, dtype: DType, lanes: Flags | None) -> None:
    index = array.index(address, dtype.itemsize)
    value = np.broadcast_to(value, np.broadcast_shapes(index.shape, value.shape))
    index = np.broadcast_to(index, value.shape)
    if lanes is not None:
        lanes = np.broadcast_to(lanes, index.shape)
        index, value = index[lanes], value[lanes]
    array.view(dtype)[index] = value


def _only_array(space: Space, address: Values, size: int, access: str) -> Array | None:
    """Return the one array that permits all accesses; None if there is none."""
    low, high = int(address.min()), int(address.max())
    array = space.at(low)
    if array is None:
        return None
    end = array.base + array.permits(access)
    if low < array.base or high + size > end:
        return None
    if size > 1 and int(np.bitwise_or.reduce(address, axis=None)) & (size - 1):
        return None
    return array


def _load_some(space: Space, address: Values, dtype: DType, taking_part: Flags | None, report: Report) -> Values:
    """Load as :func:`load` does, array by array, for accesses to several arrays or with violations."""
    result = poisoned(dtype.itemsize)[: dtype.itemsize].view(dtype).reshape((1,) * 6)
    for array, lanes in _permitted(space, address, dtype.itemsize, taking_part, "read", report):
        index = np.where(lanes, array.index(address, dtype.itemsize), 0)
        result = np.where(lanes, array.view(dtype).take(index), result)
    return result


def _permitted(
    space: Space, address: Values, size: int, taking_part: Flags | None, access: str, report: Report
) -> Iterator[tuple[Array, Flags]]:
    """Yield the arrays that lanes may access at these addresses, each with its lanes; report all other accesses."""
    rest = np.ones(address.shape, np.bool_) if taking_part is None else taking_part
    misaligned = rest & ((address & np.uint64(size - 1)) != 0)
    if misaligned.any():
        report(misalignment(space, address, misaligned, size))
    rest = rest & ~misaligned
    kind = f"out-of-bounds-{access}"
    ranges = address >> np.uint64(space.range_bits)
    for number in np.unique(ranges[rest]).tolist():
        array = space.at(number << space.range_bits)
        if array is None:
            continue
        lanes = rest & (ranges == np.uint64(number))
        rest = rest & ~lanes
        end = array.base + array.permits(access)
        inside = lanes & (address >= np.uint64(array.base)) & (address + np.uint64(size) <= np.uint64(end))
        outside = lanes & ~inside
        if outside.any():
            report(StrayAccess(kind, space, array, outside, address, size))
        if inside.any():
            yield array, inside
    if rest.any():
        report(StrayAccess(kind, space, None, rest, address, size))
