"""C strings in the memories of a kernel: bytes up to a zero."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from mmcore_emulator.machine.lanes import Mask
from mmcore_emulator.machine.machine import Machine
from mmcore_emulator.machine.memory.arrays import Array, StrayAccess
from mmcore_emulator.numerics.floats import Values
from mmcore_emulator.ptx.instructions import Instruction

LONGEST = 1 << 16
"""The most bytes of a string that are read."""

Texts: TypeAlias = Values
"""A string for each lane, along all axes in full; None for a lane without one."""


def texts(machine: Machine, address: Values, mask: Mask | None, at: Instruction) -> Texts:
    """Return the string at each lane's generic address, None at 0; report a string that does not end in its array."""
    strings = np.full(machine.batch.shape, None, object)
    for _, space, addresses, lanes in machine.memory.resolved(
        "generic", address, machine.batch.narrow(mask, address != 0)
    ):
        places, rest = np.broadcast_to(addresses, machine.batch.shape), machine.batch.spread(lanes).copy()
        while rest.any():
            array = space.at(int(places[rest][0]))
            near = rest & (places >> np.uint64(space.range_bits) == places[rest][0] >> np.uint64(space.range_bits))
            endless = near if array is None else _read(array, places, near, strings)
            if endless.any():
                past = places if array is None else np.full_like(places, array.base + array.readable)
                machine.memory.reporter(at, lanes)(StrayAccess("out-of-bounds-read", space, array, endless, past, 1))
            rest &= ~near
    return strings


def _read(array: Array, places: NDArray[np.uint64], lanes: NDArray[np.bool_], strings: Texts) -> NDArray[np.bool_]:
    """Read the strings of lanes in one array's address range; return the lanes whose string does not end in it."""
    offsets = places[lanes].astype(np.int64) - array.base
    starts = np.broadcast_to(array.index(places, 1), places.shape)[lanes]
    known: dict[int, tuple[bytes, bool]] = {}
    for start, offset in zip(starts.tolist(), offsets.tolist(), strict=True):
        if start not in known:
            left = min(array.readable - offset, LONGEST) if offset >= 0 else 0
            text, zero, _ = array.content[start : start + max(left, 0)].tobytes().partition(b"\0")
            known[start] = text, not zero and left < LONGEST
    read = [known[start] for start in starts.tolist()]
    strings[lanes] = np.array([*(text for text, _ in read), None], object)[:-1]
    endless = np.zeros(places.shape, np.bool_)
    endless[lanes] = [each for _, each in read]
    return endless
