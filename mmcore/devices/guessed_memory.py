"""Accesses behind a shared array whose size is a guess: they explain all else that a launch does wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol, runtime_checkable

from mmcore.devices.violations import Violation

_BEYOND = ("out-of-bounds-read", "out-of-bounds-write")


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
    """Return the first access behind an array whose size a launch rule guesses; all violations without one."""
    if not isinstance(rule, GuessesShared) or not rule.guessed_array:
        return tuple(violations)
    array = f"{rule.guessed_array} (shared)"
    first = next((each for each in violations if each.kind in _BEYOND and array in each.message), None)
    if first is None:
        return tuple(violations)
    few = f"the {rule.shared_bytes} bytes of dynamic shared memory are a guess, and too few"
    message = first.message if few in first.message else f"{first.message}: {few}"
    return (replace(first, message=message, hint="--shared with the bytes that the kernel needs"),)
