"""The forms of ``mbarrier`` instructions, and their misuse."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mmcore_emulator.isa.asynchronous.mbarriers import (
    MOST_ARRIVALS,
    MOST_BYTES,
    arrive,
    arrive_drop,
    arrive_drop_expect_tx,
    arrive_expect_tx,
    complete_tx,
    contents,
    expect_tx,
    init,
    initialised,
    inval,
    signed,
)
from mmcore_emulator.machine.memory.operations import Combine
from mmcore_emulator.machine.violations import Problem, first_of
from mmcore_emulator.numerics.types import Values


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
            Problem(valid, "it initialises an mbarrier again without mbarrier.inval"),
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
        mistakes.append(Problem(missing < 0, "more arrivals come than the phase waits for"))
        if not kind.completes:
            mistakes.append(Problem(missing == 0, "it completes the phase, as .noComplete must not"))
    change = number * ((kind.tx or kind.action == "expect_tx") - (kind.action == "complete_tx"))
    mistakes.append(Problem(abs(parts.tx + change) > MOST_BYTES, f"its tx-count leaves ±{MOST_BYTES}"))
    return first_of(mistakes)
