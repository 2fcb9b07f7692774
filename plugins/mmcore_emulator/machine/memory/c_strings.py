"""Texts in the memories of a kernel, as C has them: bytes up to a zero."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mmcore_emulator.machine.lanes import Mask
from mmcore_emulator.machine.machine import Machine
from mmcore_emulator.machine.memory.arrays import Array, StrayAccess
from mmcore_emulator.numerics.floats import Values
from mmcore_emulator.ptx.instructions import Instruction

LONGEST = 1 << 16
"""Bytes of a text that are read at most."""

Texts = NDArray[Any]
"""A text for each lane, along all axes in full; None for a lane that has none."""


def texts(machine: Machine, address: Values, mask: Mask | None, at: Instruction) -> Texts:
    """The text at each lane's generic address, None at 0; one that does not end in its array is a violation."""
    found = np.full(machine.batch.shape, None, object)
    for _, space, addresses, lanes in machine.memory.resolved(
        "generic", address, machine.batch.narrow(mask, address != 0)
    ):
        places, rest = np.broadcast_to(addresses, machine.batch.shape), machine.batch.spread(lanes).copy()
        while rest.any():
            array = space.at(int(places[rest][0]))
            here = rest & (places >> np.uint64(space.range_bits) == places[rest][0] >> np.uint64(space.range_bits))
            endless = here if array is None else _read(array, places, here, found)
            if endless.any():
                past = places if array is None else np.full_like(places, array.base + array.readable)
                machine.memory.reporter(at, lanes)(StrayAccess("out-of-bounds-read", space, array, endless, past, 1))
            rest &= ~here
    return found


def _read(array: Array, places: NDArray[np.uint64], here: NDArray[np.bool_], found: Texts) -> NDArray[np.bool_]:
    """Read the texts of lanes that are in one array, or ran out of it; the lanes whose text does not end in it."""
    offsets = places[here].astype(np.int64) - array.base
    starts = np.broadcast_to(array.index(places, 1), places.shape)[here]
    known: dict[int, tuple[bytes, bool]] = {}
    for start, offset in zip(starts.tolist(), offsets.tolist(), strict=True):
        if start not in known:
            left = min(array.readable - offset, LONGEST) if offset >= 0 else 0
            text, zero, _ = array.content[start : start + max(left, 0)].tobytes().partition(b"\0")
            known[start] = text, not zero and left < LONGEST
    read = [known[start] for start in starts.tolist()]
    found[here] = np.array([*(text for text, _ in read), None], object)[:-1]
    endless = np.zeros(places.shape, np.bool_)
    endless[here] = [each for _, each in read]
    return endless
