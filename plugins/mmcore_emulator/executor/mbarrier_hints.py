"""Hints for a thread that waits for an mbarrier whose phase nothing is left to end."""

from __future__ import annotations

import numpy as np

from mmcore_emulator.isa.asynchronous.mbarriers import contents, untouched
from mmcore_emulator.machine.asynchronous.events import BLOCK_BYTES
from mmcore_emulator.machine.machine import Machine
from mmcore_emulator.machine.memory.arrays import SHARED_WINDOW
from mmcore_emulator.numerics.types import Values

_OVERRUN = "an initialisation for all arrivals of a phase: {} threads arrive with no wait between, and it counts {}"
_STARVED = "to expect {:,} bytes less in that phase{}, or to begin another copy"
_ELSEWHERE = "this mbarrier for {}, instead of that in {}, which expects {:,} bytes less than come"
_OVERFED = "to expect all bytes that the copies of a phase bring{}"
_SAME_COPIES = "one thread alone that begins a copy (elect.sync or an if): {} threads begin the same one"


def named(machine: Machine, address: int) -> str:
    """Return the array and the byte of an mbarrier at an address, and where it is initialised."""
    array = machine.memory.shared.at(address & (SHARED_WINDOW - 1))
    where = f"{array} (byte {(address & (SHARED_WINDOW - 1)) - array.base})" if array else f"address {address:#x}"
    by = machine.mbarriers.initialised_at.get(address & (BLOCK_BYTES - 1))
    return f"{where} (initialised at {by.place})" if by is not None and by.line else where


def hint_of_wait(machine: Machine, offset: int, word: Values, rank: int, first: str) -> str:
    """Return a hint on an object at an offset in the shared memory of a block; "" without one.

    ``word`` is its content, ``rank`` that of the block in its cluster, and ``first`` the hint if nothing has arrived.
    """
    log = machine.mbarriers
    if offset in log.overrun:
        return _OVERRUN.format(*log.overrun[offset])
    _, tx, _, pending = contents(word)
    if offset in log.repeated or (pending == 0 and tx > 0 and log.lost):
        return ""
    if pending == 0 and tx != 0:
        at = log.expected_at.get(offset)
        where = f" at {at.place}" if at is not None and at.line else ""
        if tx > 0:
            return log.left_out(offset, rank) or _elsewhere(machine, int(tx)) or _STARVED.format(int(tx), where)
        return _SAME_COPIES.format(same) if (same := log.same_copies.get(offset)) else _OVERFED.format(where)
    return first if untouched(word) and offset not in log.arrived | log.passed else ""


def _elsewhere(machine: Machine, nbytes: int) -> str:
    """Return the hint that copies bring bytes that are missing here to another object; "" if none does."""
    if (unexpected := machine.mbarriers.unexpected(nbytes)) is None:
        return ""
    offset, places = unexpected
    (address,) = machine.memory.shared_addresses(np.array([offset])).tolist()
    return _ELSEWHERE.format(" and ".join(f"the copy at {place}" for place in places), named(machine, address), nbytes)
