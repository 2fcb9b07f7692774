"""Hints for a thread that waits for an mbarrier whose phase nothing is left to end."""

from __future__ import annotations

from mmcore_emulator.isa.asynchronous.mbarriers import contents, untouched
from mmcore_emulator.machine.machine import MbarrierLog
from mmcore_emulator.numerics.types import Values

_OVERRUN = "an initialisation for all arrivals of a phase: {} threads arrive with no wait between, and it counts {}"
_STARVED = "to expect {:,} bytes less in that phase{}, or to begin another copy"
_OVERFED = "to expect all bytes that the copies of a phase bring{}"
_SAME_COPIES = "one thread alone that begins a copy (elect.sync or an if): {} threads begin the same one"


def hint_of_wait(log: MbarrierLog, offset: int, word: Values, rank: int, first: str) -> str:
    """Return a hint on an object at an offset in the shared memory of a block; "" without one.

    ``word`` is its content, ``rank`` that of the block in its cluster, and ``first`` the hint if nothing has arrived.
    """
    if offset in log.overrun:
        return _OVERRUN.format(*log.overrun[offset])
    _, tx, _, pending = contents(word)
    if offset in log.repeated or (pending == 0 and tx > 0 and log.lost):
        return ""
    if pending == 0 and tx != 0:
        at = log.expected_at.get(offset)
        where = f" at {at.place}" if at is not None and at.line else ""
        if tx > 0:
            return log.left_out(offset, rank) or _STARVED.format(int(tx), where)
        return _SAME_COPIES.format(same) if (same := log.same_copies.get(offset)) else _OVERFED.format(where)
    return first if untouched(word) and offset not in log.arrived | log.passed else ""
