"""Mbarrier objects: their 64-bit word in shared memory, the forms of ``mbarrier`` instructions, and their misuse.

The word contains, from its highest bit: 10 marking bits, 1 bit for the phase's parity, 21 for the tx-count (two's
complement), 16 for expected arrivals, 16 for pending ones. Poison, zeros, -1 and infinities do not have the marking
bits, and only one random word in a thousand does. Reference: PTX ISA, "Parallel Synchronization and Communication
Instructions: mbarrier".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from mmcore_emulator.machine.memory.operations import Combine
from mmcore_emulator.machine.violations import Problem, first_of
from mmcore_emulator.numerics.types import Flags, Values
from mmcore_emulator.ptx.instructions import Instruction

MOST_ARRIVALS = 2**16 - 1
"""The most arrivals that an object can expect here; PTX allows 2^20 - 1, more than a cluster has threads."""
MOST_BYTES = 2**20 - 1
"""The largest tx-count; the least is its negative (PTX ISA, "Contents of the mbarrier object")."""

TOO_MANY = "more arrivals come than the phase waits for"
AGAIN = "it initialises an mbarrier again without mbarrier.inval"
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
    surplus = f", and {least}{-tx} bytes have come that it does not expect" if tx < 0 else ""
    return f"phase of parity {parity}: {missing}{surplus}"


def untouched(word: Values) -> bool:
    """Return True if one object is in its first phase, or one of the same parity, and nothing has arrived in it."""
    parity, tx, expected, pending = contents(word)
    return bool(initialised(word) & (parity == 0) & (tx == 0) & (expected == pending))


@dataclass(frozen=True)
class MbarrierKind:
    """The kind of an instruction on an mbarrier object."""

    # "init", "inval", "arrive", "arrive_drop", "expect_tx", "complete_tx", "test_wait", "try_wait", "pending_count";
    # "copies_arrive" for ``cp.async.mbarrier.arrive``.
    action: str
    parity: bool = False  # true if a wait names the phase by its parity instead of a state
    tx: bool = False  # true if an arrival expects bytes, which replace the count as its operand
    completes: bool = True  # true if an arrival may be the phase's last; false with ``.noComplete``
    increments: bool = False  # for "copies_arrive", true if it adds a pending arrival first (no ``.noinc``)
    # "cta", "cluster" (shared memory of the block, or of the cluster), "generic", or "" without an access.
    space: str = "generic"
    semantics: str = ""  # "release", "acquire", "relaxed", or ""
    scope: str = "cta"  # "cta" or "cluster"


_SPACES = {"shared": "cta", "shared::cta": "cta", "shared::cluster": "cluster"}
_SCOPES = ("cta", "cluster")
_ARRIVALS, _WAITS = ("arrive", "arrive_drop"), ("test_wait", "try_wait")
# The possible semantics of each action, the default first.
_SEMANTICS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("init", "inval", "pending_count"), ("",)),
    **dict.fromkeys(_ARRIVALS, ("release", "relaxed")),
    **dict.fromkeys(("expect_tx", "complete_tx"), ("relaxed",)),
    **dict.fromkeys(_WAITS, ("acquire", "relaxed")),
}


def kind_of(at: Instruction) -> MbarrierKind | None:
    """Return the kind of an instruction for mbarriers; None for other instructions."""
    return parse(at.opcode)


def parse(opcode: tuple[str, ...]) -> MbarrierKind | None:
    """Return the kind of ``mbarrier`` or ``cp.async.mbarrier.arrive``; None for other instructions.

    The qualifiers may come in any order, as in ptxas.
    """
    if opcode[:4] == ("cp", "async", "mbarrier", "arrive"):
        return _parse_copies_arrive(opcode[4:])
    if len(opcode) < 3 or opcode[0] != "mbarrier" or opcode[-1] != "b64" or opcode[1] not in _SEMANTICS:
        return None
    action, rest = opcode[1], list(opcode[2:-1])
    flags = {flag: flag in rest for flag in ("parity", "expect_tx", "noComplete")}
    space, semantics, scope = (_taken(rest, names) for names in (tuple(_SPACES), _SEMANTICS[action], _SCOPES))
    known = sum(flags.values()) + sum(map(bool, (space, semantics, scope)))
    misplaced = (
        (flags["parity"] and action not in _WAITS)
        or ((flags["expect_tx"] or flags["noComplete"]) and action not in _ARRIVALS)
        or (flags["expect_tx"] and flags["noComplete"])
    )
    if known != len(rest) or misplaced:
        return None
    return MbarrierKind(
        action,
        parity=flags["parity"],
        tx=flags["expect_tx"],
        completes=not flags["noComplete"],
        space="" if action == "pending_count" else _SPACES.get(space, "generic"),
        semantics=semantics or _SEMANTICS[action][0],
        scope=scope or "cta",
    )


def _parse_copies_arrive(rest: tuple[str, ...]) -> MbarrierKind | None:
    modifiers = [part for part in rest if part != "noinc"]
    if modifiers[-1:] != ["b64"] or len(modifiers) > 2 or len(rest) - len(modifiers) > 1:
        return None
    space = "generic" if len(modifiers) == 1 else _SPACES.get(modifiers[0])
    return MbarrierKind("copies_arrive", increments="noinc" not in rest, space=space) if space else None


def _taken(rest: list[str], names: tuple[str, ...]) -> str:
    """Return the name that is among the qualifiers; "" if none is."""
    return next((name for name in names if name and name in rest), "")


_COMBINES: dict[tuple[str, bool], Combine] = {
    ("init", False): init,
    ("inval", False): inval,
    ("arrive", False): arrive,
    ("arrive", True): arrive_expect_tx,
    ("arrive_drop", False): arrive_drop,
    ("arrive_drop", True): arrive_drop_expect_tx,
    ("expect_tx", False): expect_tx,
    ("complete_tx", False): complete_tx,
}


def combine(kind: MbarrierKind) -> Combine | None:
    """Return the map from old words and the operand (count or bytes), if any, to new words; None without a change."""
    return _COMBINES.get((kind.action, kind.tx))


def problems(kind: MbarrierKind, old: Values, operand: Values | None = None) -> list[Problem]:
    """Return the misuses by an instruction on these words (uint64), with its count or bytes; at most one for each lane.

    ``operand`` may be missing if it is 1, or if there is none.
    """
    number = np.broadcast_to(signed(np.ones(1) if operand is None else operand), np.shape(old))
    valid = initialised(old)
    if kind.action == "init":
        mistakes = [
            Problem((number < 1) | (number > MOST_ARRIVALS), f"it expects not between 1 and {MOST_ARRIVALS} arrivals"),
            Problem(valid, AGAIN),
        ]
        return first_of(mistakes)
    if kind.action == "pending_count":
        return first_of([Problem(~valid, "it is given what no mbarrier.arrive has returned")])
    mistakes = [Problem(~valid, "there is no mbarrier, initialised and not made invalid")]
    parts = contents(old)
    if kind.action in _ARRIVALS:
        count = np.ones_like(number) if kind.tx else number
        missing = parts.pending - count
        mistakes.append(Problem(count < 1, "it counts for less than one arrival"))
        mistakes.append(Problem(missing < 0, TOO_MANY))
        if not kind.completes:
            mistakes.append(Problem(missing == 0, "it completes the phase, as .noComplete must not"))
    change = number * ((kind.tx or kind.action == "expect_tx") - (kind.action == "complete_tx"))
    mistakes.append(Problem(abs(parts.tx + change) > MOST_BYTES, f"its tx-count leaves ±{MOST_BYTES}"))
    return first_of(mistakes)
