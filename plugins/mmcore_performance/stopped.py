"""The errors that stop a kernel or keep it from ending, so that it has no time."""

from __future__ import annotations

from collections.abc import Iterable

from mmcore.cell import Cell
from mmcore.devices.violations import Violation
from mmcore.kernel.sizes import size_text

_ENDLESS = ("deadlock", "timeout")
_FATAL = ("assertion", "trap", "illegal-branch", "illegal-address", "misaligned")


def stopped(cell: Cell, violations: Iterable[Violation]) -> str:
    """Return the first violation that stops a kernel or keeps it from ending, as a clause; empty if none does."""
    for each in violations:
        if each.kind in _ENDLESS + _FATAL:
            place = f" at {each.source}:{each.line}" if each.source and each.line else ""
            end = "does not end" if each.kind in _ENDLESS else "is stopped"
            return f"it {end} at {size_text(vars(cell))}: {each.kind}{place}"
    return ""
