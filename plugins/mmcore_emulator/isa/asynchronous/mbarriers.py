"""Mbarrier objects: their 64-bit word in shared memory, and how each instruction changes it.

The word contains, from its highest bit: 10 marking bits, 1 bit for the phase's parity, 21 for the tx-count (two's
complement), 16 for expected arrivals, 16 for pending ones. Poison, zeros, -1 and infinities do not have the marking
bits, and only one random word in a thousand does. Reference: PTX ISA, "Parallel Synchronization and Communication
Instructions: mbarrier".
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from mmcore_emulator.numerics.types import Flags, Values

MOST_ARRIVALS = 2**16 - 1
"""The most arrivals that an object can expect here; PTX allows 2^20 - 1, more than a cluster has threads."""
MOST_BYTES = 2**20 - 1
"""The largest tx-count; the least is its negative (PTX ISA, "Contents of the mbarrier object")."""

_MARK = np.uint64(0x3FC << 54)
_MARK_BITS = np.uint64(0x3FF << 54)
_PARITY_BIT = np.uint64(53)
_TX_BIT = np.uint64(32)
_EXPECTED_BIT = np.uint64(16)
_COUNT_BITS = np.uint64(0xFFFF)
_TX_BITS = np.uint64(0x1F_FFFF)
_TX_SIGN = 2**20
_INVALID = np.uint64(0xFFFD_FFFD_FFFD_FFFD)


class Contents(NamedTuple):
    """The content of words, as int64 arrays of one shape."""

    parity: Values  # parity of the current phase, 0 or 1
    tx: Values  # bytes that copies have still to bring; negative if they came before they were expected
    expected: Values  # arrivals that each phase from the next on waits for
    pending: Values  # arrivals that the current phase still waits for


def initialised(word: Values) -> Flags:
    """Return True for words (uint64) that are mbarrier objects."""
    return np.asarray((word & _MARK_BITS) == _MARK)


def contents(word: Values) -> Contents:
    """Return the content of each word (uint64)."""
    tx = ((word >> _TX_BIT) & _TX_BITS).astype(np.int64)
    return Contents(
        ((word >> _PARITY_BIT) & np.uint64(1)).astype(np.int64),
        (tx ^ _TX_SIGN) - _TX_SIGN,
        ((word >> _EXPECTED_BIT) & _COUNT_BITS).astype(np.int64),
        (word & _COUNT_BITS).astype(np.int64),
    )


def words(parts: Contents) -> Values:
    """Return the words (uint64) with this content; values out of range are clamped."""
    tx = np.clip(parts.tx, -MOST_BYTES, MOST_BYTES).astype(np.uint64) & _TX_BITS
    expected, pending = (
        np.clip(count, 0, MOST_ARRIVALS).astype(np.uint64) for count in (parts.expected, parts.pending)
    )
    parity = parts.parity.astype(np.uint64) << _PARITY_BIT
    return np.asarray(_MARK | parity | (tx << _TX_BIT) | (expected << _EXPECTED_BIT) | pending)


def _completed(parts: Contents) -> Contents:
    """Return the content in the next phase where nothing is missing any more (PTX ISA, "Phase Completion")."""
    done = (parts.pending <= 0) & (parts.tx == 0)
    return parts._replace(
        parity=np.where(done, 1 - parts.parity, parts.parity), pending=np.where(done, parts.expected, parts.pending)
    )


def _changed(old: Values, change: Callable[[Contents], Contents]) -> Values:
    """Return the words after a change, with completed phases ended; words that are no objects remain unchanged."""
    new = words(_completed(change(contents(old))))
    valid = initialised(old)
    return new if valid.all() else np.where(valid, new, old)


def signed(operand: Values) -> Values:
    """Return counts of arrivals or bytes (any integer type) as int64, which can be subtracted."""
    return np.asarray(operand).astype(np.int64)


def init(old: Values, count: Values) -> Values:
    """Return new objects in phase 0 that expect ``count`` arrivals in each phase (``mbarrier.init``)."""
    count = np.broadcast_to(signed(count), np.shape(old))
    zero = np.zeros_like(count)
    return words(Contents(zero, zero, count, count))


def inval(old: Values) -> Values:
    """Return words that are no objects any more (``mbarrier.inval``)."""
    return np.full_like(old, _INVALID)


def arrive(old: Values, count: Values) -> Values:
    """Subtract ``count`` pending arrivals (``mbarrier.arrive``)."""
    return _changed(old, lambda parts: parts._replace(pending=parts.pending - signed(count)))


def arrive_expect_tx(old: Values, nbytes: Values) -> Values:
    """Expect ``nbytes`` first, then subtract one arrival (``mbarrier.arrive.expect_tx``)."""
    return _changed(old, lambda parts: parts._replace(tx=parts.tx + signed(nbytes), pending=parts.pending - 1))


def arrive_drop(old: Values, count: Values) -> Values:
    """Subtract ``count`` arrivals in this phase and all that follow (``mbarrier.arrive_drop``)."""
    count = signed(count)
    return _changed(old, lambda parts: parts._replace(expected=parts.expected - count, pending=parts.pending - count))


def arrive_drop_expect_tx(old: Values, nbytes: Values) -> Values:
    """Expect ``nbytes`` first, then subtract one arrival for good (``mbarrier.arrive_drop.expect_tx``)."""
    return arrive_drop(expect_tx(old, nbytes), np.ones((), np.uint32))


def expect_tx(old: Values, nbytes: Values) -> Values:
    """Add ``nbytes`` that copies have to bring (``mbarrier.expect_tx``)."""
    return _changed(old, lambda parts: parts._replace(tx=parts.tx + signed(nbytes)))


def complete_tx(old: Values, nbytes: Values) -> Values:
    """Subtract ``nbytes`` that copies have brought (``mbarrier.complete_tx``, and the end of a bulk copy)."""
    return _changed(old, lambda parts: parts._replace(tx=parts.tx - signed(nbytes)))


def expect_arrival(old: Values, count: Values) -> Values:
    """Add ``count`` pending arrivals (``cp.async.mbarrier.arrive`` without ``.noinc``, when it is issued)."""
    return _changed(old, lambda parts: parts._replace(pending=parts.pending + signed(count)))


def completed(word: Values, parity: Values) -> Flags:
    """Return True where the phase of a parity is over, for the waits with ``.parity``.

    Only the parity's last bit counts. The phase is the one before the current if the parities differ. A wait for a word
    that is no object ends at once.
    """
    return np.asarray((contents(word).parity != (signed(parity) & 1)) | ~initialised(word))


def completed_of_state(word: Values, state: Values) -> Flags:
    """Return True where the phase is over in which an arrival returned ``state``, the word before it."""
    return completed(word, contents(state).parity)


def pending_count(state: Values) -> Values:
    """Return the pending arrivals (uint32) of a state (``mbarrier.pending_count``)."""
    return contents(state).pending.astype(np.uint32)


def described(word: int) -> str:
    """Return a description of one object, for a report on lanes that wait for it."""
    array = np.array([word], np.uint64)
    if not initialised(array).item():
        return "no mbarrier object"
    parity, tx, expected, pending = (int(values.item()) for values in contents(array))
    least = "at least " if abs(tx) == MOST_BYTES else ""
    missing = f"{pending} of {expected} arrivals and {least * (tx > 0)}{max(tx, 0)} bytes are missing"
    surplus = f", and {least}{-tx} bytes have come of which it was not told" if tx < 0 else ""
    return f"phase of parity {parity}: {missing}{surplus}"
