"""Accesses behind a shared array, which explain other things that a launch does wrong."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Protocol, runtime_checkable

from mmcore.devices.violations import Violation

_BEYOND = ("out-of-bounds-read", "out-of-bounds-write")
_SHARED = "shared"
_PIPELINE = (
    *("mbarrier-misuse", "early-wait", "missed-phase", "phase-waited-twice", "early-refill", "unfenced-mbarrier"),
    *("unfinished-copy", "unawaited-copy", "unfenced-copy", "overwritten-in-flight", "wgmma-order", "stale-read"),
)
"""Kinds of violations of asynchronous copies and their mbarriers."""
_OF_MBARRIER = "phase of parity"
_USES = ", and the kernel uses "
_BY_LAUNCH = re.compile(r"(?:(\d+) bytes|the first byte) past the end of (.+), of which the launch gives (\d+) bytes")


@runtime_checkable
class GuessesShared(Protocol):
    """A launch rule that may guess the bytes of dynamic shared memory."""

    @property
    def guessed_array(self) -> str:
        """The array whose bytes are guessed; empty without one."""

    @property
    def shared_bytes(self) -> str:
        """The bytes."""


def without_consequences(violations: Sequence[Violation], rule: object) -> tuple[Violation, ...]:
    """Return violations without those that follow from accesses behind a shared array.

    A launch rule that guesses the bytes of the array explains all others.
    """
    beyond = [each for each in violations if each.kind in _BEYOND and each.array == _SHARED]
    if not beyond:
        return tuple(violations)
    if isinstance(rule, GuessesShared) and rule.guessed_array:
        array = f"{rule.guessed_array} (shared)"
        first = next((each for each in beyond if array in each.message), None)
        if first is not None:
            few = f"the {rule.shared_bytes} bytes of dynamic shared memory are a guess, and too few"
            message = first.message if few in first.message else f"{first.message}: {few}"
            return (replace(first, message=message, hint="--shared with the bytes that the kernel needs"),)
    return tuple(_with_sizes([each for each in map(_alone, violations) if each is not None], beyond))


def _with_sizes(violations: Sequence[Violation], beyond: Sequence[Violation]) -> Iterator[Violation]:
    """Yield violations with one for all accesses behind dynamic memory, which has the largest of their bytes."""
    used = max(map(_used_bytes, beyond))
    behind = [each for each in violations if _used_bytes(each)]
    for each in violations:
        if each in behind[:1] and _USES not in each.message:
            yield replace(each, message=f"{each.message}{_USES}{used} or more")
        elif each not in behind[1:]:
            yield each


def _alone(violation: Violation) -> Violation | None:
    """Return a violation if it does not follow from an access behind a shared array; None if it may.

    Mbarriers and tiles that are not in memory order nothing, and a barrier orders no access to another element.
    """
    if violation.kind in _PIPELINE or (violation.kind == "deadlock" and _OF_MBARRIER in violation.message):
        return None
    if violation.array == _SHARED and violation.kind == "uninitialized-read":
        return None
    return replace(violation, hint="") if violation.kind == "shared-race" else violation


def _used_bytes(violation: Violation) -> int:
    """Return the bytes of dynamic shared memory that an access behind it shows to be used; 0 if it shows none."""
    match = _BY_LAUNCH.search(violation.message)
    return int(match[1] or 1) + int(match[3]) if match is not None else 0
